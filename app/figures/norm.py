"""One vector on its way through a LayerNorm: histograms, strips, and the matrix it is a row of.

Everything drawn is a number of ``andrea.measures.norm`` or ``andrea.measures.layernorm``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.base import SMALL, Theme, Voice, axis, figure, mix, size_of, text_on, titled, token

Doubles = npt.NDArray[np.float64]
BINS = 48
LADDER = (0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 12, 20, 30, 50, 100, 200, 500, 1000, 5000)


def span_of(*arrays: npt.NDArray[Any]) -> float:
    """Return a round half-width that holds all values: it moves in steps, so pictures stay put."""
    values = np.concatenate([np.abs(a[np.isfinite(a)]) for a in arrays])
    most = float(values.max()) if values.size else 1.0
    return next((step for step in LADDER if step >= most), most * 1.05) or 1.0


def signed_shade(theme: Theme, share: float) -> str:
    """Return the colour of a value in [-1, 1]: orange below zero, blue above, root ramp."""
    if not np.isfinite(share):
        return theme["bg"]
    return mix(theme["mid"], theme["pos" if share > 0 else "neg"], min(1.0, abs(share)) ** 0.5)


def signed_scale(theme: Theme, steps: int = 21) -> list[list[float | str]]:
    """Return ``signed_shade`` as a Plotly colour scale over [-1, 1]."""
    ends = np.linspace(-1, 1, steps)
    return [[float((v + 1) / 2), signed_shade(theme, float(v))] for v in ends]


def histograms(
    before: npt.NDArray[Any], after: npt.NDArray[Any], theme: Theme, voice: Voice
) -> go.Figure:
    """Draw how a vector's numbers are spread, before above and after below.

    Both arrays [d]. A line marks each mean, a bar one standard deviation to either side.
    """
    _ = voice.gettext
    subtitle = _("line: mean · bar: one standard deviation to either side")
    base = figure(theme, voice, _("The numbers of one vector"), 430, subtitle)
    fig = make_subplots(rows=2, cols=1, vertical_spacing=0.24, figure=base)
    parts = ((before, _("before"), theme["acc2"]), (after, _("after LayerNorm"), theme["acc"]))
    for row, (values, name, colour) in enumerate(parts, 1):
        add_histogram(fig, np.asarray(values, np.float64), name, colour, row, theme, voice)
    fig.layout.margin = {"l": 8, "r": 8, "t": 92, "b": 26}
    return fig


def add_histogram(
    fig: go.Figure, values: Doubles, name: str, colour: str, row: int, theme: Theme, voice: Voice
) -> None:
    """Draw one histogram with its mean and standard deviation."""
    _ = voice.gettext
    half = span_of(values)
    there = values[np.isfinite(values)]
    counts, edges = np.histogram(there, BINS, (-half, half))
    top = max(1, int(counts.max()))
    fig.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=counts,
        width=np.diff(edges),
        marker={"color": colour, "line": {"width": 0}},
        customdata=[[size_of(voice, float(e)) for e in edges[i : i + 2]] for i in range(BINS)],
        hovertemplate="%{customdata[0]} … %{customdata[1]}: <b>%{y}</b><extra></extra>",
        row=row,
        col=1,
    )  # fmt: skip
    if there.size:
        mean, deviation = float(there.mean()), float(there.std())
        ends = [mean - deviation, mean + deviation]
        line = {"color": theme["neg"], "width": 2.5}
        fig.add_scatter(x=ends, y=[1.12 * top] * 2, mode="lines", line=line | {"width": 5},
                        hoverinfo="skip", row=row, col=1)  # fmt: skip
        fig.add_scatter(x=[mean, mean], y=[0, 1.12 * top], mode="lines", line=line,
                        hoverinfo="skip", row=row, col=1)  # fmt: skip
    where = {"xref": "paper", "yref": "y domain" if row == 1 else "y2 domain"}
    fig.add_annotation(
        text=name, **where, x=0, y=1.02, xanchor="left", yanchor="bottom", showarrow=False,
        font={"size": 13, "color": theme["mute"]},
    )  # fmt: skip
    fig.update_xaxes(**axis(theme, range=[-half, half], nticks=7), row=row, col=1)
    fig.update_yaxes(**axis(theme, range=[0, 1.22 * top], showticklabels=False), row=row, col=1)


def strips(
    rows: Sequence[tuple[str, npt.NDArray[Any]]],
    theme: Theme,
    voice: Voice,
    title: str,
    subtitle: str,
) -> go.Figure:
    """Draw vectors [d] as strips of coloured cells, one under the other, component by component.

    Each strip has a scale of its own (its largest |value| gets the full colour), so that patterns
    can be compared whatever the sizes; a pointed-at cell tells its value.
    """
    _ = voice.gettext
    fig = figure(theme, voice, title, 96 + 52 * len(rows), subtitle)
    arrays = [np.asarray(values, np.float64) for _name, values in rows]
    shares = []
    for values in arrays:
        limit = np.abs(values[np.isfinite(values)]).max(initial=0.0)
        shares.append(values / limit if limit else values)
    fig.add_heatmap(
        z=np.stack(shares),
        x=np.arange(1, len(arrays[0]) + 1),
        y=[name for name, _values in rows],
        customdata=np.stack(arrays),
        zmin=-1,
        zmax=1,
        colorscale=signed_scale(theme),
        showscale=False,
        ygap=8,
        hovertemplate="%{y}<br>"
        + _("component")
        + " %{x}: <b>%{customdata:.4f}</b><extra></extra>",
    )
    fig.layout.xaxis = axis(theme, nticks=6)
    fig.layout.yaxis = axis(theme, autorange="reversed")
    fig.layout.margin.b = 26
    return fig


@dataclass(frozen=True)
class Matrix:
    """Some tokens by some features of what a LayerNorm reads or makes.

    ``values`` [tokens, features] what is drawn; ``labels`` of the rows; ``means`` and
    ``variances`` [tokens] over *all* features, also those not drawn; ``chosen`` the row that is
    looked at; ``limit`` the size that gets the full colour; ``notes`` a word beside each row.
    """

    values: Doubles
    labels: Sequence[str]
    means: Doubles
    variances: Doubles
    chosen: int
    limit: float
    notes: Sequence[str]
    width: int


def matrix(m: Matrix, theme: Theme, voice: Voice, title: str, subtitle: str) -> go.Figure:
    """Draw tokens x features; the row whose numbers are averaged together is outlined."""
    _ = voice.gettext
    n_rows, n_columns = m.values.shape
    fig = figure(theme, voice, title, 164 + 34 * n_rows, subtitle)
    names = [token(label, 9) for label in m.labels]
    shares = np.clip(m.values / (m.limit or 1.0), -1, 1)
    cells = [[cell_text(voice, float(v)) for v in row] for row in m.values]
    words = _("{token}, component {n}: <b>{value}</b><br>its row: mean {mean}, variance {variance}")
    hover = [
        [
            words.format(token=names[r], n=c + 1, value=size_of(voice, float(m.values[r, c])),
                         mean=size_of(voice, float(m.means[r])),
                         variance=size_of(voice, float(m.variances[r])))
            for c in range(n_columns)
        ]
        for r in range(n_rows)
    ]  # fmt: skip
    fig.add_heatmap(z=shares, zmin=-1, zmax=1, colorscale=signed_scale(theme), showscale=False,
                    xgap=2, ygap=2, text=hover,
                    hovertemplate="%{text}<extra></extra>")  # fmt: skip
    for r, c in np.ndindex(n_rows, n_columns):
        ink = text_on(signed_shade(theme, float(shares[r, c])))
        fig.add_annotation(x=c, y=r, text=cells[r][c], showarrow=False,
                           font={"size": SMALL, "color": ink})  # fmt: skip
    edge = {"color": theme["acc"], "width": 3}
    fig.add_shape(type="rect", x0=-0.5, x1=n_columns - 0.5, y0=m.chosen - 0.5,
                  y1=m.chosen + 0.5, line=edge)  # fmt: skip
    for r, note in enumerate(m.notes):
        fig.add_annotation(x=n_columns - 0.4, y=r, text=note, xanchor="left", showarrow=False,
                           font={"size": SMALL, "color": theme["mute"]})  # fmt: skip
    features = [str(c + 1) for c in range(n_columns)]
    across = _("components 1 to {n} of {width}").format(n=n_columns, width=voice.integer(m.width))
    room = 1.9 if any(m.notes) else -0.5 + 0.02
    fig.layout.xaxis = axis(
        theme, tickvals=[*range(n_columns)], ticktext=features, side="top",
        title=titled(across, theme, 2), range=[-0.55, n_columns - 0.5 + max(0.05, room)],
    )  # fmt: skip
    fig.layout.yaxis = axis(theme, tickvals=[*range(n_rows)], ticktext=names,
                            range=[n_rows - 0.45, -0.55])  # fmt: skip
    fig.layout.margin.t = 116
    return fig


def cell_text(voice: Voice, value: float) -> str:
    """Write a value into a cell: at most five characters where that is possible."""
    size = abs(value)
    digits = 0 if size >= 99.5 else 1 if size >= 9.95 else 2
    return voice.number(round(value, digits), digits)
