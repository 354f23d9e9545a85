"""How a race is shown: its two figures, its sentences, its table, its files."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from andrea import saved_race
from andrea.cli_race import command
from andrea.measures.gradients import Doubles
from andrea.measures.race import RaceProgress, RaceResult
from andrea.requests_race import RACE_ARMS, RaceRequest
from app import export, layout, race_csv, race_frames, readings, tables, theme
from app import readings_race as say
from app.figures import race as figures
from app.figures.race import Curve, Level
from app.i18n import _, integer, number
from app.layout import Download
from app.race_drawing import Drawing, drawing_of


def curves(drawing: Drawing, values: Doubles) -> list[Curve]:
    """Return what a figure draws of ``values`` [seeds, variants, steps]."""
    found = []
    for k, arm in enumerate(drawing.request.arms):
        variant = RACE_ARMS[arm]
        look = "relu" if variant.act_fn == "relu" else variant.norm
        steps = [0 if (b := seed[k]) is None else b.step for seed in drawing.broken]
        label = say.arm_label(arm)
        found.append(Curve(label, look, variant.residual, variant.warmup, values[:, k], steps))
    return found


def loss_figure(drawing: Drawing) -> go.Figure:
    """Return the loss against the step, beside what counting letters gives."""
    return figures.losses(
        curves(drawing, drawing.loss),
        [Level(_("letters"), drawing.unigram), Level(_("pairs"), drawing.bigram)],
        drawing.request.steps,
        theme.current(),
        readings.voice(),
    )


def gradient_figure(drawing: Drawing) -> go.Figure:
    """Return the norm of all gradients against the step."""
    return figures.gradients(
        curves(drawing, drawing.grad_norm),
        drawing.request.steps,
        theme.current(),
        readings.voice(),
    )


def charts(drawing: Drawing, key: str, what: Hashable = None, seconds: float | None = None) -> None:
    """Show both figures side by side.

    ``what`` names the race where others look at the same figures: they are drawn once for all, and
    anew after ``seconds``.
    """

    def draw() -> tuple[go.Figure, ...]:
        return loss_figure(drawing), gradient_figure(drawing)

    loss, gradient = draw() if what is None else race_frames.shared.get(what, draw, seconds)
    left, right = st.columns(2, gap="medium")
    with left:
        race_frames.chart(loss, f"{key}.loss", _("Loss against step"))
    with right:
        race_frames.chart(gradient, f"{key}.gradient", _("Gradient against step"))


def arms(request: RaceRequest) -> range:
    """Return the variants' places."""
    return range(len(request.arms))


def show(results: Sequence[RaceResult], key: str) -> None:
    """Show a race that was run to its end, perhaps with several seeds: all that it says."""
    drawing = drawing_of(results)
    charts(drawing, key, tuple(result.weights_sha256 for result in results))
    if len(results) > 1:
        st.caption(_("Line: the median of the seeds. Band: from the lowest to the highest."))
    layout.readings([say.arm_sentence(drawing, k) for k in arms(drawing.request)])
    st.caption(say.levels_sentence(drawing.unigram, drawing.bigram))
    table(drawing)
    provenance(results)


def table(drawing: Drawing) -> None:
    """Show the final losses by variant, with the seeds' spread, and what each took."""
    lines = []
    for k in arms(drawing.request):
        ends, breaks = drawing.ends(k), drawing.breaks(k)
        cells = [
            say.arm_label(drawing.request.arms[k]),
            say.loss_text(float(ends.mean())),
            *([] if len(drawing.held_out) < 2 else [_range(ends)]),
            number(float(drawing.seconds[:, k].mean()), 1),
            ", ".join(integer(b.step) for b in breaks) or "–",
        ]
        lines.append(tables.Line(cells))
    spread = [] if len(drawing.held_out) < 2 else [_("Over the seeds")]
    layout.label(_("Final held-out loss"))
    head = [
        _("Variant"),
        _("Mean") if spread else _("Loss"),
        *spread,
        _("Seconds"),
        _("Broke at step"),
    ]
    numbers = range(1, len(head))
    tables.table(_("How the race ended"), head, lines, list(numbers))


def _range(ends: Doubles) -> str:
    return f"{say.loss_text(float(ends.min()))} – {say.loss_text(float(ends.max()))}"


def provenance(results: Sequence[RaceResult]) -> None:
    """Show where the numbers come from, one line a seed."""
    with st.expander(_("Where these numbers come from")):
        for result in results:
            first = say.arm_label(result.request.arms[0])
            layout.provenance(replace(result.provenance, model=first))


# -- what is saved ---------------------------------------------------------------------------------


def seeds_of(request: RaceRequest) -> list[RaceResult]:
    """Return all saved races that differ from ``request`` in nothing but the seed."""
    return [
        result
        for saved, result in saved_race.races().items()
        if replace(saved, seed=request.seed) == request
    ]


def saved_notice(results: Sequence[RaceResult]) -> None:
    """Label saved races with date, machine and settings."""
    p, request = results[0].provenance, results[0].request
    layout.notice(
        _("Saved: {settings} · seeds {seeds}. Run on {date} on {machine}.").format(
            settings=say.settings_line(request, with_seed=False),
            seeds=", ".join(str(r.request.seed) for r in results),
            date=p.date[:10],
            machine=p.device_name,
        )
    )


def default() -> list[RaceResult]:
    """Return the saved races that the page opens with (none if the file is not there)."""
    return seeds_of(RaceRequest())


def opening() -> None:
    """Show the saved default race, or how to make it."""
    results = default()
    if not results:
        layout.notice(_("No race is saved here yet. This makes it, in some minutes:"))
        st.code("python -m andrea race --save", language="bash")
        return
    saved_notice(results)
    show(results, "saved")


# -- what one takes along --------------------------------------------------------------------------


def commands(wanted: RaceRequest) -> str:
    """Return the terminal commands that repeat the race asked for, and the sweep."""
    return "\n".join([*([command(wanted)] if wanted.arms else []), race_csv.SWEEP_COMMAND])


def downloads(own: RaceResult | RaceProgress | None) -> list[Download]:
    """Return the files to take along: all curves as CSV, and the figure of the loss."""
    saved = default()
    results = saved + ([own] if isinstance(own, RaceResult) else [])
    stopped = own if isinstance(own, RaceProgress) else None
    files = []
    if results or stopped:
        files.append(
            Download(_("All curves (CSV)"), lambda: race_csv.table(results, stopped), "race.csv")
        )
    shown = [own] if isinstance(own, RaceResult) else saved
    if shown:
        files.append(Download(_("The loss (HTML)"), lambda: page(shown), "race.html", "text/html"))
    return files


def page(results: Sequence[RaceResult]) -> bytes:
    """Return the loss' figure as one HTML file."""
    return export.figure_html(
        loss_figure(drawing_of(results)),
        _("The loss, step by step"),
        replace(results[0].provenance, model=say.settings_line(results[0].request, False)),
        "\n".join(command(result.request) for result in results),
    )
