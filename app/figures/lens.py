"""The logit lens at one position: the best five guesses at each depth, and the answer's rank."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from app.figures.base import (
    SMALL,
    Theme,
    Voice,
    axis,
    depth_label,
    figure,
    ramp,
    shade,
    share,
    text_on,
    titled,
    token,
)

if TYPE_CHECKING:
    from andrea.measures.trace import TraceResult

TALL_ROWS = 40  # up to so many rows each guess has a second line with its probability


def stations_shown(n_stations: int, half_steps: bool) -> list[int]:
    """Return the lens' stations in the table, embedding first: all, or those after a block."""
    return list(range(0, n_stations, 1 if half_steps else 2))


def row_name(voice: Voice, station: int, half_steps: bool) -> str:
    """Return the short name of a table's row."""
    _ = voice.gettext
    if station == 0:
        return _("embedding")
    block = voice.integer((station + 1) // 2)
    if not half_steps:
        return _("block {block}").format(block=block)
    half = _("att.") if station % 2 else _("MLP")
    return f"{block} · {half}"


def lens_table(
    result: TraceResult, theme: Theme, voice: Voice, half_steps: bool = False
) -> go.Figure:
    """Draw the five likeliest next tokens at each depth, shaded by probability.

    Parameters
    ----------
    result
        Its ``lens_*`` arrays are drawn as they are.
    theme, voice
        Colours and language.
    half_steps
        Whether the rows between attention and MLP are drawn too.
    """
    _ = voice.gettext
    rows = stations_shown(len(result.lens_names), half_steps)
    probs, labels = result.lens_probs[rows], [result.lens_labels[s] for s in rows]
    tall = len(rows) <= TALL_ROWS
    fig = figure(
        theme,
        voice,
        _("What the model would say"),
        height=104 + len(rows) * (36 if tall else 19),
        subtitle=_("five likeliest next tokens at each depth"),
    )
    hover = [
        [
            f"{depth_label(voice, s)}<br><b>{token(label)}</b> · {share(voice, float(p))}"
            for label, p in zip(labels[r], probs[r], strict=True)
        ]
        for r, s in enumerate(rows)
    ]
    fig.add_heatmap(
        z=probs,
        zmin=0,
        zmax=1,
        colorscale=ramp(theme),
        showscale=False,
        xgap=2,
        ygap=2,
        text=hover,
        hovertemplate="%{text}<extra></extra>",
    )
    add_guesses(fig, probs, labels, theme, voice, tall)
    for r, s in enumerate(rows):
        for k in np.flatnonzero(result.lens_ids[s] == result.answer_id):
            fig.add_shape(
                type="rect",
                x0=k - 0.485,
                x1=k + 0.485,
                y0=r - 0.47,
                y1=r + 0.47,
                line={"color": theme["ink"], "width": 2},
            )
    names = [row_name(voice, s, half_steps) for s in rows]
    fig.update_xaxes(
        **axis(theme, range=[-0.5, 4.5], tickvals=[*range(5)], side="top", automargin=False),
        ticktext=[voice.integer(k) for k in range(1, 6)],
    )
    fig.update_layout(margin_t=80)
    fig.update_yaxes(**axis(theme, range=[-0.5, len(rows) - 0.5]))
    fig.update_yaxes(tickvals=[*range(len(rows))], ticktext=names)
    return fig


def add_guesses(
    fig: go.Figure,
    probs: np.ndarray,
    labels: list[tuple[str, ...]],
    theme: Theme,
    voice: Voice,
    tall: bool,
) -> None:
    """Write each guess, and under it its probability where the rows are tall enough."""
    n_rows, n_columns = probs.shape
    texts = []
    for row, names in zip(probs, labels, strict=True):
        for label, p in zip(names, row, strict=True):
            second = f"<br>{share(voice, float(p))}" if tall else ""
            texts.append(token(label, 8) + second)
    colours = [text_on(shade(theme, float(p))) for p in probs.ravel()]
    fig.add_scatter(
        x=np.tile(np.arange(n_columns), n_rows),
        y=np.repeat(np.arange(n_rows), n_columns),
        mode="text",
        text=texts,
        textfont={"size": SMALL + tall, "color": colours},
        hoverinfo="skip",
    )


def rank_curve(result: TraceResult, theme: Theme, voice: Voice) -> go.Figure:
    """Draw the rank of the model's final answer at each depth: 1, the first place, on top.

    The axis is logarithmic and spans the whole vocabulary. A triangle says which way the rank
    moved in that step; x counts blocks, attention at the half.
    """
    _ = voice.gettext
    rank = result.lens_rank
    vocabulary = len(result.activations["logits"])
    steps = np.sign(np.diff(rank, prepend=rank[0]))  # -1: a smaller rank, so it moved up
    fig = figure(
        theme,
        voice,
        _("Rank of the final answer “{token}”").format(token=token(result.answer_label, 20)),
        height=340,
        subtitle=_("▲ moved up, ▼ moved down; 1 is first place"),
    )
    hover = [
        f"{depth_label(voice, s)}<br>"
        + _("rank {rank} of {vocabulary}").format(
            rank=voice.integer(int(r)), vocabulary=voice.integer(vocabulary)
        )
        + f" · {share(voice, float(p))}"
        for s, (r, p) in enumerate(zip(rank, result.lens_answer_prob, strict=True))
    ]
    small = len(rank) > 80
    symbols = np.array(["circle", "triangle-down", "triangle-up"])[steps]
    colours = np.array([theme["mute"], theme["neg"], theme["pos"]])[steps]
    fig.add_scatter(
        x=np.arange(len(rank)) / 2,
        y=rank,
        mode="lines+markers",
        line={"color": theme["acc2"], "width": 1.5},
        marker={
            "symbol": symbols.tolist(),
            "color": colours.tolist(),
            "size": np.where(steps == 0, 6, 8 if small else 11).tolist(),
            "line": {"width": 0},
        },
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )
    blocks = (len(rank) - 1) // 2
    powers = [10**i for i in range(math.ceil(math.log10(vocabulary)))]
    fig.update_xaxes(**axis(theme, range=[-0.3, blocks + 0.3]))
    fig.update_xaxes(title=titled(_("after block (0: embedding)"), theme), **block_ticks(blocks))
    fig.update_yaxes(
        **axis(theme, type="log", range=[math.log10(vocabulary) + 0.12, -0.12], showgrid=True),
    )
    fig.update_yaxes(
        title=titled(_("rank"), theme),
        tickvals=powers,
        ticktext=[voice.integer(p) for p in powers],
    )
    return fig


def block_ticks(n_layer: int) -> dict[str, object]:
    """Return ticks at whole blocks, every one or thinned, the same at any width."""
    step = max(1, math.ceil(n_layer / 12))
    if step > 1:
        step = next(s for s in (2, 4, 5, 8, 10, 16, 20) if s >= step)
    return {"tickvals": [*range(0, n_layer + 1, step)], "tickangle": 0}
