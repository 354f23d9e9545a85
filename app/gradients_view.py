"""The parts of Residuals and gradients that are more than one call: figures, sweep, downloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from andrea import lab
from andrea.cli_gradients import command
from andrea.measures.gradients import Doubles, GradientsResult, slope
from app import export, lab_csv, lab_run, layout, readings, readings_gradients, state, theme
from app.figures import gradient_sweep, gradients
from app.figures.gradients import Line
from app.i18n import _
from app.layout import Download
from app.readings_gradients import Results

KINDS = ("attn.W_Q", "attn.W_K", "attn.W_V", "attn.W_O", "mlp.W_1", "mlp.W_2")
# Xiong et al. 2020, theorem 1: the gradient of the last block's W_2 goes with depth as this power.
THEORY = {"pre": -0.5, "post": 0.0}


@dataclass(frozen=True)
class Panel:
    """A figure with its name for a screen reader, its readings and perhaps a warning."""

    key: str
    figure: go.Figure
    alt: str
    sentences: list[str]
    warning: str | None = None


def line_of(arm: str, values: Doubles, first: int) -> Line:
    """Return what a figure draws of one arm; ``first`` is the place of the first value."""
    norm, residual = lab.ARMS.get(arm, ("pre", True))
    kind = lab.TRAINED_ARM if arm == lab.TRAINED_ARM else norm
    places = np.arange(first, first + values.shape[1], dtype=np.float64)
    return Line(readings_gradients.arm_label(arm), kind, residual, places, values)


def stream_figure(results: Results) -> go.Figure:
    """Return the gradient of the stream at every boundary."""
    return gradients.profile(
        [line_of(arm, r.stream_grad_norms, 0) for arm, r in results.items()],
        theme.current(),
        readings.voice(),
        _("The gradient on its way back"),
        _("‖dL/dx‖ of the stream; read it from right to left"),
        _("after block (0: embeddings)"),
    )


def cosine_figure(results: Results) -> go.Figure:
    """Return the mean cosine between positions at every boundary."""
    return gradients.cosines(
        [line_of(arm, r.token_cosine, 0) for arm, r in results.items()],
        theme.current(),
        readings.voice(),
        _("Do the tokens stay apart?"),
        _("mean cosine between two positions; 1: all the same"),
        _("after block (0: embeddings)"),
    )


def weights_figure(results: Results, kind: str) -> go.Figure:
    """Return the gradient of one kind of weight in every block."""
    return gradients.profile(
        [line_of(arm, r.weight_grad_norms[kind], 1) for arm, r in results.items()],
        theme.current(),
        readings.voice(),
        _("What the weights get: {kind}").format(kind=kind),
        _("‖dL/dW‖, block by block"),
        _("block"),
    )


def norm_figure(results: Results) -> go.Figure:
    """Return the stream's length on its way forward."""
    return gradients.profile(
        [line_of(arm, r.stream_norms, 0) for arm, r in results.items()],
        theme.current(),
        readings.voice(),
        _("The stream on its way forward"),
        _("mean length ‖x‖ of a position's vector"),
        _("after block (0: embeddings)"),
    )


def pair(*panels: Panel, suffix: str) -> None:
    """Show figures side by side, each with its readings and, where it misleads, a warning."""
    for column, panel in zip(st.columns(len(panels), gap="medium"), panels, strict=True):
        with column:
            layout.chart(panel.figure, f"{panel.key}.{suffix}", panel.alt)
            if panel.warning:
                layout.notice(panel.warning)
            layout.readings(panel.sentences)


def show(guide: str, chosen: lab.LabSettings) -> list[GradientsResult]:
    """Measure what the guided setting is about and show it; return the results that there are."""
    if guide == lab.SWEEP_GUIDE:
        return list(sweep(chosen).values())
    return list(profiles(chosen).values())


def profiles(chosen: lab.LabSettings) -> Results:
    """Measure the arms and show their four profiles as they come; return what there is."""
    status, upper = st.container(), st.empty()
    kind = st.segmented_control(
        _("Weights"), KINDS, default="mlp.W_2", required=True, key="kind", bind="query-params"
    )
    kind, lower = state.checked("kind", kind or "mlp.W_2"), st.empty()
    say = readings_gradients

    def draw(found: Results, suffix: str) -> None:
        ordered = {arm: found[arm] for arm in lab.ARM_NAMES if arm in found}

        def each(sentence: Callable[[str, GradientsResult], str]) -> list[str]:
            return [sentence(arm, result) for arm, result in ordered.items()]

        def weight(arm: str, result: GradientsResult) -> str:
            return say.weights_sentence(arm, result, kind)

        with upper.container():
            pair(
                Panel(
                    "stream",
                    stream_figure(ordered),
                    _("Gradient of the stream"),
                    each(say.gradient_sentence),
                    say.size_warning(ordered),
                ),
                Panel(
                    "cosine",
                    cosine_figure(ordered),
                    _("Mean cosine between positions"),
                    each(say.cosine_sentence),
                ),
                suffix=suffix,
            )
        with lower.container():
            pair(
                Panel(
                    "weights",
                    weights_figure(ordered, kind),
                    _("Gradient of the weights"),
                    each(weight),
                    say.weights_warning(ordered, kind),
                ),
                Panel(
                    "norms", norm_figure(ordered), _("Norm of the stream"), each(say.norm_sentence)
                ),
                suffix=suffix,
            )

    with status:
        return lab_run.gather({arm: chosen.request(arm) for arm in chosen.arms}, chosen, draw)


def sweep(chosen: lab.LabSettings) -> dict[tuple[str, int], GradientsResult]:
    """Measure the arms at the sweep's depths; show the last W_2 gradient against depth."""
    jobs = {
        (arm, depth): chosen.at_depth(depth).request(arm)
        for arm in chosen.sweep_arms
        for depth in lab.SWEEP_DEPTHS
    }
    status, place = st.container(), st.empty()

    def draw(found: dict[tuple[str, int], GradientsResult], suffix: str) -> None:
        sweeps = {arm: swept(arm, found) for arm in chosen.sweep_arms}
        there = {arm: each for arm, each in sweeps.items() if each is not None}
        if not there:
            return
        with place.container():
            figure = gradient_sweep.sweep(list(there.values()), theme.current(), readings.voice())
            layout.chart(figure, f"sweep.{suffix}", _("Last W₂ gradient against depth"))
            layout.readings(
                [
                    readings_gradients.sweep_sentence(arm, each.exponent, each.theory)
                    for arm, each in there.items()
                ]
            )

    with status:
        return lab_run.gather(jobs, ("sweep", chosen), draw)


def swept(
    arm: str, found: Mapping[tuple[str, int], GradientsResult]
) -> gradient_sweep.Sweep | None:
    """Return one arm's sweep, if it is complete and every value can be drawn."""
    results = [found.get((arm, depth)) for depth in lab.SWEEP_DEPTHS]
    rows = [r.weight_grad_norms["mlp.W_2"][:, -1] for r in results if r is not None]
    depths = np.array(lab.SWEEP_DEPTHS, dtype=np.float64)
    values = np.array(rows).T
    if len(rows) < len(depths) or not (np.isfinite(values) & (values >= gradients.TINY)).all():
        return None
    norm, residual = lab.ARMS[arm]
    line = Line(readings_gradients.arm_label(arm), norm, residual, depths, values)
    theory = THEORY.get(norm) if residual else None
    return gradient_sweep.Sweep(line, slope(depths, values.mean(axis=0)), theory)


def commands(chosen: lab.LabSettings, guide: str) -> str:
    """Return the terminal commands that repeat what is shown, one an arm (and a depth)."""
    if guide == lab.SWEEP_GUIDE:
        return "\n".join(
            command(chosen.at_depth(depth).request(arm))
            for arm in chosen.sweep_arms
            for depth in lab.SWEEP_DEPTHS
        )
    return "\n".join(command(chosen.request(arm)) for arm in chosen.arms)


def provenance(results: Sequence[GradientsResult]) -> None:
    """Show where the numbers come from, one line a result."""
    with st.expander(_("Where these numbers come from")):
        for result in results:
            layout.label(readings_gradients.arm_label(lab.arm_of(result.request)))
            layout.provenance(result.provenance)


def downloads(results: Sequence[GradientsResult], guide: str) -> list[Download]:
    """Return the files to take along: all numbers, and the figure of the gradient."""
    files = [Download(_("All numbers (CSV)"), lambda: lab_csv.table(results), "gradients.csv")]
    if results and guide != lab.SWEEP_GUIDE:
        files.append(
            Download(_("The gradient (HTML)"), lambda: page(results), "gradients.html", "text/html")
        )
    return files


def page(results: Sequence[GradientsResult]) -> bytes:
    """Return the gradient's figure as one HTML file."""
    arms = {lab.arm_of(result.request): result for result in results}
    return export.figure_html(
        stream_figure(arms),
        _("The gradient on its way back"),
        results[0].provenance,
        "\n".join(command(result.request) for result in results),
    )
