"""Where the parameters sit: a map one can go into, and a bar of shares.

Every area and length is a count of ``andrea.measures.tensors``; nothing is drawn to look good. A
tied unembedding has no area of its own: the embedding matrix carries both names and a hatching.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures.base import SMALL, Theme, Voice, axis, figure, mix, share, text_on

if TYPE_CHECKING:
    from andrea.measures.parameters import ParametersResult
    from andrea.measures.tensors import Row

MOST_BLOCKS = 24  # drawn one by one; a deeper stack is drawn in groups of neighbours, all alike


@dataclass(frozen=True)
class Node:
    """One area of the map: ``value`` parameters inside ``parent`` (empty for the model itself).

    ``detail`` is a tensor's shape.
    """

    id: str
    parent: str
    label: str
    value: int
    group: str
    detail: str
    tied: bool = False


def group_names(voice: Voice) -> dict[str, str]:
    """Return what the four groups are called."""
    _ = voice.gettext
    return {
        "embeddings": _("embeddings"),
        "attention": _("attention"),
        "mlp": _("MLP"),
        "norms": _("LayerNorms"),
    }


def group_colours(theme: Theme) -> dict[str, str]:
    """Return one colour a group; they differ in lightness too."""
    return {
        "embeddings": theme["neg"],
        "attention": theme["acc"],
        "mlp": mix(theme["acc"], theme["bg"], 0.62),
        "norms": theme["acc2"],
        "": theme["soft"],
    }


def sublayer_names(voice: Voice) -> dict[str, str]:
    """Return what the parts of a block are called."""
    _ = voice.gettext
    return {
        "ln1": _("first LayerNorm"),
        "attn": _("attention"),
        "ln2": _("second LayerNorm"),
        "mlp": _("MLP"),
    }


def shape_text(row: Row) -> str:
    """Write a shape: ``[768 × 3072]``."""
    return "[" + " × ".join(str(n) for n in row.shape) + "]"


def spans(n_layer: int) -> list[tuple[int, int]]:
    """Return the blocks that are drawn as one, first and last: single ones up to a depth."""
    size = -(-n_layer // MOST_BLOCKS)
    return [(a, min(a + size - 1, n_layer)) for a in range(1, n_layer + 1, size)]


def block_nodes(rows: Sequence[Row], first: int, last: int, voice: Voice) -> Iterator[Node]:
    """Yield one block, or a group of neighbours, with sublayers and tensors."""
    _, n = voice.gettext, last - first + 1
    top = f"b{first}"
    label = _("block {n}") if n == 1 else _("blocks {n} to {last}")
    value = sum(row.each for row in rows) * n
    yield Node(top, "blocks", label.format(n=first, last=last), value, "", "")
    for sublayer, name in sublayer_names(voice).items():
        inside = [row for row in rows if row.sublayer == sublayer]
        if not inside:
            continue
        place = f"{top}.{sublayer}"
        yield Node(place, top, name, sum(r.each for r in inside) * n, inside[0].group, "")
        for row in inside:
            detail = shape_text(row) if n == 1 else f"{n} × {shape_text(row)}"
            leaf = row.kind.split(".")[1]
            yield Node(f"{top}.{row.kind}", place, leaf, row.each * n, row.group, detail)


def nodes(result: ParametersResult, voice: Voice) -> list[Node]:
    """Return all areas: the model, its parts, the blocks, their sublayers and tensors."""
    _, rows = voice.gettext, result.rows
    tied = {row.tied_to for row in rows}
    found = [Node("model", "", result.preset, result.total, "", "")]
    for part, name, group in (
        ("embeddings", _("embeddings"), "embeddings"),
        ("blocks", _("blocks"), ""),
        ("final", _("final LayerNorm"), "norms"),
    ):
        inside = [row for row in rows if row.part == part]
        value = sum(row.total for row in inside)
        if not value:
            continue
        found.append(Node(part, "model", name, value, group, ""))
        if part == "blocks":
            for first, last in spans(int(result.config["n_layer"])):
                found.extend(block_nodes(inside, first, last, voice))
            continue
        for row in inside:
            if row.tied_to:
                continue
            both = row.kind in tied
            label = _("wte = W_U (tied)") if both else row.kind.removeprefix("ln_final.")
            found.append(Node(row.kind, part, label, row.total, group, shape_text(row), both))
    return found


def map_texts(areas: Sequence[Node], voice: Voice) -> list[str]:
    """Write shape and count of every area; equal counts are written once."""
    count = {n: voice.integer(n) for n in {area.value for area in areas}}
    # The model's own count is the title.
    return [f"{a.detail}<br>{count[a.value]}" if a.parent else "" for a in areas]


def map_height(result: ParametersResult) -> int:
    """Return a height at which two lines fit into every block, within what a page bears."""
    blocks = len(spans(int(result.config["n_layer"])))
    return 90 + round(min(1000, max(480, 46 * blocks / result.trunk.share)))


def icicle(areas: Sequence[Node], theme: Theme, voice: Voice, level: str) -> dict[str, Any]:
    """Return the areas as a trace: a dictionary, for a trace object would be checked twice."""
    colours = group_colours(theme)
    fill = [colours[area.group] for area in areas]
    ink = {colour: text_on(colour) for colour in set(fill)}
    return {
        "type": "icicle",
        "ids": [area.id for area in areas],
        "parents": [area.parent for area in areas],
        "labels": [area.label for area in areas],
        "values": np.array([area.value for area in areas], dtype=np.float64),
        "text": map_texts(areas, voice),
        "branchvalues": "total",
        "level": level if level in {area.id for area in areas} else "model",
        "maxdepth": 4,
        "sort": False,
        "marker": {
            "colors": fill,
            "line": {"color": theme["bg"], "width": 1},
            "pattern": {
                "shape": ["/" if area.tied else "" for area in areas],
                "fillmode": "overlay",
                "fgcolor": mix(theme["neg"], theme["bg"], 0.3),
                "size": 10,
                "solidity": 0.12,
            },
        },
        "tiling": {"orientation": "h"},
        "leaf": {"opacity": 1},
        "textfont": {"size": 13, "color": [ink[colour] for colour in fill]},
        "texttemplate": "<b>%{label}</b> %{text}",
        "hovertemplate": "<b>%{label}</b> %{text}<br>%{percentRoot:.2%}<extra></extra>",
        "pathbar": {"thickness": 26, "textfont": {"size": 13, "color": theme["ink"]}},
    }


def parameter_map(
    result: ParametersResult, theme: Theme, voice: Voice, level: str = "model"
) -> go.Figure:
    """Draw the map of all parameters; ``level`` is the id of the area that fills it at first."""
    _, areas = voice.gettext, nodes(result, voice)
    fig = figure(
        theme,
        voice,
        _("{n} parameters").format(n=voice.integer(result.total)),
        height=map_height(result),
        subtitle=_("height = count · click to go in and out"),
    )
    fig.add_traces([icicle(areas, theme, voice, level)])
    fig.layout.margin = {"l": 2, "r": 2, "t": 84, "b": 4}
    fig.layout.uniformtext = {"minsize": SMALL, "mode": "hide"}
    return fig


def share_bar(
    results: Sequence[tuple[str, ParametersResult]], theme: Theme, voice: Voice
) -> go.Figure:
    """Draw one bar a configuration, of its parameters by group.

    One configuration is drawn as shares of its total; several on one axis of counts.
    """
    _, names, colours = voice.gettext, group_names(voice), group_colours(theme)
    alone, bars = len(results) == 1, []
    for k, (group, name) in enumerate(names.items()):
        parts = [result.groups[k] for _name, result in results]
        assert all(part.name == group for part in parts)
        bars.append(
            {
                "type": "bar",
                "y": [label for label, _result in results],
                "x": [part.share if alone else part.total for part in parts],
                "orientation": "h",
                "name": f"{name} · {share(voice, parts[0].share)}" if alone else name,
                "marker": {"color": colours[group], "line": {"color": theme["bg"], "width": 1}},
                "customdata": [[voice.integer(p.total), share(voice, p.share)] for p in parts],
                "text": [share(voice, p.share) if p.share > 0.1 else "" for p in parts],
                "textposition": "inside",
                "textangle": 0,
                "insidetextanchor": "middle",
                "textfont": {"color": text_on(colours[group]), "size": 13},
                "hovertemplate": f"<b>{name}</b><br>%{{customdata[0]}} · %{{customdata[1]}}"
                "<extra></extra>",
            }
        )
    fig = figure(theme, voice, _("Who has how many"), height=150 + 44 * len(results))
    fig.add_traces(bars)
    fig.layout.barmode, fig.layout.bargap, fig.layout.showlegend = "stack", 0.35, True
    fig.layout.margin.b = 44
    fig.layout.legend = {
        "orientation": "h",
        "x": 0,
        "y": -0.25,
        "traceorder": "normal",
        "font": {"size": SMALL + 1},
        "itemclick": False,
        "itemdoubleclick": False,
    }
    span = {"range": [0, 1]} if alone else {"rangemode": "tozero"}
    fig.layout.xaxis = axis(theme, tickformat="~s", visible=not alone, **span)
    fig.layout.yaxis = axis(theme, autorange="reversed", showticklabels=not alone)
    return fig
