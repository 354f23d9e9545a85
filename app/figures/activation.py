"""GELU and ReLU drawn: the curves with a point to move, the gap of the tanh form, real numbers.

The slider lies inside the figure: every place of the point is in it, so that moving it asks nothing
of the server and works in a saved file too.
"""

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

Doubles = npt.NDArray[np.float64]
SPAN, FAR = 4.0, 3.0  # the curves run from -SPAN to SPAN; beyond FAR GELU is like ReLU
STOPS = np.round(np.arange(-40, 41) * 0.1, 1)
START = 30  # x = -1
FINE = np.linspace(-SPAN, SPAN, 401)


@dataclass(frozen=True)
class Dots:
    """Units of one token: ``units`` counted from 1, ``pre`` and ``post`` [n]."""

    units: Sequence[int]
    pre: npt.NDArray[Any]
    post: npt.NDArray[Any]


def formula(x: float, voice: Voice) -> str:
    """Write the point's values into the formulas: GELU, ReLU, and both slopes."""
    _ = voice.gettext

    def written(value: float | Doubles, digits: int = 4) -> str:
        return voice.number(round(float(value), digits) + 0.0, digits)

    form, slopes = _("tanh form"), _("slope")
    slope = _("has none") if x == 0 else written(curves.relu_slope(x), 0)
    return (
        f"<b>x · Φ(x) = {written(x, 1)} · {written(curves.phi(x))} = {written(curves.gelu(x))}</b>"
        f"<br>{form}: {written(curves.gelu_tanh(x))} · ReLU: {written(curves.relu(x), 1)}"
        f"<br>{slopes}: GELU {written(curves.gelu_slope(x))} · ReLU {slope}"
    )


def point(x: float) -> dict[str, list[list[float | None]]]:
    """Return where the point lies on GELU and ReLU, and on their slopes (none at ReLU's kink)."""
    kink = None if x == 0 else float(curves.relu_slope(x))
    values: list[float | None] = [float(curves.gelu(x)), float(curves.relu(x))]
    slopes: list[float | None] = [float(curves.gelu_slope(x)), kink]
    return {"x": [[x, x], [x, x]], "y": [values, slopes]}


def gelu_curves(theme: Theme, voice: Voice) -> go.Figure:
    """Draw GELU, its tanh form, ReLU and below their slopes, with a point that a slider moves."""
    _ = voice.gettext
    names = (("acc", "GELU", _("solid")), ("neg", "ReLU", _("dashed")),
             ("ink", _("tanh form"), _("dotted")))  # fmt: skip
    subtitle = " · ".join(
        f'<span style="color:{theme[c]}"><b>{name}</b> {dash}</span>' for c, name, dash in names
    )
    fig = figure(theme, voice, _("The curves and their slopes"), 640, subtitle)
    lines = (
        (curves.gelu, curves.gelu_slope, "acc", "solid", 3.0, "GELU"),
        (curves.relu, curves.relu_slope, "neg", "7px,4px", 2.2, "ReLU"),
        (curves.gelu_tanh, curves.gelu_tanh_slope, "ink", "1px,5px", 2.0, _("tanh form")),
    )
    for value, slope, colour, dash, width, name in lines:
        for function, row in ((value, ""), (slope, "2")):
            fig.add_scatter(
                x=FINE, y=function(FINE), mode="lines", name=name,
                xaxis=f"x{row}", yaxis=f"y{row}",
                line={"color": theme[colour], "width": width, "dash": dash},
                hovertemplate="%{x:.2f}: <b>%{y:.4f}</b>",
            )  # fmt: skip
    two_rows(fig, theme, _("value"), _("slope (derivative)"), 0.13)
    add_extremes(fig, theme, voice)
    add_regions(fig, theme, voice)
    first = len(fig.data)
    for k, row in enumerate(("", "2")):
        start = point(float(STOPS[START]))
        fig.add_scatter(
            x=start["x"][k], y=start["y"][k], mode="markers", name="x",
            xaxis=f"x{row}", yaxis=f"y{row}", hoverinfo="skip",
            marker={"size": 13, "color": [theme["acc"], theme["neg"]],
                    "symbol": ["circle", "square"], "line": {"width": 2, "color": theme["bg"]}},
        )  # fmt: skip
    add_slider(fig, theme, voice, [first, first + 1])
    for row, (low, high) in (("", (-0.55, 4.4)), ("2", (-0.35, 1.45))):
        fig.layout[f"xaxis{row}"].update(axis(theme, range=[-SPAN, SPAN], dtick=1, zeroline=True))
        fig.layout[f"yaxis{row}"].update(range=[low, high], nticks=6)
    fig.update_layout(margin={"l": 8, "r": 8, "t": 158, "b": 86})
    return fig


def add_slider(fig: go.Figure, theme: Theme, voice: Voice, traces: list[int]) -> None:
    """Add the formula and the slider that moves the point and rewrites it."""
    fig.add_annotation(
        text=formula(float(STOPS[START]), voice), x=0, y=1, xref="paper", yref="paper",
        xanchor="left", yanchor="bottom", yshift=22, align="left", showarrow=False,
        font={"size": 14, "color": theme["ink"]},
    )  # fmt: skip
    text = f"annotations[{len(fig.layout.annotations) - 1}].text"
    steps = [
        {"method": "update", "label": voice.number(float(x) + 0.0, 1),
         "args": [point(float(x)), {text: formula(float(x), voice)}, traces]}
        for x in STOPS
    ]  # fmt: skip
    fig.update_layout(
        sliders=[{
            "active": START, "steps": steps, "x": 0, "len": 1, "y": -0.07, "yanchor": "top",
            "pad": {"t": 8, "b": 0, "l": 6, "r": 6}, "ticklen": 0, "minorticklen": 0,
            "font": {"size": SMALL, "color": theme["bg"]},  # 81 labels would overlap
            "currentvalue": {"prefix": "x = ", "font": {"size": 14, "color": theme["ink"]}},
            "bgcolor": theme["acc"], "activebgcolor": theme["acc"],
            "bordercolor": theme["line"],
        }]
    )  # fmt: skip


def add_extremes(fig: go.Figure, theme: Theme, voice: Voice) -> None:
    """Mark GELU's minimum and the ends of its slope's range."""
    _ = voice.gettext
    at, least = curves.MINIMUM
    marks = [(at, least, "", _("minimum {y} at x = {x}"), (5, 4), (0, -52))]
    for x, side in ((-curves.STEEPEST, -1), (curves.STEEPEST, 1)):
        y = float(curves.gelu_slope(x))
        marks.append((x, y, "2", "{y}", (3, 3), (0, 18 if side < 0 else -18)))
    for x, y, row, words, digits, (ax, ay) in marks:
        fig.add_scatter(
            x=[x], y=[y], mode="markers", xaxis=f"x{row}", yaxis=f"y{row}", hoverinfo="skip",
            marker={"symbol": "diamond", "size": 9, "color": theme["ink"]},
        )  # fmt: skip
        fig.add_annotation(
            text=words.format(y=voice.number(y, digits[0]), x=voice.number(x, digits[1])),
            x=x, y=y, xref=f"x{row}", yref=f"y{row}", ax=ax, ay=ay, arrowwidth=1,
            arrowcolor=theme["mute"], font={"size": SMALL, "color": theme["ink"]},
        )  # fmt: skip


def add_regions(fig: go.Figure, theme: Theme, voice: Voice) -> None:
    """Shade where GELU is like ReLU, and name the three regions."""
    _ = voice.gettext
    for x0, x1 in ((-SPAN, -FAR), (FAR, SPAN)):
        for row in ("y domain", "y2 domain"):
            fig.add_shape(type="rect", x0=x0, x1=x1, y0=0, y1=1, xref="x", yref=row,
                          fillcolor=theme["soft"], line_width=0, layer="below")  # fmt: skip
    middle = (FAR + SPAN) / 2
    for x, words in ((-middle, "≈ 0"), (-1.2, _("part of x passes")), (middle, "≈ x")):
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
