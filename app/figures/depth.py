"""What the blocks add: the answer's logit bar by bar, and the size of every step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from app.figures.base import SMALL, Theme, Voice, axis, figure, titled, token
from app.figures.gradients import power_ticks
from app.figures.lens import block_ticks

if TYPE_CHECKING:
    from andrea.measures.attribution import WaterfallResult
    from andrea.measures.depth import Sizes

ROW = 21  # px a bar


def part_label(voice: Voice, name: str) -> str:
    """Return what a bar is called: ``blocks.3.attn_out`` is “4 · attention”."""
    _ = voice.gettext
    fixed = {
        "embed": _("token embedding"),
        "pos_embed": _("position"),
        "ln_final.beta": _("β of the last LayerNorm"),
    }
    if name in fixed:
        return fixed[name]
    _blocks, block, branch = name.split(".")
    kind = _("attention") if branch == "attn_out" else _("MLP")
    return f"{voice.integer(int(block) + 1)} · {kind}"


def plus(voice: Voice, value: float) -> str:
    """Write a number with its sign and two decimals; what rounds to zero has no sign."""
    near = round(value, 2)
    return ("+" if near > 0 else "") + voice.number(near or 0.0, 2)


def waterfall(result: WaterfallResult, theme: Theme, voice: Voice) -> go.Figure:
    """Draw each part's share of the answer's logit, one bar after the other, and their sum."""
    _ = voice.gettext
    shares = result.contributions.astype(np.float64)
    ends = np.cumsum(shares)
    starts, total = np.concatenate([[0.0], ends[:-1]]), float(ends[-1])
    fig = figure(
        theme,
        voice,
        _("How the answer “{token}” comes about").format(token=token(result.answer_label, 20)),
        height=110 + ROW * (len(shares) + 1),
        subtitle=_("direct shares of its logit, less the mean"),
    )
    labels = [part_label(voice, name) for name in result.names]
    rows = [*range(len(shares) + 1)]
    values = [*shares, total]
    fig.add_bar(
        x=values,
        y=rows,
        base=[*starts, 0.0],
        orientation="h",
        width=0.72,
        marker={"color": [*(theme["pos" if v >= 0 else "neg"] for v in shares), theme["acc2"]]},
        customdata=[f"{label}: <b>{plus(voice, v)}</b>"
                    for label, v in zip([*labels, _("sum")], values, strict=True)],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    low, high = min(0.0, ends.min()), max(0.0, ends.max())
    room = (high - low) or 1.0
    # Numbers stand right of their bar, where no other bar of the same row can be.
    fig.add_scatter(
        x=np.maximum([*starts, 0.0], [*ends, total]) + 0.012 * room,
        y=rows,
        mode="text",
        text=[plus(voice, v) for v in values],
        textposition="middle right",
        textfont={"size": SMALL, "color": theme["mute"]},
        hoverinfo="skip",
        cliponaxis=False,
    )
    fig.add_vline(x=0, line={"color": theme["line"], "width": 1})
    fig.update_xaxes(**axis(theme, range=[low - 0.04 * room, high + 0.2 * room], showgrid=True))
    fig.update_xaxes(title=titled(_("logit above the mean"), theme))
    fig.update_yaxes(**axis(theme, range=[len(rows) - 0.4, -0.6], tickvals=rows))
    fig.update_yaxes(ticktext=[*labels, f"<b>{_('sum')}</b>"])
    return fig


def two_rows(fig: go.Figure, theme: Theme, upper: str, lower: str, gap: float = 0.15) -> None:
    """Lay a figure out in two rows with a title each; the lower one has the axes x2 and y2."""
    middle = (1 - gap) / 2
    fig.update_layout(
        xaxis={"anchor": "y"},
        xaxis2={"anchor": "y2"},
        yaxis={"domain": [1 - middle, 1]},
        yaxis2={"domain": [0, middle], "anchor": "x2"},
    )
    fig.update_yaxes(**axis(theme, showgrid=True))  # both of them exist now
    for text, height in ((upper, 1.0), (lower, middle)):
        fig.add_annotation(
            text=text, x=0, y=height, xref="paper", yref="paper", xanchor="left",
            yanchor="bottom", showarrow=False, font={"size": 13, "color": theme["mute"]},
        )  # fmt: skip


def legend_below(fig: go.Figure, y: float = -0.12) -> None:
    """Put the legend under the figure, in rows that wrap."""
    fig.update_layout(
        showlegend=True,
        legend={"orientation": "h", "tracegroupgap": 0, "x": 0, "y": y, "yanchor": "top",
                "font": {"size": 13}},
    )  # fmt: skip


def finish_blocks(fig: go.Figure, theme: Theme, voice: Voice, first: int, last: int) -> None:
    """Lay out the axes of depth of a figure in two rows."""
    _ = voice.gettext
    span = [first - 0.4, last + 0.4]
    fig.update_xaxes(**axis(theme, range=span), **block_ticks(last))
    name = _("block") if first else _("after block (0: embeddings)")
    fig.update_layout(xaxis2_title=titled(name, theme))


def add_share(fig: go.Figure, sizes: Sizes, name: str, init: bool, theme: Theme,
              voice: Voice) -> None:  # fmt: skip
    """Add the two branches' relative sizes and, in the lower row, the cosine of each block."""
    _ = voice.gettext
    colour, dash = theme["neg" if init else "acc"], "5px,3px" if init else "solid"
    x = np.arange(1, len(sizes.cosine) + 1)
    for half, (branch, shape) in enumerate(((_("attention"), "circle"), (_("MLP"), "square"))):
        values = sizes.share[half::2].astype(np.float64)
        fig.add_scatter(
            x=x, y=values, mode="lines+markers", name=f"{name}, {branch}",
            line={"color": colour, "width": 2, "dash": dash},
            marker={"symbol": shape + ("-open" if init else ""), "size": 8},
            customdata=[voice.number(float(v), 3) for v in values],
            hovertemplate="%{x}: <b>%{customdata}</b>",
        )  # fmt: skip
    fig.add_scatter(
        x=x, y=sizes.cosine, mode="lines+markers", name=f"{name}, {_('cosine')}",
        xaxis="x2", yaxis="y2", showlegend=False,
        line={"color": colour, "width": 2, "dash": dash},
        marker={"symbol": "diamond" + ("-open" if init else ""), "size": 8},
        customdata=[voice.number(float(v), 3) for v in sizes.cosine],
        hovertemplate="%{x}: <b>%{customdata}</b>",
    )  # fmt: skip


def block_sizes(trained: Sizes, init: Sizes | None, theme: Theme, voice: Voice) -> go.Figure:
    """Draw how large each step is beside the stream, and how far each block turns it."""
    _ = voice.gettext
    fig = figure(
        theme, voice, _("How much each block changes the stream"), 600,
        _("medians over all positions of the passages"),
    )  # fmt: skip
    fig.update_layout(margin_t=92)
    both = [trained.share] if init is None else [trained.share, init.share]
    add_share(fig, trained, _("this model"), False, theme, voice)
    if init is not None:
        add_share(fig, init, _("freshly initialised"), True, theme, voice)
    values = np.concatenate(both)
    values = values[np.isfinite(values) & (values > 0)]
    low, high = (math.log10(values.min()) - 0.1, math.log10(values.max()) + 0.1)
    lower = _("cosine of a block's input and output")
    two_rows(fig, theme, _("‖what is added‖ / ‖stream before‖"), lower)
    fig.update_layout(yaxis={"type": "log", "range": [low, high], **power_ticks(low, high, voice)})
    least = min(0.0, *(float(np.nanmin(s.cosine)) for s in (trained, init) if s is not None))
    ticks = [-1, -0.5, 0, 0.5, 1]
    fig.update_layout(yaxis2={"range": [least - 0.06, 1.06], "tickvals": ticks,
                              "ticktext": [voice.number(t, 1) for t in ticks]})  # fmt: skip
    finish_blocks(fig, theme, voice, 1, len(trained.cosine))
    legend_below(fig, -0.13)
    return fig
