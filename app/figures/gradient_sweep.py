"""The theorem's figure: one number of the gradient against depth, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from app.figures.base import Theme, Voice, axis, escaped, figure, size_of, titled
from app.figures.gradients import HEIGHT, Line, colour, edges, power_ticks, symbol


@dataclass(frozen=True)
class Sweep:
    """One arm of a depth sweep: a ``Line`` over depths, its fitted exponent and the theory's."""

    line: Line
    exponent: float
    theory: float | None


def sweep(sweeps: Sequence[Sweep], theme: Theme, voice: Voice) -> go.Figure:
    """Draw the last block's W_2 gradient against depth, both axes logarithmic.

    Points with the seeds' spread, the fitted power of the depth as a line, and the theory's power
    through the first point as dots.
    """
    _ = voice.gettext
    fig = figure(
        theme,
        voice,
        _("The last block's W₂ gradient against depth"),
        HEIGHT,
        _("‖dL/dW₂‖ at initialisation · line: fitted power · dots: theory"),
    )
    for each in sweeps:
        add_sweep(fig, each, theme, voice)
    bottom, _low, _high, top = edges([each.line for each in sweeps])
    depths = sweeps[0].line.places
    fig.update_yaxes(
        **axis(theme, showgrid=True), type="log", range=[bottom, top],
        **power_ticks(bottom, top, voice),
    )  # fmt: skip
    ends = [math.log10(depths[0]) - 0.06, math.log10(depths[-1]) + 0.06]
    fig.update_xaxes(**axis(theme, title=titled(_("blocks"), theme)), type="log", range=ends)
    fig.update_xaxes(tickvals=depths, ticktext=[voice.integer(int(d)) for d in depths])
    fig.update_layout(
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top", "font": {"size": 13}},
    )
    return fig


def add_sweep(fig: go.Figure, each: Sweep, theme: Theme, voice: Voice) -> None:
    """Draw one arm's points, fit and theory."""
    line, paint = each.line, colour(each.line, theme)
    middle = line.values.mean(axis=0)
    fig.add_scatter(
        x=line.places,
        y=middle,
        mode="markers",
        name=escaped(line.label),
        marker={"symbol": symbol(line), "size": 10, "color": paint},
        error_y={
            "array": line.values.max(axis=0) - middle,
            "arrayminus": middle - line.values.min(axis=0),
            "color": paint,
        },
        customdata=[size_of(voice, v) for v in middle],
        hovertemplate="%{x}: <b>%{customdata}</b>",
    )
    powers = [
        (each.exponent, "solid", float(np.exp(np.log(middle).mean())), np.log(line.places).mean())
    ]
    if each.theory is not None:
        powers.append((each.theory, "dot", middle[0], float(np.log(line.places[0]))))
    for exponent, dash, height, centre in powers:
        fig.add_scatter(
            x=line.places,
            y=height * np.exp(exponent * (np.log(line.places) - centre)),
            mode="lines",
            line={"color": paint, "dash": dash, "width": 1.8},
            hoverinfo="skip",
            showlegend=False,
        )
