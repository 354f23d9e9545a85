"""GELU and ReLU drawn: the curves to take away, the gap of the tanh form, a model's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from andrea.measures import activation_curves as curves
from app.figures.base import SMALL, Theme, Voice, axis, figure, size_of, titled
from app.figures.depth import two_rows

if TYPE_CHECKING:
    from andrea.measures.activation_error import Approximation

SPAN, FAR = 4.0, 3.0  # the curves run from -SPAN to SPAN; beyond FAR GELU is like ReLU
FINE = np.linspace(-SPAN, SPAN, 401)


@dataclass(frozen=True)
class Dots:
    """Units of one token: ``units`` counted from 1, ``pre`` and ``post`` [n]."""

    units: Sequence[int]
    pre: npt.NDArray[Any]
    post: npt.NDArray[Any]


@dataclass(frozen=True)
class Mark:
    """A place on a curve that has a name; ``panel`` is ``"value"`` or ``"slope"``."""

    panel: str
    x: float
    y: float
    words: str


def extremes(voice: Voice) -> list[Mark]:
    """Return GELU's minimum and the ends of its slope's range, named."""
    at, least = curves.MINIMUM
    words = voice.gettext("minimum {y} at x = {x}").format(
        y=voice.number(least, 5), x=voice.number(at, 4)
    )
    marks = [Mark("value", at, least, words)]
    for x in (-curves.STEEPEST, curves.STEEPEST):
        y = float(curves.gelu_slope(x))
        marks.append(Mark("slope", x, y, voice.number(y, 3)))
    return marks


def regions(voice: Voice) -> list[tuple[float, str]]:
    """Return where each of the three regions lies, and what happens to x there."""
    middle = (FAR + SPAN) / 2
    return [(-middle, "≈ 0"), (-1.2, voice.gettext("part of x passes")), (middle, "≈ x")]


def gelu_curves(theme: Theme, voice: Voice) -> go.Figure:
    """Draw GELU, its tanh form, ReLU and below their slopes."""
    _ = voice.gettext
    names = (("acc", "GELU", _("solid")), ("neg", "ReLU", _("dashed")),
             ("ink", _("tanh form"), _("dotted")))  # fmt: skip
    subtitle = " · ".join(
        f'<span style="color:{theme[c]}"><b>{name}</b> {dash}</span>' for c, name, dash in names
    )
    fig = figure(theme, voice, _("The curves and their slopes"), 560, subtitle)
    lines = (
        (curves.gelu, curves.gelu_slope, "acc", "solid", 3.0, "GELU"),
        (curves.relu, curves.relu_slope, "neg", "7px,4px", 2.2, "ReLU"),
        (curves.gelu_tanh, curves.gelu_tanh_slope, "ink", "2px,5px", 2.6, _("tanh form")),
    )
    for value, slope, colour, dash, width, name in lines:
        for function, row in ((value, ""), (slope, "2")):
            fig.add_scatter(
                x=FINE, y=function(FINE), mode="lines", name=name,
                xaxis=f"x{row}", yaxis=f"y{row}",
                line={"color": theme[colour], "width": width, "dash": dash, "simplify": False},
                hovertemplate="%{x:.2f}: <b>%{y:.4f}</b>",
            )  # fmt: skip
    two_rows(fig, theme, _("value"), _("slope (derivative)"), 0.13)
    add_extremes(fig, theme, voice)
    add_regions(fig, theme, voice)
    for row, (low, high) in (("", (-0.55, 4.4)), ("2", (-0.35, 1.45))):
        line = {"zeroline": True, "zerolinecolor": theme["line"]}
        fig.layout[f"xaxis{row}"].update(axis(theme, range=[-SPAN, SPAN], dtick=1, **line))
        fig.layout[f"yaxis{row}"].update(range=[low, high], nticks=6)
    fig.layout.xaxis2.title = titled("x", theme, 4)
    fig.layout.margin.t = 92
    return fig


def add_extremes(fig: go.Figure, theme: Theme, voice: Voice) -> None:
    """Mark GELU's minimum and the ends of its slope's range."""
    for mark in extremes(voice):
        row = "" if mark.panel == "value" else "2"
        ay = -52 if not row else 18 if mark.y < 0 else -18
        fig.add_scatter(
            x=[mark.x], y=[mark.y], mode="markers", xaxis=f"x{row}", yaxis=f"y{row}",
            hoverinfo="skip", marker={"symbol": "diamond", "size": 9, "color": theme["ink"]},
        )  # fmt: skip
        fig.add_annotation(
            text=mark.words, x=mark.x, y=mark.y, xref=f"x{row}", yref=f"y{row}", ax=0, ay=ay,
            arrowwidth=1, arrowcolor=theme["mute"], font={"size": SMALL, "color": theme["ink"]},
        )  # fmt: skip


def add_regions(fig: go.Figure, theme: Theme, voice: Voice) -> None:
    """Shade where GELU is like ReLU, and name the three regions."""
    for x0, x1 in ((-SPAN, -FAR), (FAR, SPAN)):
        for row in ("y domain", "y2 domain"):
            fig.add_shape(type="rect", x0=x0, x1=x1, y0=0, y1=1, xref="x", yref=row,
                          fillcolor=theme["soft"], line_width=0, layer="below")  # fmt: skip
    for x, words in regions(voice):
        fig.add_annotation(
            text=words, x=x, y=2.5, xref="x", yref="y", showarrow=False,
            font={"size": SMALL, "color": theme["mute"]},
        )  # fmt: skip


def gap(near: Approximation, theme: Theme, voice: Voice) -> go.Figure:
    """Draw tanh form minus exact GELU over x, in ten-thousandths, with its greatest values."""
    _ = voice.gettext
    fig = figure(theme, voice, _("Tanh form minus exact GELU"), 300, _("in units of 0.0001")
                 .replace("0.0001", voice.number(0.0001, 4)))  # fmt: skip
    fig.add_scatter(
        x=near.x[::4], y=1e4 * near.difference[::4], mode="lines",
        line={"color": theme["acc"], "width": 2.4}, hovertemplate="%{x:.2f}: <b>%{y:.3f}</b>",
    )  # fmt: skip
    for x in (-near.at, near.at):
        y = 1e4 * float(curves.gelu_tanh(x) - curves.gelu(x))
        fig.add_scatter(x=[x], y=[y], mode="markers", hoverinfo="skip",
                        marker={"symbol": "diamond", "size": 9, "color": theme["ink"]})  # fmt: skip
        fig.add_annotation(text=f"{voice.number(y, 2)}<br>x = {voice.number(x, 3)}", x=x, y=y,
                           ax=0, ay=-30, arrowwidth=1, arrowcolor=theme["mute"],
                           font={"size": SMALL, "color": theme["ink"]})  # fmt: skip
    half = float(near.x[-1])
    fig.update_xaxes(**axis(theme, range=[-half, half], dtick=2, title=titled("x", theme, 2)))
    fig.update_yaxes(**axis(theme, showgrid=True, range=[-3, 7.2], zeroline=True))
    fig.layout.margin.t = 84
    return fig


def inside(
    counts: npt.NDArray[Any],
    edges: npt.NDArray[np.float64],
    dots: Dots,
    theme: Theme,
    voice: Voice,
    title: str,
    subtitle: str,
) -> go.Figure:
    """Draw a histogram of pre-activations under the curve, with one token's units as dots on it.

    ``counts`` [n] in the bins between ``edges`` [n + 1].
    """
    _ = voice.gettext
    fig = figure(theme, voice, title, 520, subtitle)
    half = max(float(edges[-1]), 1.06 * float(np.abs(dots.pre).max(initial=0)))
    x = np.linspace(-half, half, 401)
    fig.add_scatter(x=x, y=curves.gelu_tanh(x), mode="lines", hoverinfo="skip",
                    line={"color": theme["acc2"], "width": 2.4})  # fmt: skip
    fig.add_scatter(
        x=dots.pre, y=dots.post, mode="markers", cliponaxis=False,
        marker={"size": 11, "line": {"width": 1.5, "color": theme["bg"]},
                "color": [theme["neg" if p < 0 else "pos"] for p in dots.pre]},
        customdata=[[voice.integer(u), size_of(voice, float(a)), size_of(voice, float(b))]
                    for u, a, b in zip(dots.units, dots.pre, dots.post, strict=True)],
        hovertemplate=_("unit") + " %{customdata[0]}: GELU(%{customdata[1]}) = "
        "<b>%{customdata[2]}</b><extra></extra>",
    )  # fmt: skip
    centres, total = (edges[:-1] + edges[1:]) / 2, max(1, int(counts.sum()))
    fig.add_bar(
        x=centres, y=counts / total, width=np.diff(edges), xaxis="x2", yaxis="y2",
        marker={"color": [theme["neg" if c < 0 else "pos"] for c in centres],
                "line": {"width": 0}},
        customdata=[[voice.number(float(a), 1), voice.number(float(b), 1), voice.integer(int(c))]
                    for a, b, c in zip(edges[:-1], edges[1:], counts, strict=True)],
        hovertemplate="%{customdata[0]} … %{customdata[1]}: <b>%{customdata[2]}</b>"
        "<extra></extra>",
    )  # fmt: skip
    two_rows(fig, theme, _("what the activation hands on"), _("how often"), 0.14)
    for row in ("", "2"):
        fig.layout[f"xaxis{row}"].update(axis(theme, range=[-half, half], nticks=9, zeroline=True))
    fig.layout.xaxis2.title = titled(_("pre-activation"), theme, 4)
    fig.layout.yaxis.range = [-0.08 * half, 1.04 * half]
    fig.layout.yaxis2.update(showticklabels=False, showgrid=False)
    fig.layout.margin.t = 92
    return fig
