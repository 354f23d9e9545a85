"""Two variants of a race, seed by seed: what each pair ended with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from andrea.measures.race_pairs import Pairs
from app.figures.base import Theme, Voice, axis, escaped, figure, titled

# The second is open and larger: where both are equal, the first shows inside it.
LOOKS = (("acc", "circle", 10), ("acc2", "diamond-open", 15))


def pair_figure(
    pairs: Pairs,
    names: Sequence[str],
    theme: Theme,
    voice: Voice,
    title: str,
    subtitle: str,
    loss_title: str,
) -> go.Figure:
    """Draw one row a seed: the two losses as marks, and the line between them.

    Parameters
    ----------
    pairs
        The losses [seeds, 2].
    names
        The two variants.
    theme, voice
        Colours and language.
    title, subtitle, loss_title
        What is drawn, and the axis of the losses.
    """
    _ = voice.gettext
    fig = figure(theme, voice, title, 430, subtitle)
    rows = [_("seed {n}").format(n=voice.integer(seed)) for seed in pairs.seeds]
    for row, ends in zip(rows, pairs.losses, strict=True):
        fig.add_scatter(
            x=ends, y=[row, row], mode="lines", line={"color": theme["mute"], "width": 2},
            hoverinfo="skip", showlegend=False,
        )  # fmt: skip
    for k, (name, (colour, symbol, size)) in enumerate(zip(names, LOOKS, strict=True)):
        fig.add_scatter(
            x=pairs.losses[:, k],
            y=rows,
            mode="markers",
            name=escaped(name),
            marker={"symbol": symbol, "size": size, "color": theme[colour], "line_width": 2.5 * k},
            customdata=[voice.number(float(x), 4) for x in pairs.losses[:, k]],
            hovertemplate="%{y}: <b>%{customdata}</b>",
        )
    low, high = float(pairs.losses.min()), float(pairs.losses.max())
    room = max(0.005, 0.12 * (high - low))
    fig.update_xaxes(
        **axis(theme, showgrid=True, range=[low - room, high + room]),
        **round_ticks(low - room, high + room, voice),
    )
    fig.update_xaxes(title=titled(loss_title, theme))
    fig.update_yaxes(**axis(theme, autorange="reversed"))
    legend = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top", "font": {"size": 13}}
    fig.update_layout(showlegend=True, legend=legend)
    return fig


def round_ticks(low: float, high: float, voice: Voice) -> dict[str, object]:
    """Return ticks at about four round numbers between ``low`` and ``high``."""
    power = math.floor(math.log10((high - low) / 4))
    steps = (m * 10.0**p for p in (power, power + 1) for m in (1, 2, 5))
    step = next(s for s in steps if (high - low) / s <= 5)
    first, last = math.ceil(low / step), math.floor(high / step)
    values = [k * step for k in range(first, last + 1)]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return {"tickvals": values, "ticktext": [voice.number(v, digits) for v in values]}
