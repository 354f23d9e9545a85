"""Curves of a race: loss and gradient norm against the step, one line a variant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from app.figures.base import SMALL, Theme, Voice, axis, corner_note, escaped, figure, mix, titled
from app.figures.gradients import power_ticks
from app.figures.race_scale import Scale, over_seeds, scale_of

Doubles = npt.NDArray[np.float64]
HEIGHT = 430
MOST_POINTS = 300  # a line of a race that is still on

COLOURS = {"pre": "acc", "post": "neg", "none": "mute", "relu": "acc2"}
SYMBOLS = {"pre": "circle", "post": "square", "none": "triangle-up", "relu": "diamond"}


@dataclass(frozen=True)
class Curve:
    """One variant: its label, ``values`` [seeds, steps], where each seed broke (0: nowhere).

    ``look`` ("pre", "post", "none" or "relu") decides the colour, ``residual`` and ``warmup`` the
    dash.
    """

    label: str
    look: str
    residual: bool
    warmup: bool
    values: Doubles
    broken: Sequence[int]

    @property
    def typical(self) -> Doubles:
        """Median over the seeds that still run, [steps]; NaN where none does."""
        return over_seeds(np.nanmedian, self.values)

    def dash(self) -> str:
        """Return the line's dash."""
        if not self.residual:
            return "5px,3px"
        return "1.5px,2.5px" if self.warmup else "solid"

    def symbol(self) -> str:
        """Return the line's mark, so that no variant is told by its colour alone."""
        more = "" if self.residual else "-open"
        return SYMBOLS[self.look] + (more or ("-open-dot" if self.warmup else ""))


@dataclass(frozen=True)
class Level:
    """A horizontal line to compare with: what it is, in one or two words, and where."""

    label: str
    value: float


def losses(
    curves: Sequence[Curve], levels: Sequence[Level], steps: int, theme: Theme, voice: Voice
) -> go.Figure:
    """Draw the loss of each step's batch.

    Parameters
    ----------
    curves
        The variants.
    levels
        Lines to compare with.
    steps
        How long the race is, so that a race that is still on keeps its axis.
    theme, voice
        Colours and language.
    """
    _ = voice.gettext
    scale = scale_of([curve.values for curve in curves], [level.value for level in levels])
    note = _("nats a byte, on each step's batch")
    if scale.knee is not None:
        note += _("; above {knee} logarithmic").format(knee=voice.number(scale.knee, 0))
    fig = figure(theme, voice, _("The loss, step by step"), HEIGHT, note)
    bottom, top = scale.ends()
    room = 0.06 * (top - bottom) * any(any(curve.broken) for curve in curves)
    if scale.knee is not None:
        shade = {"fillcolor": theme["soft"], "line_width": 0, "layer": "below"}
        fig.add_hrect(y0=scale.knee, y1=top + room, **shade)
    for curve in curves:
        add_band(fig, curve, theme, scale)
        add_line(fig, curve, theme, voice, scale)
        add_breaks(fig, curve, top + room / 2, theme, voice)
    for level in levels:
        add_level(fig, level, scale, theme, voice)
    fig.update_yaxes(**axis(theme, showgrid=True), range=[bottom, top + room])
    fig.update_yaxes(**scale.ticks(voice))
    finish(fig, curves, steps, theme, voice)
    fig.update_layout(margin_r=62)
    return fig


def gradients(curves: Sequence[Curve], steps: int, theme: Theme, voice: Voice) -> go.Figure:
    """Draw the norm of all gradients together on a log axis; see ``losses``."""
    _ = voice.gettext
    fig = figure(theme, voice, _("The gradient, step by step"), HEIGHT,
                 _("norm of all gradients together; logarithmic"))  # fmt: skip
    values = np.concatenate([curve.values.ravel() for curve in curves])
    values = values[np.isfinite(values) & (values > 0)]
    low = math.floor(min(-1.0, math.log10(values.min(initial=0.1))))
    high = math.ceil(max(1.0, math.log10(values.max(initial=10.0))))
    room = 0.06 * (high - low) * any(any(curve.broken) for curve in curves)
    for curve in curves:
        add_band(fig, curve, theme)
        add_line(fig, curve, theme, voice)
        add_breaks(fig, curve, 10 ** (high + room / 2), theme, voice)
    fig.update_yaxes(**axis(theme, showgrid=True), type="log", range=[low, high + room])
    fig.update_yaxes(**power_ticks(low, high, voice))
    finish(fig, curves, steps, theme, voice)
    return fig


def colour(curve: Curve, theme: Theme) -> str:
    """Return a variant's colour: by where its LayerNorm stands, or by its activation."""
    return theme[COLOURS[curve.look]]


def add_band(fig: go.Figure, curve: Curve, theme: Theme, scale: Scale | None = None) -> None:
    """Draw the spread between the seeds' smallest and largest value."""
    if len(curve.values) < 2:
        return
    low, high = over_seeds(np.nanmin, curve.values), over_seeds(np.nanmax, curve.values)
    there = np.isfinite(low)
    x = np.arange(1, len(low) + 1)[there]
    y = np.concatenate([high[there], low[there][::-1]])
    fig.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=y if scale is None else scale(y),
        fill="toself",
        fillcolor=mix(theme["bg"], colour(curve, theme), 0.2),
        opacity=0.5,
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        legendgroup=curve.label,
    )


def thinned(n: int) -> npt.NDArray[np.int64]:
    """Return which of ``n`` points to draw: all, or about ``MOST_POINTS`` and the last."""
    stride = max(1, math.ceil(n / MOST_POINTS))
    return np.unique(np.append(np.arange(0, n, stride), n - 1)) if n else np.arange(0)


def add_line(
    fig: go.Figure, curve: Curve, theme: Theme, voice: Voice, scale: Scale | None = None
) -> None:
    """Draw a variant's typical values; where it broke is marked by ``add_breaks``."""
    values = curve.typical
    kept = thinned(len(values))
    values = values[kept]
    fig.add_scatter(
        x=kept + 1,
        y=values if scale is None else scale(values),
        mode="lines+markers",
        name=escaped(curve.label),
        legendgroup=curve.label,
        line={"color": colour(curve, theme), "width": 2, "dash": curve.dash()},
        marker={"symbol": curve.symbol(), "size": 7, "maxdisplayed": 9},
        customdata=values,
        # Plotly writes the numbers, with the language's separators: a line has hundreds.
        hovertemplate="%{x}: <b>%{customdata:.4~g}</b>",
    )


def add_breaks(fig: go.Figure, curve: Curve, height: float, theme: Theme, voice: Voice) -> None:
    """Mark at the axis' edge the steps at which a variant broke, seed by seed."""
    steps = [step for step in curve.broken if step]
    if not steps:
        return
    fig.add_scatter(
        x=steps,
        y=[height] * len(steps),
        mode="markers",
        legendgroup=curve.label,
        showlegend=False,
        marker={"symbol": "x", "size": 10, "color": colour(curve, theme)},
        hovertemplate=f"%{{x}}: <b>{voice.gettext('not finite')}</b>",
        cliponaxis=False,
    )


def add_level(fig: go.Figure, level: Level, scale: Scale, theme: Theme, voice: Voice) -> None:
    """Draw a line to compare with; its words stand right of the picture, where no curve is."""
    height = float(scale(level.value))
    fig.add_hline(y=height, line={"color": theme["ink"], "width": 1.2, "dash": "dot"})
    fig.add_annotation(
        text=f"{level.label}<br><b>{voice.number(level.value, 2)}</b>",
        x=1,
        xref="paper",
        xanchor="left",
        xshift=6,
        y=height,
        yanchor="middle",
        align="left",
        showarrow=False,
        font={"size": SMALL, "color": theme["ink"]},
    )


def finish(fig: go.Figure, curves: Sequence[Curve], steps: int, theme: Theme, voice: Voice) -> None:
    """Lay out the axis of steps and the legend; say what the mark at the edge means."""
    _ = voice.gettext
    if any(any(curve.broken) for curve in curves):
        corner_note(fig, "✖ " + _("not finite"), theme)
    room = 0.015 * steps
    fig.update_xaxes(**axis(theme, range=[1 - room, steps + room], nticks=7))
    fig.update_xaxes(title=titled(_("step"), theme))
    legend = {"orientation": "h", "tracegroupgap": 0, "x": 0, "y": -0.2, "yanchor": "top"}
    fig.update_layout(showlegend=True, legend=legend | {"font": {"size": 13}})
