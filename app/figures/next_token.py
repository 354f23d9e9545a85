"""The model's answer: the likeliest next tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from app.figures.base import Theme, Voice, axis, figure, share, token

if TYPE_CHECKING:
    from andrea.measures.trace import TraceResult


def next_token_bars(
    result: TraceResult, theme: Theme, voice: Voice, count: int = 10, temperature: float = 1.0
) -> go.Figure:
    """Draw the probabilities of the ``count`` likeliest next tokens, likeliest on top.

    At temperature 1 they are the model's own; another temperature divides the logits by it.
    """
    _ = voice.gettext
    ids = result.next_ids[:count]
    probs = probabilities(result.activations["logits"], temperature)[ids]
    labels = [token(label, 14) for label in result.next_labels[: len(ids)]]
    top = float(np.nanmax(probs, initial=0.0))
    limit = next((r for r in (0.05, 0.1, 0.2, 0.5) if top <= r), 1.0)
    fig = figure(theme, voice, _("The likeliest next tokens"), height=64 + 28 * len(ids))
    fig.add_bar(
        x=probs,
        y=np.arange(len(ids)),
        orientation="h",
        marker={"color": theme["acc"]},
        text=[share(voice, float(p)) for p in probs],
        textposition="outside",
        textfont={"color": theme["ink"], "size": 13},
        cliponaxis=False,
        customdata=ids,
        hovertext=[
            f"<b>{name}</b> · {share(voice, float(p))}"
            for name, p in zip(labels, probs, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    fig.update_layout(bargap=0.25)
    fig.update_xaxes(**axis(theme, range=[0, limit * 1.18], showticklabels=False))
    fig.update_yaxes(**axis(theme, range=[len(ids) - 0.5, -0.5]))
    fig.update_yaxes(
        tickvals=[*range(len(ids))],
        ticktext=labels,
        tickfont={"size": 14, "color": theme["ink"]},
    )
    return fig


def probabilities(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Return softmax(logits / temperature), float64."""
    scaled = logits.astype(np.float64) / temperature
    weights = np.exp(scaled - scaled.max())
    return weights / weights.sum()
