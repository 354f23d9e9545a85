"""The stream's length through depth in small models, before and after their training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from app.figures import gradients
from app.figures.base import Theme, Voice, figure
from app.figures.gradients import Doubles, Line


@dataclass(frozen=True)
class Trained(Line):
    """One variant of a race. ``values`` [seeds, places]; the line is their mean."""

    warmup: bool = False

    @property
    def typical(self) -> Doubles:
        """Mean over seeds, [places]; not finite where a seed's is not."""
        return self.values.mean(axis=0)


def streams(
    lines: Sequence[Trained],
    beside: Sequence[Trained],
    theme: Theme,
    voice: Voice,
    title: str,
    subtitle: str,
    place_title: str,
) -> go.Figure:
    """Draw lengths through depth on a log axis, with the seeds' spread as bands.

    Parameters
    ----------
    lines
        The variants that are drawn.
    beside
        Those of the figure that stands beside it: both have the same axis.
    theme, voice
        Colours and language.
    title, subtitle, place_title
        What is drawn, in what unit, and what the places are.
    """
    fig = figure(theme, voice, title, gradients.HEIGHT, subtitle)
    bottom, low, high, top = gradients.edges([*lines, *beside])
    for line in lines:  # first all bands, so that none hides another's line
        gradients.add_band(fig, line, theme)
    for line in lines:
        first = len(fig.data)
        gradients.add_curve(fig, line, low, high, theme, voice)
        if line.warmup:  # the same colour as without: told by its dash and its mark
            fig.data[first].update(line_dash="1.5px,2.5px", marker_symbol="square-open-dot")
    gradients.log_axis(fig, bottom, top, theme, voice)
    gradients.finish(fig, lines, theme, voice, place_title)
    return fig
