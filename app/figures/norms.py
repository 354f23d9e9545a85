"""How long the stream's vector is at each station, and how large each correction is beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.base import SMALL, Theme, Voice, axis, depth_label, figure, mix, share, size_of
from app.figures.lens import block_ticks

Doubles = npt.NDArray[np.float64]
WIDE = 30.0  # largest / smallest from which a linear axis would hide the small ones


@dataclass(frozen=True)
class Norms:
    """Euclidean norms at one position, float64, computed from the recorded float32 vectors.

    ``stream`` [2 L + 1]: the embedding, then ``resid_mid`` and ``resid_post`` of each block;
    ``delta`` [2 L]: ``attn_out`` and ``mlp_out`` of each block; ``share`` [2 L]: ``delta`` divided
    by the norm of the stream that it meets, NaN where that is 0.
    """

    stream: Doubles
    delta: Doubles

    @property
    def share(self) -> Doubles:
        """Norm of each correction, as a share of the stream that it is added to (or replaces)."""
        before = self.stream[:-1]
        with np.errstate(invalid="ignore"):
            return np.divide(self.delta, before, out=np.full_like(before, np.nan), where=before > 0)


def norms_of(activations: Mapping[str, npt.NDArray[np.float32]]) -> Norms:
    """Return the norms of a trace's activations (``TraceResult.activations``)."""
    n_layer = sum(name.endswith(".attn_out") for name in activations)
    stream, delta = ["blocks.0.resid_pre"], []
    for i in range(n_layer):
        stream += [f"blocks.{i}.resid_mid", f"blocks.{i}.resid_post"]
        delta += [f"blocks.{i}.attn_out", f"blocks.{i}.mlp_out"]

    def lengths(names: list[str]) -> Doubles:
        # In float64: squares of very small or very large float32 values would vanish or overflow.
        vectors = np.stack([activations[name] for name in names]).astype(np.float64)
        return np.sqrt((vectors**2).sum(-1))

    return Norms(lengths(stream), lengths(delta))


def scale(*arrays: Doubles) -> dict[str, object]:
    """Return type and range of an axis that holds all values: logarithmic if they span a lot."""
    values = np.concatenate(arrays)
    values = values[np.isfinite(values)]
    positive = values[values > 0]
    if positive.size == 0:
        return {"type": "linear", "range": [0, 1]}
    low, high = float(positive.min()), float(positive.max())
    if high / low < WIDE:
        power = 10.0 ** math.floor(math.log10(high))
        top = next(m for m in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if m * power >= high) * power
        return {"type": "linear", "range": [0, top * 1.05]}
    return {
        "type": "log",
        "range": [math.floor(math.log10(low)) - 0.06, math.ceil(math.log10(high)) + 0.06],
    }


def decimals(value: float) -> int:
    """Return how many decimals a round number such as 0.02 needs."""
    return max(0, -math.floor(math.log10(value) + 1e-9)) if 0 < value < 1 else 0


def nice_ticks(span: dict[str, object], write: Callable[[float], str]) -> dict[str, object]:
    """Return ticks for an axis of ``scale``, at most seven: powers of ten, or even steps."""
    low, high = cast(list[float], span["range"])
    if span["type"] == "log":
        first, last = math.ceil(low), math.floor(high)
        values = [10.0**p for p in range(first, last + 1, max(1, math.ceil((last - first) / 6)))]
    else:
        power = 10.0 ** math.floor(math.log10(high))
        step = next(m for m in (0.2, 0.5, 1, 2, 5) if high / (m * power) <= 6) * power
        values = [i * step for i in range(int(high / step) + 1)]
    return {"tickvals": values, "ticktext": [write(v) for v in values]}


def norm_profile(norms: Norms, theme: Theme, voice: Voice, residual: bool = True) -> go.Figure:
    """Draw the stream's norm through depth above, each correction's share of it below.

    Parameters
    ----------
    norms
        ``norms_of(result.activations)``.
    theme, voice
        Colours and language.
    residual
        Whether the branch outputs are added; without it they replace the stream.
    """
    _ = voice.gettext
    base = figure(theme, voice, _("How long the vectors are"), height=520, subtitle=legend(voice))
    fig = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.13, figure=base)
    n_layer = len(norms.delta) // 2
    upper, lower = scale(norms.stream, norms.delta), scale(norms.share)
    fig.update_layout(margin_t=82)
    add_stream(fig, norms, theme, voice, upper)
    for start, name in ((0, _("attention")), (1, _("MLP"))):
        add_branch(fig, norms, theme, voice, (start, name), (upper, lower))
    fig.update_xaxes(**axis(theme, range=[-0.4, n_layer + 0.4]), **block_ticks(n_layer))
    fig.update_xaxes(row=2, title_text=_("after block (0: embedding)"), title_standoff=8)
    for row, span, write in (
        (1, upper, lambda v: voice.number(v, decimals(v)) if v else "0"),
        (2, lower, lambda v: voice.percent(v, decimals(100 * v))),
    ):
        fig.update_yaxes(**axis(theme, showgrid=True), **span, **nice_ticks(span, write), row=row)
    share_title = _("correction / stream") if residual else _("branch output / its input")
    for row, text in ((1, _("norm")), (2, share_title)):
        caption(fig, text, row, theme)
    mark_not_finite(fig, norms, theme, voice)
    return fig


def legend(voice: Voice) -> str:
    """Return what the marks mean, in one line."""
    _ = voice.gettext
    return _("━ stream   ● attention   □ MLP").replace("   ", " &nbsp; ")


def caption(fig: go.Figure, text: str, row: int, theme: Theme) -> None:
    """Write what a panel shows above its upper left corner: an axis title would cost width."""
    fig.add_annotation(
        text=text,
        xref="paper",
        yref="y domain" if row == 1 else "y2 domain",
        x=0,
        y=1,
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 13, "color": theme["mute"]},
    )


def drawable(values: Doubles, span: dict[str, object]) -> Doubles:
    """Return ``values`` for an axis: a zero on a logarithmic one lies on its lower edge."""
    if span["type"] != "log":
        return values
    return np.where(values == 0, 10.0 ** cast(list[float], span["range"])[0], values)


def add_stream(
    fig: go.Figure, norms: Norms, theme: Theme, voice: Voice, span: dict[str, object]
) -> None:
    """Draw the stream's own norm as a thick line."""
    _ = voice.gettext
    name = _("norm of the stream")
    fig.add_scatter(
        x=np.arange(len(norms.stream)) / 2,
        y=drawable(norms.stream, span),
        mode="lines+markers",
        line={"color": theme["acc2"], "width": 4},
        marker={"size": 5, "color": theme["acc2"]},
        text=[
            f"{depth_label(voice, s)}<br>{name}: <b>{size_of(voice, float(v))}</b>"
            for s, v in enumerate(norms.stream)
        ],
        hovertemplate="%{text}<extra></extra>",
        row=1,
        col=1,
    )


def add_branch(
    fig: go.Figure,
    norms: Norms,
    theme: Theme,
    voice: Voice,
    branch: tuple[int, str],
    spans: tuple[dict[str, object], dict[str, object]],
) -> None:
    """Draw one branch: its norm in the upper panel, its share of the stream in the lower."""
    _ = voice.gettext
    start, name = branch
    stations = np.arange(start, len(norms.delta), 2)
    small = len(stations) > 40
    colour = theme["acc"] if start == 0 else mix(theme["acc"], theme["ink"], 0.35)
    sentence = _("block {block}, {sublayer}<br>norm <b>{norm}</b>: {share} of the stream")
    hover = [
        sentence.format(
            block=voice.integer(int(s) // 2 + 1),
            sublayer=name,
            norm=size_of(voice, float(norms.delta[s])),
            share=share(voice, float(norms.share[s])),
        )
        for s in stations
    ]
    for row, values in ((1, norms.delta), (2, norms.share)):
        fig.add_scatter(
            x=(stations + 1) / 2,
            y=drawable(values[stations], spans[row - 1]),
            mode="lines+markers",
            line={"color": colour, "width": 1.2, "dash": "solid" if start == 0 else "dot"},
            marker={
                "symbol": "circle" if start == 0 else "square-open",
                "size": 6 if small else 9,
                "color": colour,
                "line": {"width": 2 if start else 0, "color": colour},
            },
            text=hover,
            hovertemplate="%{text}<extra></extra>",
            row=row,
            col=1,
        )


def mark_not_finite(fig: go.Figure, norms: Norms, theme: Theme, voice: Voice) -> None:
    """Say in the figure from where on there is no finite number, instead of leaving a gap."""
    _ = voice.gettext
    bad = np.flatnonzero(~np.isfinite(norms.stream))
    if bad.size == 0:
        return
    x = float(bad[0]) / 2
    fig.add_vline(x=x, line={"color": theme["neg"], "width": 1.5, "dash": "dot"})
    right = x > len(norms.delta) / 4
    fig.add_annotation(
        text=_("no finite number from here on"),
        x=x,
        xref="x",
        yref="y domain",
        y=0.5,
        xanchor="right" if right else "left",
        showarrow=False,
        font={"size": SMALL, "color": theme["neg"]},
        bgcolor=theme["bg"],
    )
