"""The lens through depth over many positions, the loss of changed models, and where heads look."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from app.figures.base import SMALL, Theme, Voice, axis, figure, ramp, share, titled
from app.figures.depth import finish_blocks, legend_below, two_rows
from app.figures.lens import block_ticks

if TYPE_CHECKING:
    from andrea.measures.ablation import ChangesResult
    from andrea.measures.depth import DepthResult

LOOK = (("acc", "circle", "solid"), ("neg", "square", "5px,3px"))  # Italian, English


def languages(voice: Voice) -> tuple[str, str]:
    """Return the names of the passages' languages, in the arrays' order."""
    _ = voice.gettext
    return _("Italian"), _("English")


def lens_curves(result: DepthResult, vocabulary: int, theme: Theme, voice: Voice) -> go.Figure:
    """Draw median rank and median probability of the right token at each depth.

    Parameters
    ----------
    result
        Its ``rank`` and ``prob`` [2, L + 1] are drawn.
    vocabulary
        Tokens there are: the lowest rank.
    """
    _ = voice.gettext
    n = voice.integer(2 * result.n_positions)
    title = _("The lens over {n} positions").format(n=n)
    subtitle = _("the token that really comes next")
    fig = figure(theme, voice, title, 560, subtitle)
    fig.update_layout(margin_t=92)
    x = np.arange(result.rank.shape[1])
    for g, name in enumerate(languages(voice)):
        colour, shape, dash = LOOK[g]
        for values, row, written in (
            (result.rank[g], "", [voice.integer(int(r)) for r in result.rank[g]]),
            (result.prob[g], "2", [share(voice, float(p)) for p in result.prob[g]]),
        ):
            fig.add_scatter(
                x=x, y=values, mode="lines+markers", name=name, showlegend=not row,
                xaxis=f"x{row}", yaxis=f"y{row}", customdata=written, cliponaxis=False,
                line={"color": theme[colour], "width": 2.2, "dash": dash},
                marker={"symbol": shape, "size": 8},
                hovertemplate="%{x}: <b>%{customdata}</b>",
            )  # fmt: skip
    two_rows(fig, theme, _("median rank (1: first)"), _("median probability"))
    powers = [10**i for i in range(math.ceil(math.log10(vocabulary)))]
    fig.update_layout(
        yaxis={"type": "log", "range": [math.log10(vocabulary), -0.1], "tickvals": powers,
               "ticktext": [voice.integer(p) for p in powers]},
    )  # fmt: skip
    top = float(np.nanmax(result.prob)) or 1.0
    ticks = [top * k / 3 for k in range(4)]
    fig.update_layout(yaxis2={"range": [-0.04 * top, 1.08 * top], "tickvals": ticks,
                              "ticktext": [voice.percent(t, 1) for t in ticks]})  # fmt: skip
    finish_blocks(fig, theme, voice, 0, len(x) - 1)
    legend_below(fig, -0.14)
    return fig


def change_curves(
    result: ChangesResult, chosen: int, title: str, theme: Theme, voice: Voice
) -> go.Figure:
    """Draw the loss at each place of a change beside the loss of the model as it is.

    ``chosen`` is the place that the reader looks at, marked by a band.
    """
    _ = voice.gettext
    fig = figure(theme, voice, title, 380, _("loss in nats a token; dotted: as it is"))
    places = np.array(result.places)
    fig.add_vrect(x0=chosen - 0.4, x1=chosen + 0.4, fillcolor=theme["soft"], line_width=0,
                  layer="below")  # fmt: skip
    for g, name in enumerate(languages(voice)):
        colour, shape, dash = LOOK[g]
        fig.add_hline(
            y=float(result.base_loss[g]), line={"color": theme[colour], "width": 1.5, "dash": "dot"}
        )
        fig.add_scatter(
            x=places, y=result.loss[g], mode="lines+markers", name=name,
            line={"color": theme[colour], "width": 2.2, "dash": dash},
            marker={"symbol": shape, "size": 9},
            customdata=[voice.number(float(v), 3) for v in result.loss[g]],
            hovertemplate="%{x}: <b>%{customdata}</b>",
        )  # fmt: skip
    fig.update_xaxes(**axis(theme, range=[places[0] - 0.5, places[-1] + 0.5]))
    fig.update_xaxes(title=titled(_("block"), theme), **block_ticks(int(places[-1])))
    fig.update_yaxes(**axis(theme, showgrid=True, nticks=6))
    legend_below(fig, -0.2)
    return fig


def heads(result: DepthResult, theme: Theme, voice: Voice) -> go.Figure:
    """Draw where each head of each block looks: four maps, blocks downwards, heads across."""
    _ = voice.gettext
    a = result.attention
    even = math.log(result.request.n_tokens + 1)
    names = (_("on the first token"), _("on the token before"), _("on the token itself"))
    nats = [[voice.number(float(v), 2) for v in row] for row in a.entropy]
    maps = [(_("entropy"), a.entropy / even, nats)]
    for name, z in zip(names, (a.first, a.previous, a.own), strict=True):
        maps.append((name, z, [[share(voice, float(v)) for v in row] for row in z]))
    L, H = a.entropy.shape
    most = max(float(np.nanmax(z)) for _name, z, _written in maps[1:])  # one scale for all shares
    fig = figure(
        theme, voice, _("Where the heads look"), 130 + 2 * max(160, 20 * L + 30),
        _("blocks down, heads across; bluer: more"),
    )  # fmt: skip
    for k, (name, z, written) in enumerate(maps):
        n = "" if k == 0 else str(k + 1)
        left, top = 0.54 * (k % 2), 1 - 0.54 * (k // 2)
        hover = [[_("block {block}, head {head}").format(block=voice.integer(i + 1),
                                                         head=voice.integer(h + 1))
                  + f"<br>{name}: <b>{written[i][h]}</b>" for h in range(H)]
                 for i in range(L)]  # fmt: skip
        fig.add_heatmap(
            z=z, zmin=0, zmax=most if k else 1, x=np.arange(1, H + 1), y=np.arange(1, L + 1),
            xaxis=f"x{n}", yaxis=f"y{n}", colorscale=ramp(theme), showscale=False, xgap=1, ygap=1,
            text=hover, hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip
        ticks = block_ticks(L)["tickvals"]
        fig.update_layout({
            f"xaxis{n}": axis(theme, domain=[left, left + 0.46], anchor=f"y{n}", dtick=1),
            f"yaxis{n}": axis(theme, domain=[top - 0.43, top], anchor=f"x{n}",
                              range=[L + 0.5, 0.5], tickvals=ticks),
        })  # fmt: skip
        fig.add_annotation(
            text=name, x=left, y=top, xref="paper", yref="paper", xanchor="left", yanchor="bottom",
            showarrow=False, font={"size": SMALL + 1, "color": theme["mute"]},
        )  # fmt: skip
    fig.update_layout(margin_t=92)
    return fig
