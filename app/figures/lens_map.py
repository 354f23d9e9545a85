"""The lens at every token and every depth, as a map on which one can click."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from app.figures.base import (
    SMALL,
    Theme,
    Voice,
    axis,
    figure,
    shade,
    share,
    text_on,
    ticks,
    titled,
    token,
)

if TYPE_CHECKING:
    from andrea.measures.overview import LensMapResult

WRITTEN = 16  # tokens up to which the guesses are written into their cells
MOST_CELLS = 3500  # a browser draws so many quickly; above it, whole blocks are left out
COLUMNS = 17  # token labels along the axis at most: what a phone has room for


def layers_shown(n_layers: int, n_tokens: int) -> list[int]:
    """Return the rows' layers, 0 (embedding) to the last: all, or evenly thinned ones."""
    step = math.ceil(n_layers * n_tokens / MOST_CELLS)
    return [0, *reversed(range(n_layers - 1, 0, -step))]


def lens_map(
    result: LensMapResult,
    theme: Theme,
    voice: Voice,
    place: tuple[int, int] | None = None,
) -> go.Figure:
    """Draw the lens' first guess after the embedding and each block, at every token.

    Each cell is a bar, for bars answer a click at any width and heatmaps do not. A clicked cell
    carries ``customdata = [layer, position]``: layer 0 is the embedding, l is after block l. A map
    of many tokens in a deep model shows every n-th block, and says so.

    Parameters
    ----------
    result
        Its ``probs`` shade the cells.
    theme, voice
        Colours and language.
    place
        (layer, position) to outline.
    """
    _ = voice.gettext
    n_layers, n_tokens = result.probs.shape
    rows = layers_shown(n_layers, n_tokens)
    hint = _("stronger colour: likelier; click a cell to go there")
    if len(rows) < n_layers:
        hint = _("every {n} blocks; click a cell to go there").format(n=rows[-1] - rows[-2])
    fig = figure(
        theme,
        voice,
        _("First guess at each token and depth"),
        height=170 + len(rows) * (28 if len(rows) <= 26 else 15),
        subtitle=hint,
    )
    levels, positions = np.divmod(np.arange(len(rows) * n_tokens), n_tokens)
    # Colours and texts repeat: a large map must not take seconds.
    paint, ink = cache(lambda p: shade(theme, p)), cache(text_on)
    colours = [paint(round(float(p), 3)) for p in result.probs[rows].ravel()]
    written = n_tokens <= WRITTEN
    fig.add_bar(
        x=positions,
        y=np.ones(len(positions)),
        base=levels - 0.5,
        width=1,
        marker={
            "color": colours,
            "line": {"width": 0.5 if n_tokens <= 40 else 0, "color": theme["bg"]},
        },
        text=[token(g, 10) for r in rows for g in result.labels[r]] if written else None,
        textposition="inside" if written else "none",
        insidetextanchor="middle",
        textangle=0,
        insidetextfont={"color": [ink(c) for c in colours] if written else None, "size": 13},
        # As lists: from an array, a click would bring back {"0": layer, "1": position}.
        customdata=np.stack([np.array(rows)[levels], positions], 1).tolist(),
        hovertext=hover_texts(result, voice, rows),
        hovertemplate="%{hovertext}<extra></extra>",
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
    # A guess that does not fit its cell at a readable size is left to the hover text.
    fig.update_layout(
        clickmode="event+select", bargap=0, uniformtext={"minsize": SMALL, "mode": "hide"}
    )
    if place is not None and place[0] in rows:
        outline(fig, (rows.index(place[0]), place[1]), theme)
    names = [token(label, 12) for label in result.token_labels]
    vals, texts = ticks(names, COLUMNS)
    fig.update_xaxes(
        **axis(theme, range=[-0.5, n_tokens - 0.5], autotickangles=[0, -60, -90]),
    )
    fig.update_xaxes(tickvals=vals, ticktext=texts, title=titled(_("after reading"), theme))
    names = [voice.integer(layer) if layer else _("emb.") for layer in rows]
    vals, texts = ticks(names, 26)
    fig.update_yaxes(**axis(theme, range=[-0.5, len(rows) - 0.5]))
    fig.update_yaxes(tickvals=vals, ticktext=texts, title=titled(_("after block"), theme))
    return fig


def hover_texts(result: LensMapResult, voice: Voice, rows: list[int]) -> list[str]:
    """Return, cell by cell, the guess, its probability and the rank of the final answer."""
    _ = voice.gettext
    readers = [token(label) for label in result.token_labels]
    write, whole, name = cache(lambda p: share(voice, p)), cache(voice.integer), cache(token)
    cell = _("{reader}, {depth}<br>{guess} · {share}<br>rank of the final answer: {rank}")
    texts = []
    for layer in rows:
        depth = _("block {block}").format(block=whole(layer)) if layer else _("embedding")
        texts += [
            cell.format(
                reader=reader,
                depth=depth,
                guess=f"<b>{name(guess)}</b>",
                share=write(float(f"{p:.3g}")),
                rank=whole(rank),
            )
            for reader, guess, p, rank in zip(
                readers,
                result.labels[layer],
                result.probs[layer].tolist(),
                result.final_rank[layer].tolist(),
                strict=True,
            )
        ]
    return texts


def outline(fig: go.Figure, place: tuple[int, int], theme: Theme) -> None:
    """Outline the cell at (row, position)."""
    row, position = place
    fig.add_shape(
        type="rect",
        x0=position - 0.5,
        x1=position + 0.5,
        y0=row - 0.5,
        y1=row + 0.5,
        line={"color": theme["ink"], "width": 2.5},
    )
