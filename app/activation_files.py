"""What one takes along from GELU and ReLU: the link, the files, the terminal commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from andrea.config import Activation
from andrea.data import LANGUAGES
from andrea.measures.activation import EDGES, ActivationResult, PreActivationsResult, SwapResult
from andrea.measures.activation_error import Approximation, approximation
from andrea.measures.race import RaceResult
from andrea.requests import TraceRequest
from andrea.requests_activation import ActivationRequest
from app import activation_race, activation_view, controls, export, layout, readings, state, theme
from app.components import point
from app.figures import activation as figures
from app.i18n import _
from app.layout import Download

HEADER = "quantity,group,block,unit,value"


def link(read: PreActivationsResult, over: str, act_fn: str, seed: int) -> str:
    """Return the page's address with every value written out."""
    return state.share_link(
        text=read.request.text, pos=read.position, **controls.written(read.request.model),
        layer=read.request.layer + 1, over=over, act=act_fn, fresh=seed,
        x=point.START,  # the point's own place, where it has moved, is in the address
    )  # fmt: skip


def command(
    result: PreActivationsResult, act_fn: Activation, n_passages: int, seed: int = 0
) -> str:
    """Return the terminal command that gives the same numbers.

    ``seed`` is that of the fresh weights beside trained ones; a fresh model has its own.
    """
    request = result.request
    more = f" --seed {seed}" if request.model.trained and seed else ""
    more += f" --layer {request.layer + 1}" if request.layer else ""
    more += f" --act {act_fn}" if act_fn != "relu" else ""
    more += f" --passages {n_passages}" if n_passages != ActivationRequest().n_passages else ""
    # The options of the model and the position are those of a trace.
    trace = TraceRequest(request.text, request.model, result.position)
    return export.command(trace, more).replace("andrea trace", "andrea activation", 1)


def swap_command(swap: SwapResult) -> str:
    """Return the terminal command that gives the loss with another activation."""
    act_fn = swap.request.act_fn
    return "python -m andrea activation" + f" --act {act_fn}" * (act_fn != "relu") + " --json"


def rows(read: PreActivationsResult, every: ActivationResult, swap: SwapResult) -> Iterator[str]:
    """Yield a row a value; blocks and units are counted from 1."""
    block = read.request.layer + 1
    for name in ("pre", "post"):
        for unit, x in enumerate(getattr(read, name)[read.position], 1):
            yield f"{name},{export.cell(read.labels[read.position])},{block},{unit},{x}"
    for group, layers in (("model", every.layers), ("fresh", every.init)):
        if layers is None:
            continue
        for name in ("negative", "cut_share", "cut_size", "silent"):
            for k, x in enumerate(getattr(layers, name), 1):
                yield f"{name},{group},{k},,{export.value(x)}"
        for (k, bin_), x in np.ndenumerate(layers.counts):
            yield f"histogram from {EDGES[bin_]:.1f},{group},{k + 1},,{x}"
    for g, language in enumerate(LANGUAGES):
        yield f"loss,{language},,,{export.value(swap.base_loss[g])}"
        yield f"loss change {swap.request.act_fn},{language},all,,{swap.change_all[g]}"
        for k, x in enumerate(swap.change[g], 1):
            yield f"loss change {swap.request.act_fn},{language},{k},,{export.value(x)}"
    yield from approximation_rows(approximation())


def approximation_rows(near: Approximation) -> Iterator[str]:
    """Yield the gap of the tanh form at every x, and the errors in each number format."""
    for x, gap in zip(near.x, near.difference, strict=True):
        yield f"tanh form minus exact GELU,x = {x:.3f},,,{export.value(gap)}"
    for f in near.formats:
        yield f"largest error of the tanh form,{f.name},,,{f.tanh}"
        yield f"largest error of the exact form,{f.name},,,{f.exact}"
        yield f"share of numbers where rounding outweighs the gap,{f.name},,,{f.outweighed}"


def table(
    read: PreActivationsResult, every: ActivationResult, swap: SwapResult, said: str
) -> bytes:
    """Return all numbers as CSV, with command and weights in its head."""
    p = read.provenance
    head = [
        f"# command: {export.one_line(said)}",
        f"# command of the loss: {swap_command(swap)}",
        f"# text: {export.one_line(read.request.text)}",
        f"# weights_sha256: {p.weights_sha256}; of the loss: {swap.provenance.weights_sha256}",
        f"# {p.device_name}, {p.threads} threads, {p.date}",
        HEADER,
    ]
    return ("\n".join([*head, *rows(read, every, swap)]) + "\n").encode("utf-8", "backslashreplace")


def downloads(
    read: PreActivationsResult, every: ActivationResult, over: str, swap: SwapResult, said: str
) -> list[Download]:
    """Return the files that this page offers; each is made when it is asked for."""

    def page(figure: go.Figure, title: str) -> bytes:
        return export.figure_html(figure, title, read.provenance, said)

    return [
        Download(_("All numbers (CSV)"), lambda: table(read, every, swap, said), "activation.csv"),
        Download(
            _("The curves (HTML)"),
            lambda: page(figures.gelu_curves(theme.current(), readings.voice()),
                         _("GELU and ReLU")),
            "gelu.html",
            "text/html",
        ),
        Download(
            _("The histogram (HTML)"),
            lambda: page(activation_view.inside_figure(read, every, over),
                         _("A model's numbers on the curve")),
            "histogram.html",
            "text/html",
        ),
    ]  # fmt: skip


def take_away(
    read: PreActivationsResult,
    every: ActivationResult,
    over: str,
    swap: SwapResult,
    races: Sequence[RaceResult],
) -> None:
    """Offer the link, the files and the command of everything that the page shows."""
    request, act_fn = read.request, swap.request.act_fn
    seed = every.request.init_seed if request.model.trained else request.model.seed
    said = command(read, act_fn, every.request.n_passages, seed)
    layout.take_away(
        link(read, over, act_fn, seed),
        said,
        downloads(read, every, over, swap, said) + activation_race.downloads(races),
    )
    if read.request.model != swap.request.model:
        layout.label(_("The loss with another activation, in the trained model"))
        st.code(swap_command(swap), language="bash", wrap_lines=True)
