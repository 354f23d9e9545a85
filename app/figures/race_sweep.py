"""The sweep as a heat map: final held-out loss by learning rate and variant, a panel a depth.

Blue is below the loss of knowing how frequent letters are, orange above it: so the colour says
whether a variant has learned anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.base import SMALL, Theme, Voice, axis, escaped, figure, mix, text_on

Doubles = npt.NDArray[np.float64]
ROW, GAP, EDGES = 40, 52, 186  # px: a row of cells, between two panels, title and legend
FULL = 0.6  # nats from the loss of single letters to the full colour


@dataclass(frozen=True)
class Panel:
    """One depth: its title, ``loss`` [variants, rates] and how many seeds broke, likewise.

    ``loss`` is NaN where every seed broke; ``spread`` is written in the cell's hover text.
    """

    title: str
    loss: Doubles
    broke: npt.NDArray[np.int64]
    spread: Sequence[Sequence[str]]


def stops(theme: Theme) -> list[tuple[float, str]]:
    """Return the colour scale: blue below, the page's middle, orange above."""
    return [
        (0.0, theme["pos"]),
        (0.25, mix(theme["mid"], theme["pos"], 0.6)),
        (0.5, theme["mid"]),
        (0.75, mix(theme["mid"], theme["neg"], 0.6)),
        (1.0, theme["neg"]),
    ]


def shade(loss: float, unigram: float, theme: Theme) -> str:
    """Return the colour of a loss, as the scale has it."""
    if not np.isfinite(loss):
        return theme["bg"]
    place = min(1.0, max(0.0, 0.5 + (loss - unigram) / (2 * FULL)))
    scale = stops(theme)
    k = min(int(place * 4), 3)
    return mix(scale[k][1], scale[k + 1][1], place * 4 - k)


def ink(loss: float, unigram: float, theme: Theme) -> str:
    """Return the colour of a cell's words."""
    return text_on(shade(loss, unigram, theme)) if np.isfinite(loss) else theme["ink"]


def cell(loss: float, broke: int, seeds: int, voice: Voice) -> str:
    """Write a cell: the loss, or that it broke, and in how many of the seeds."""
    _ = voice.gettext
    if not np.isfinite(loss):
        return _("broke")
    far = loss >= 100
    text = voice.number(loss, 0 if far else 2)
    return text if not broke else f"{text}<br>" + _("broke {n}/{of}").format(n=broke, of=seeds)


def heat_map(
    panels: Sequence[Panel],
    arms: Sequence[str],
    rates: Sequence[str],
    seeds: int,
    unigram: float,
    theme: Theme,
    voice: Voice,
) -> go.Figure:
    """Draw the panels one above the other, all in one colour scale.

    Parameters
    ----------
    panels
        The depths.
    arms, rates
        The variants' names (rows, from above) and the learning rates (columns).
    seeds
        How many runs a cell stands for.
    unigram
        The loss of knowing how frequent letters are: the middle of the scale.
    theme, voice
        Colours and language.
    """
    _ = voice.gettext
    fig = stacked([panel.title for panel in panels], len(arms), theme, voice)
    for row, panel in enumerate(panels, 1):
        add_panel(fig, row, panel, arms, rates, seeds, unigram, theme, voice)
    fig.update_xaxes(**axis(theme), tickvals=list(range(len(rates))), ticktext=list(rates))
    fig.update_yaxes(**axis(theme), tickvals=list(range(len(arms))), autorange="reversed")
    fig.update_yaxes(ticktext=[escaped(arm) for arm in arms])
    fig.update_xaxes(title=dict(text=_("learning rate"), standoff=6), row=len(panels), col=1)
    fig.update_layout(coloraxis=legend(unigram, theme, voice))
    return fig


def stacked(titles: Sequence[str], rows: int, theme: Theme, voice: Voice) -> go.Figure:
    """Return an empty figure of panels one above the other, each with room for ``rows`` rows."""
    _ = voice.gettext
    inner = len(titles) * (ROW * rows + GAP)
    fig = make_subplots(
        rows=len(titles),
        cols=1,
        vertical_spacing=GAP / inner,
        subplot_titles=[f"<b>{title}</b>" for title in titles],
    )
    subtitle = _("by learning rate and variant; mean of the seeds")
    base = figure(theme, voice, _("Final held-out loss"), inner + EDGES, subtitle)
    fig.update_layout(base.layout)
    fig.update_layout(margin_t=92)
    for title in fig.layout.annotations:
        title.update(x=0, xanchor="left", font={"size": 13, "color": theme["ink"]})
    return fig


def legend(unigram: float, theme: Theme, voice: Voice) -> dict[str, object]:
    """Return the shared colour axis, with the loss of single letters named on its bar."""
    _ = voice.gettext
    values = [unigram - FULL, unigram, unigram + FULL]
    middle = _("{loss}: letter frequencies").format(loss=voice.number(unigram, 2))
    text = [f"≤ {voice.number(values[0], 2)}", middle, f"≥ {voice.number(values[2], 2)}"]
    return {
        "cmin": values[0],
        "cmax": values[2],
        "colorscale": stops(theme),
        "colorbar": {
            "orientation": "h",
            "y": 0,
            "yref": "container",
            "yanchor": "bottom",
            "x": 0.5,
            "len": 0.9,
            "thickness": 10,
            "outlinewidth": 0,
            "tickvals": values,
            "ticktext": text,
            "tickfont": {"size": SMALL, "color": theme["mute"]},
        },
    }


def add_panel(
    fig: go.Figure,
    row: int,
    panel: Panel,
    arms: Sequence[str],
    rates: Sequence[str],
    seeds: int,
    unigram: float,
    theme: Theme,
    voice: Voice,
) -> None:
    """Draw one depth's cells, each with its number."""
    hover = [
        [
            f"{escaped(arm)}, {rate}<br><b>{text}</b>"
            for rate, text in zip(rates, texts, strict=True)
        ]
        for arm, texts in zip(arms, panel.spread, strict=True)
    ]
    fig.add_heatmap(
        x=list(range(len(rates))), y=list(range(len(arms))), z=panel.loss, coloraxis="coloraxis",
        xgap=2, ygap=2, customdata=hover, hovertemplate="%{customdata}<extra></extra>",
        row=row, col=1,
    )  # fmt: skip
    cells = [(a, r, float(loss)) for (a, r), loss in np.ndenumerate(panel.loss)]
    # One trace of words: an annotation a cell takes ten times as long.
    fig.add_scatter(
        x=[r for _, r, _ in cells],
        y=[a for a, _, _ in cells],
        mode="text",
        text=[cell(loss, int(panel.broke[a, r]), seeds, voice) for a, r, loss in cells],
        textfont={"size": SMALL, "color": [ink(loss, unigram, theme) for _, _, loss in cells]},
        hoverinfo="skip",
        row=row,
        col=1,
    )
