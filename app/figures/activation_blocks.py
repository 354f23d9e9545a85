"""GELU and ReLU block by block: what the activation reads, and what another one costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.base import Theme, Voice, axis, figure, share, titled
from app.figures.depth import legend_below
from app.figures.depth_curves import LOOK, languages
from app.figures.lens import block_ticks

if TYPE_CHECKING:
    from andrea.measures.activation import ActivationResult, SwapResult


def by_block(result: ActivationResult, theme: Theme, voice: Voice) -> go.Figure:
    """Draw share negative, length of the part from below zero, and silent units, by block."""
    _ = voice.gettext
    base = figure(theme, voice, _("Block by block"), 620)
    fig = make_subplots(rows=3, cols=1, vertical_spacing=0.11, figure=base)
    L = len(result.layers.negative)
    x = np.arange(1, L + 1)
    arms = [(result.layers, _("this model"), "acc", "circle", "solid")]
    if result.init is not None:
        arms.append((result.init, _("fresh weights"), "neg", "square-open", "5px,3px"))
    for layers, name, colour, shape, dash in arms:
        rows: tuple[npt.NDArray[Any], ...] = (layers.negative, layers.cut_size, layers.silent)
        for row, values in enumerate(rows, 1):
            written = [share(voice, float(v)) for v in values]
            if row == 3:
                written = [voice.integer(int(n)) for n in layers.silent]
            fig.add_scatter(
                x=x, y=values, mode="lines+markers", name=name, showlegend=row == 1, row=row,
                col=1, customdata=written, hovertemplate="%{x}: <b>%{customdata}</b>",
                line={"color": theme[colour], "width": 2.2, "dash": dash}, cliponaxis=False,
                marker={"symbol": shape, "size": 8},
            )  # fmt: skip
    titles = (_("negative pre-activations"), _("output from below zero ÷ whole output (lengths)"),
              _("units that never fire"))  # fmt: skip
    for row, text in enumerate(titles, 1):
        n = "" if row == 1 else str(row)
        fig.add_annotation(text=text, x=0, y=1, xref="paper", yref=f"y{n} domain", xanchor="left",
                           yanchor="bottom", showarrow=False,
                           font={"size": 13, "color": theme["mute"]})  # fmt: skip
    fig.update_xaxes(**axis(theme, range=[0.5, L + 0.5]), **block_ticks(L))
    fig.update_xaxes(ticklabelstandoff=6)  # markers at zero would cover the numbers
    fig.update_yaxes(**axis(theme, showgrid=True, rangemode="tozero", tickformat=".0%", nticks=5))
    fig.layout.yaxis3.tickformat = ",d"
    fig.update_layout(xaxis3_title=titled(_("block"), theme))
    legend_below(fig, -0.13)
    fig.layout.margin = {"l": 8, "r": 8, "t": 74, "b": 8}
    return fig


def swap(result: SwapResult, title: str, theme: Theme, voice: Voice) -> go.Figure:
    """Draw what the other activation adds to the loss in one block at a time."""
    _ = voice.gettext
    fig = figure(theme, voice, title, 330, _("nats a token, one block at a time"))
    x = np.arange(1, result.change.shape[1] + 1)
    for g, name in enumerate(languages(voice)):
        colour, shape, dash = LOOK[g]
        fig.add_scatter(
            x=x, y=result.change[g], mode="lines+markers", name=name,
            line={"color": theme[colour], "width": 2.2, "dash": dash},
            marker={"symbol": shape, "size": 8},
            customdata=[voice.number(float(v), 5) for v in result.change[g]],
            hovertemplate="%{x}: <b>%{customdata}</b>",
        )  # fmt: skip
    most = max(1e-6, float(np.abs(result.change).max()))
    fig.update_xaxes(**axis(theme, range=[0.5, len(x) + 0.5]), **block_ticks(len(x)))
    fig.update_xaxes(title=titled(_("block"), theme))
    fig.update_yaxes(**axis(theme, showgrid=True, zeroline=True, nticks=5,
                            exponentformat="power", range=[min(0.0, 1.15 * float(
                                result.change.min())) - 0.05 * most, 1.15 * most]))  # fmt: skip
    legend_below(fig, -0.24)
    return fig
