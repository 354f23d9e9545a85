"""What GELU and ReLU shows: its controls, its figures with their sentences."""

from __future__ import annotations

from typing import cast

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from andrea.config import Activation
from andrea.measures.activation import (
    EDGES,
    HALF,
    ActivationResult,
    PreActivationsResult,
    SwapResult,
)
from andrea.measures.activation_error import Approximation
from andrea.requests import ModelRequest
from andrea.requests_activation import ActivationRequest, PreActivationsRequest, SwapRequest
from app import compute, layout, readings, readings_activation, state, tables, theme
from app.controls import MAX_SEED
from app.figures import activation as figures
from app.figures import activation_blocks
from app.figures.base import shown
from app.i18n import _, number
from app.tables import Line

DOTS = 6  # units of the chosen token at either end that are drawn
FEW = 2  # passages a fresh model reads: it can be large


def survey(model: ModelRequest, seed: int = 0) -> ActivationResult:
    """Return what the activations of every block read on the passages."""
    n = ActivationRequest().n_passages if model.trained else FEW
    request = ActivationRequest("", compute.plain(model), seed, n)
    with st.spinner(_("Measuring on the passages: a few seconds")):
        return cast(ActivationResult, compute.blocks(request))


def read(text: str, model: ModelRequest, layer: int, position: int) -> PreActivationsResult:
    """Return what one block's activation reads on the text."""
    request = PreActivationsRequest(text, compute.plain(model), layer, position)
    return cast(PreActivationsResult, compute.blocks(request))


def swapped(act_fn: Activation) -> SwapResult:
    """Return the trained model's loss with another activation."""
    with st.spinner(_("Measuring on the passages: a few seconds")):
        request = SwapRequest(act_fn, compute.plain(ModelRequest()))
        return cast(SwapResult, compute.blocks(request))


def approximation(near: Approximation) -> None:
    """Show the gap of the tanh form, and what each number format makes of both."""
    left, right = st.columns([3, 2], gap="medium")
    with left:
        figure = figures.gap(near, theme.current(), readings.voice())
        layout.chart(figure, "gap", _("Difference of the tanh form and exact GELU over x"))
    with right:
        lines = [
            Line((f.name, error(f.tanh), error(f.exact), readings_activation.part(
                f.outweighed))) for f in near.formats
        ]  # fmt: skip
        head = (_("format"), _("tanh form"), _("exact form"), _("rounding > gap"))
        tables.table(_("Largest error in each number format"), head, lines, numbers=(1, 2, 3))
        st.caption(
            _(
                "Largest error from −6 to 6 against exact GELU in float64 at the same numbers; "
                "last column: at how many of the numbers the exact form's rounding is larger than "
                "the gap between the forms."
            )
        )
    layout.reading(readings_activation.approximation_reading(near))


def error(x: float) -> str:
    """Write an error: six decimals, a power of ten where they would leave a digit or two."""
    return number(x, 6) if x >= 1e-5 else number(x, 4)


def choice(key: str, label: str, names: dict[str, str]) -> str:
    """Show named values, the first one the default; the address holds the value, not its name."""
    chosen = state.get(key, next(iter(names)), allowed=names.__contains__)
    widget = f"choose.{key}"
    state.assign(widget, chosen)
    st.segmented_control(
        label, list(names), format_func=names.__getitem__, required=True, key=widget,
        on_change=lambda: state.put(key, state.peek(widget)),
    )  # fmt: skip
    return chosen


def place(model: ModelRequest) -> tuple[int, str]:
    """Show which block and whose numbers; return the layer (0 is the first) and the choice."""
    most = int(model.n_layer or compute.base_config(model).n_layer)
    names = {"passages": _("the passages"), "text": _("the sentence"), "token": _("the token")}
    with st.container(horizontal=True, gap="medium", vertical_alignment="top"):
        block = 1
        if most > 1:
            block = st.slider(_("Block"), 1, most, 1, key="layer", bind="query-params", width=260)
            block = state.checked("layer", int(block))
        over = choice("over", _("Histogram of"), names)
    return min(block, most) - 1, over


def largest(result: PreActivationsResult) -> np.ndarray:
    """Return the units that read most above zero at the token, then those most below, 6 each."""
    order = np.argsort(-result.pre[result.position], kind="stable")
    return np.concatenate([order[:DOTS], order[::-1][:DOTS]])


def values_of(result: PreActivationsResult, over: str) -> np.ndarray:
    """Return the pre-activations of the token, or of all the text's tokens without BOS."""
    rows = result.pre[result.position] if over == "token" else result.pre[1:]
    return rows.astype(np.float64).ravel()


def inside_figure(result: PreActivationsResult, every: ActivationResult, over: str) -> go.Figure:
    """Return the histogram under the curve."""
    layer, units = result.request.layer, largest(result)
    counts = every.layers.counts[layer]
    if over != "passages":
        counts = np.histogram(values_of(result, over), EDGES)[0]
    own = (result.pre[result.position][units], result.post[result.position][units])
    title = _("Block {block}: what the activation reads").format(block=layer + 1)
    subtitle = _("orange below zero, blue above; dots: one token")
    dots = figures.Dots([int(u) + 1 for u in units], *own)
    return figures.inside(counts, EDGES, dots, theme.current(), readings.voice(), title, subtitle)


def inside(result: PreActivationsResult, every: ActivationResult, over: str) -> None:
    """Show the histogram under the curve, the chosen token's units on it, and what is cut."""
    layer = result.request.layer
    layout.chart(
        inside_figure(result, every, over),
        "inside",
        _("Histogram of the pre-activations under the curve; {token} as dots").format(
            token=shown(result.labels[result.position])
        ),
    )
    first = readings_activation.counted_reading(every.layers, layer, HALF)
    if over != "passages":
        first = readings_activation.histogram_reading(values_of(result, over), HALF)
    layout.readings([first, readings_activation.dots_reading(result, largest(result))])
    layout.provenance(result.provenance)


def blocks(result: ActivationResult, layer: int) -> None:
    """Show every block, beside fresh weights where the model is trained."""
    figure = activation_blocks.by_block(result, theme.current(), readings.voice())
    layout.chart(figure, "blocks", _("Negative share, cut part and silent units by block"))
    layout.reading(readings_activation.cut_reading(result.layers, layer))
    layout.provenance(result.provenance)


def fresh_seed(model: ModelRequest) -> int:
    """Return the seed of the fresh weights; beside trained ones it has a control of its own."""
    if not model.trained:
        return model.seed
    seed = st.number_input(
        _("Seed of the fresh weights"), 0, MAX_SEED, 0, key="fresh", bind="query-params", width=215
    )
    return int(state.checked("fresh", int(seed)))


def act_control() -> Activation:
    """Show what is put in place of the model's activation; return it."""
    names = {"relu": "ReLU", "gelu": _("exact GELU")}
    return cast(Activation, choice("act", _("Put in its place"), names))


def swap(result: SwapResult) -> None:
    """Show what the swap costs in each block and in all."""
    title = readings_activation.swap_title(result)
    figure = activation_blocks.swap(result, title, theme.current(), readings.voice())
    layout.chart(figure, "swap", _("What the other activation adds to the loss, by block"))
    layout.reading(readings_activation.swap_reading(result))
    st.caption(readings_activation.swap_notice(result))
    layout.provenance(result.provenance)
