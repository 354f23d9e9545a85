"""Who reads whom: the attention pattern of one layer as a matrix, with its causal mask drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.base import SMALL, Theme, Voice, axis, figure, ramp, share, ticks, titled, token

if TYPE_CHECKING:
    from andrea.measures.overview import AttentionResult

LABELS = (17, 34)  # token labels at most, along x and down y: what a phone has room for
COLUMNS = 4  # small multiples side by side


def allowed(pattern: np.ndarray) -> np.ndarray:
    """Return the patterns [..., T, T] with NaN where the causal mask forbids: no cell is drawn."""
    n_tokens = pattern.shape[-1]
    return np.where(np.tri(n_tokens, dtype=bool), pattern, np.float32(np.nan))


def attention_matrix(
    result: AttentionResult,
    theme: Theme,
    voice: Voice,
    head: int | None = 0,
    row: int | None = None,
) -> go.Figure:
    """Draw one head's pattern [query, key], or all heads' as small multiples.

    Parameters
    ----------
    result
        Its ``pattern`` is drawn as it is; the upper triangle is hatched, for it is masked.
    theme, voice
        Colours and language.
    head
        0 is the first; ``None`` draws all heads.
    row
        The traced position, whose row gets an outline.
    """
    if head is None:
        return all_heads(result, theme, voice, row)
    _ = voice.gettext
    names = [token(label, 12) for label in result.labels]
    n_tokens = len(names)
    fig = figure(
        theme,
        voice,
        _("Block {block}, head {head}: who reads whom").format(
            block=voice.integer(result.layer + 1), head=voice.integer(head + 1)
        ),
        height=190 + min(620, max(150, 30 * n_tokens)),
        subtitle=formula(result.d_head, voice),
    )
    sentence = _("{reader} reads {read}: {share}")
    hover = [
        [
            sentence.format(
                reader=f"<b>{names[q]}</b>", read=f"<b>{names[k]}</b>", share=share(voice, float(p))
            )
            for k, p in enumerate(row_of[: q + 1])
        ]
        + [""] * (n_tokens - q - 1)
        for q, row_of in enumerate(result.pattern[head])
    ]
    add_heatmap(fig, allowed(result.pattern[head]), theme, text=hover)
    add_mask(fig, n_tokens, theme)
    if n_tokens > 1:
        fig.add_annotation(
            text=_("masked: the future"),
            x=n_tokens - 0.5 - n_tokens * 0.02,
            y=n_tokens * 0.03 - 0.5,
            xanchor="right",
            yanchor="top",
            showarrow=False,
            font={"size": SMALL, "color": theme["mute"]},
            bgcolor=theme["bg"],
            borderpad=3,
        )
    if row is not None:
        outline(fig, row, theme)
    span = [-0.5, n_tokens - 0.5]
    across, down = (ticks(names, most) for most in LABELS)
    fig.update_xaxes(**axis(theme, range=span, autotickangles=[0, -60, -90]))
    fig.update_xaxes(title=titled(_("is read (key)"), theme), tickvals=across[0])
    fig.update_xaxes(ticktext=across[1])
    fig.update_yaxes(**axis(theme, range=span[::-1], tickvals=down[0], ticktext=down[1]))
    fig.update_yaxes(title=titled(_("reads (query)"), theme))
    return fig


def formula(d_head: int, voice: Voice) -> str:
    """Return the pattern's formula with the number that the scores are divided by."""
    root = voice.number(math.sqrt(d_head), 2)
    return f"softmax(<i>q</i> · <i>k</i> / √<i>d_head</i>), √{voice.integer(d_head)} = {root}"


def add_heatmap(fig: go.Figure, z: np.ndarray, theme: Theme, **more: object) -> None:
    """Draw one pattern; ``more`` may hold the hover texts, and row and column of a panel."""
    words = "%{text}" if "text" in more else "%{y} ← %{x}: %{z:.1%}"
    fig.add_heatmap(
        z=z,
        zmin=0,
        zmax=1,
        colorscale=ramp(theme),
        showscale=False,
        hoverongaps=False,
        xgap=1 if z.shape[0] <= 40 else 0,
        ygap=1 if z.shape[0] <= 40 else 0,
        hovertemplate=words + "<extra></extra>",
        **more,
    )


def add_mask(fig: go.Figure, n_tokens: int, theme: Theme, **more: object) -> None:
    """Hatch the cells above the diagonal: a token cannot read what comes after it."""
    if n_tokens < 2:
        return
    steps = np.arange(n_tokens - 1)
    xs, ys = np.repeat(steps + 0.5, 2), np.stack([steps - 0.5, steps + 0.5], 1).ravel()
    fig.add_scatter(
        x=[*xs, n_tokens - 0.5, n_tokens - 0.5, 0.5],
        y=[*ys, n_tokens - 1.5, -0.5, -0.5],
        mode="lines",
        line={"width": 1, "color": theme["line"]},
        fill="toself",
        fillpattern={
            "shape": "/",
            "size": 7,
            "solidity": 0.12,
            "fgcolor": theme["mute"],
            "bgcolor": theme["mid"],
        },
        hoverinfo="skip",
        **more,
    )


def outline(fig: go.Figure, reader: int, theme: Theme, **more: object) -> None:
    """Outline the cells that the traced token reads."""
    fig.add_shape(
        type="rect",
        x0=-0.5,
        x1=reader + 0.5,
        y0=reader - 0.5,
        y1=reader + 0.5,
        line={"color": theme["ink"], "width": 2},
        **more,
    )


def all_heads(
    result: AttentionResult, theme: Theme, voice: Voice, row: int | None = None
) -> go.Figure:
    """Draw the patterns of all heads as small multiples on one scale."""
    _ = voice.gettext
    n_heads, n_tokens = result.pattern.shape[:2]
    columns = min(COLUMNS if n_heads > 6 else 3, n_heads)
    n_rows = math.ceil(n_heads / columns)
    base = figure(
        theme,
        voice,
        _("Block {block}: all heads").format(block=voice.integer(result.layer + 1)),
        height=80 + n_rows * (190 if columns == 3 else 160),
        subtitle=f"softmax(<i>q</i> · <i>k</i> / √{voice.integer(result.d_head)}) · "
        + _("hatched: the future"),
    )
    fig = make_subplots(
        rows=n_rows,
        cols=columns,
        figure=base,
        horizontal_spacing=0.03,
        vertical_spacing=0.28 / (n_rows + 1),
        subplot_titles=[_("head {head}").format(head=voice.integer(h + 1)) for h in range(n_heads)],
    )
    fig.update_layout(margin_t=82)
    fig.update_annotations(font={"size": 13, "color": theme["mute"]})
    names = [token(label, 12) for label in result.labels]
    for h, z in enumerate(allowed(result.pattern)):
        place = {"row": h // columns + 1, "col": h % columns + 1}
        add_heatmap(fig, z, theme, **place)
        add_mask(fig, n_tokens, theme, **place)
        if row is not None:
            outline(fig, row, theme, **place)
    hidden = axis(theme, showticklabels=False, ticks="", tickvals=[*range(n_tokens)])
    span = [-0.5, n_tokens - 0.5]
    fig.update_xaxes(**hidden, ticktext=names, range=span)
    fig.update_yaxes(**hidden, ticktext=names, range=span[::-1])
    return fig
