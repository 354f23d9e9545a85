"""Profiles of the gradient laboratory: one line an arm, the seeds' spread as a band.

Gradients stand on a log axis, always. What has vanished below float32 or is not finite is drawn
at the edge of the axis with a mark of its own, never as a gap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from app.figures.base import (
    Theme,
    Voice,
    axis,
    corner_note,
    escaped,
    figure,
    mix,
    size_of,
    titled,
)
from app.figures.lens import block_ticks

Doubles = npt.NDArray[np.float64]
TINY = float(np.finfo(np.float32).tiny)  # the smallest number that float32 holds in full
HEIGHT = 430


@dataclass(frozen=True)
class Line:
    """One arm: its label, ``values`` [seeds, places] over ``places``, and how it is drawn.

    ``norm`` decides the colour ("pre", "post", "none", "trained"), ``residual`` the dash.
    """

    label: str
    norm: str
    residual: bool
    places: Doubles
    values: Doubles

    @property
    def typical(self) -> Doubles:
        """Median over seeds, [places]; NaN where a seed is NaN."""
        return np.median(self.values, axis=0)

    @property
    def vanished(self) -> npt.NDArray[np.bool_]:
        """Where the typical value is zero or below what float32 holds in full."""
        return np.abs(self.typical) < TINY

    @property
    def broken(self) -> npt.NDArray[np.bool_]:
        """Where the typical value is infinite or not a number."""
        return ~np.isfinite(self.typical)


def colour(line: Line, theme: Theme) -> str:
    """Return the arm's colour: by where the LayerNorm stands."""
    known = {"pre": "acc", "post": "neg", "none": "mute", "trained": "ink"}
    return theme[known[line.norm]]


def symbol(line: Line) -> str:
    """Return the arm's mark, so that no arm is told by its colour alone."""
    shape = {"pre": "circle", "post": "square", "none": "triangle-up", "trained": "diamond"}
    return shape[line.norm] + ("" if line.residual else "-open")


def span(lines: Sequence[Line]) -> tuple[float, float]:
    """Return the exponents between which a log axis holds every value that can be drawn."""
    values = np.concatenate([line.values.ravel() for line in lines])
    values = values[np.isfinite(values) & (values >= TINY)]
    if values.size == 0:
        return -1.0, 1.0
    low, high = math.log10(values.min()), math.log10(values.max())
    room = max(0.12, 0.06 * (high - low))
    return low - room, high + room


def edges(lines: Sequence[Line]) -> tuple[float, float, float, float]:
    """Return low end, place of the vanished, place of the broken, high end, as exponents."""
    low, high = span(lines)
    room = 0.09 * (high - low)
    bottom = low - room * any(line.vanished.any() for line in lines)
    top = high + room * any(line.broken.any() for line in lines)
    return bottom, bottom + room / 2, top - room / 2, top


def plain(value: float, voice: Voice) -> str:
    """Write 1, 2 or 5 times a power of ten with the digits that it has."""
    return voice.number(value, max(0, -math.floor(math.log10(value) + 1e-9)))


def power_ticks(low: float, high: float, voice: Voice) -> dict[str, object]:
    """Return ticks for exponents ``low`` to ``high``: powers of ten, or 1-2-5 on a short axis."""
    first, last = math.ceil(low), math.floor(high)
    if high - low < 2.2:
        values = [m * 10.0**p for p in range(first - 1, last + 1) for m in (1, 2, 5)]
        shown = [v for v in values if low <= math.log10(v) <= high]
        return {"tickvals": shown, "ticktext": [plain(v, voice) for v in shown]}
    powers = range(first, last + 1, max(1, math.ceil((last - first) / 6)))
    text = [f"10<sup>{p}</sup>".replace("-", "\N{MINUS SIGN}") for p in powers]
    return {"tickvals": [10.0**p for p in powers], "ticktext": text}


def profile(
    lines: Sequence[Line],
    theme: Theme,
    voice: Voice,
    title: str,
    subtitle: str,
    place_title: str,
) -> go.Figure:
    """Draw positive quantities through depth on a log axis.

    Parameters
    ----------
    lines
        The arms.
    theme, voice
        Colours and language.
    title, subtitle, place_title
        What is drawn, in what unit, and what the places are.
    """
    fig = figure(theme, voice, title, HEIGHT, subtitle)
    bottom, low, high, top = edges(lines)
    for line in lines:
        add_band(fig, line, theme)
        add_curve(fig, line, low, high, theme, voice)
    log_axis(fig, bottom, top, theme, voice)
    finish(fig, lines, theme, voice, place_title)
    return fig


def add_curve(
    fig: go.Figure, line: Line, low: float, high: float, theme: Theme, voice: Voice
) -> None:
    """Draw an arm on a log axis: its line, then its marks at the exponents ``low`` and ``high``."""
    usable = np.where(line.vanished | line.broken, np.nan, line.typical)
    add_line(fig, line, usable, theme, voice)
    add_marks(fig, line, line.vanished, 10**low, "triangle-down", theme, voice)
    add_marks(fig, line, line.broken, 10**high, "x", theme, voice)


def log_axis(fig: go.Figure, bottom: float, top: float, theme: Theme, voice: Voice) -> None:
    """Lay out the log axis between two exponents."""
    fig.update_yaxes(
        **axis(theme, showgrid=True), type="log", range=[bottom, top],
        **power_ticks(bottom, top, voice),
    )  # fmt: skip


def cosines(
    lines: Sequence[Line], theme: Theme, voice: Voice, title: str, subtitle: str, place_title: str
) -> go.Figure:
    """Draw mean cosines, between 0 and 1 or a little below, on a plain axis."""
    fig = figure(theme, voice, title, HEIGHT, subtitle)
    low = min(0.0, *(np.nanmin(np.append(line.values, 0.0)) for line in lines)) - 0.05
    for line in lines:
        add_band(fig, line, theme)
        add_line(fig, line, np.where(line.broken, np.nan, line.typical), theme, voice, 5)
        add_marks(fig, line, line.broken, low + 0.02, "x", theme, voice)
    fig.update_yaxes(**axis(theme, showgrid=True), range=[low, 1.06])
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
    fig.update_yaxes(tickvals=ticks, ticktext=[voice.number(v, 1) for v in ticks])
    finish(fig, lines, theme, voice, place_title)
    return fig


def finish(
    fig: go.Figure, lines: Sequence[Line], theme: Theme, voice: Voice, place_title: str
) -> None:
    """Lay out the axis of depth and the legend; say what the marks at the edge mean."""
    _ = voice.gettext
    marks = [
        text
        for text, there in (
            ("▼ " + _("vanished below float32"), any(line.vanished.any() for line in lines)),
            ("✖ " + _("not finite"), any(line.broken.any() for line in lines)),
        )
        if there
    ]
    if marks:
        corner_note(fig, "   ".join(marks), theme)
    first = min(line.places[0] for line in lines)
    last = max(line.places[-1] for line in lines)
    room = 0.02 * (last - first) + 0.15
    ticks = block_ticks(int(last))
    fig.update_xaxes(**axis(theme, range=[first - room, last + room]), **ticks)
    fig.update_xaxes(title=titled(place_title, theme))
    fig.update_layout(
        showlegend=True,
        legend={
            "orientation": "h",
            "tracegroupgap": 0,
            "x": 0,
            "y": -0.2,
            "yanchor": "top",
            "font": {"size": 13},
        },
    )


def add_band(fig: go.Figure, line: Line, theme: Theme) -> None:
    """Draw the spread between the seeds' smallest and largest value, where all can be drawn."""
    values = line.values
    if len(values) < 2:
        return
    there = np.isfinite(values).all(axis=0) & ((values >= TINY) | (values < 0)).all(axis=0)
    x, low, high = line.places[there], values.min(axis=0)[there], values.max(axis=0)[there]
    fig.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        fillcolor=mix(theme["bg"], colour(line, theme), 0.2),
        opacity=0.6,
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        legendgroup=line.label,
    )


def add_line(
    fig: go.Figure,
    line: Line,
    usable: Doubles,
    theme: Theme,
    voice: Voice,
    digits: int | None = None,
) -> None:
    """Draw an arm's typical values; what cannot be drawn is marked by ``add_marks``."""
    written = [size_of(voice, v) if digits is None else voice.number(v, digits) for v in usable]
    fig.add_scatter(
        x=line.places,
        y=usable,
        mode="lines+markers",
        name=escaped(line.label),
        legendgroup=line.label,
        line={
            "color": colour(line, theme),
            "width": 2.2,
            "dash": "solid" if line.residual else "5px,3px",
        },
        marker={"symbol": symbol(line), "size": 7, "maxdisplayed": 14},
        customdata=written,
        hovertemplate="%{x}: <b>%{customdata}</b>",
    )


def add_marks(
    fig: go.Figure,
    line: Line,
    where: npt.NDArray[np.bool_],
    height: float,
    shape: str,
    theme: Theme,
    voice: Voice,
) -> None:
    """Mark at the axis' edge what has vanished or is not finite, and say which it is."""
    _ = voice.gettext
    if not where.any():
        return
    words = _("vanished below float32") if shape == "triangle-down" else _("not finite")
    fig.add_scatter(
        x=line.places[where],
        y=np.full(int(where.sum()), height),
        mode="lines+markers",
        legendgroup=line.label,
        showlegend=False,
        line={"color": colour(line, theme), "width": 1, "dash": "dot"},
        marker={"symbol": shape, "size": 9, "maxdisplayed": 14},
        hovertemplate=f"%{{x}}: <b>{words}</b>",
    )
