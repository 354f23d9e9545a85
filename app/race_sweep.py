"""Warmup and depth: the saved sweep as a heat map, its best losses, and what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from andrea import saved_race
from andrea.measures.gradients import Doubles
from andrea.measures.race_sweep import SweepResult
from app import layout, race_csv, race_frames, readings, tables, theme
from app import race_sweep_text as said
from app.figures import race_sweep as figures
from app.i18n import _, integer, ngettext, number
from app.layout import Download
from app.readings_race import STILL, arm_label, rate

MAKE = "python -m andrea race --sweep --save"


def show() -> None:
    """Show the sweep, or say how to make it."""
    result = saved_race.saved_sweep()
    if result is None:
        layout.notice(_("No sweep is saved here yet. This makes it, in about an hour:"))
        st.code(MAKE, language="bash")
        return
    request, p = result.request, result.provenance
    layout.notice(
        _(
            "Saved: {races} races of {steps} steps, width {width}, warmup over {warmup} steps, "
            "seeds {seeds}. Run on {date} on {machine}."
        ).format(
            races=integer(len(list(request.races()))),
            steps=integer(request.steps),
            width=integer(request.d_model),
            warmup=integer(request.warmup),
            seeds=", ".join(map(str, request.seeds)),
            date=p.date[:10],
            machine=p.device_name,
        )
    )
    left, right = st.columns([3, 2], gap="medium")
    with left:
        key = ("sweep", p.weights_sha256)
        (heat_map,) = race_frames.shared.get(key, lambda: (figure(result),))
        alt = _("Final held-out loss by learning rate and variant")
        race_frames.chart(heat_map, "sweep", alt)
    with right:
        layout.readings(said.sentences(result))
        st.caption(_("“Clearly”: by {still} nats or more.").format(still=number(STILL)))
    table(result)
    with st.expander(_("Where these numbers come from")):
        layout.provenance(replace(p, model=arm_label(request.arms[0])))


def means(result: SweepResult) -> Doubles:
    """Return [depths, variants, rates]: the mean over the seeds that did not break, or NaN."""
    sound = np.where(result.broken_step == 0, result.held_out_loss, np.nan)
    count = np.isfinite(sound).sum(axis=-1)
    total = np.where(np.isfinite(sound), sound, 0.0).sum(axis=-1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def figure(result: SweepResult) -> go.Figure:
    """Return the heat map."""
    request, mean = result.request, means(result)
    panels = [
        figures.Panel(
            ngettext("{n} block", "{n} blocks", depth).format(n=depth),
            mean[d],
            (result.broken_step[d] > 0).sum(axis=-1),
            [[_hover(result, d, a, r) for r in range(len(request.lrs))]
             for a in range(len(request.arms))],
        )
        for d, depth in enumerate(request.depths)
    ]  # fmt: skip
    return figures.heat_map(
        panels,
        [arm_label(arm) for arm in request.arms],
        [rate(lr) for lr in request.lrs],
        len(request.seeds),
        result.unigram,
        theme.current(),
        readings.voice(),
    )


def _hover(result: SweepResult, d: int, a: int, r: int) -> str:
    """Write every seed's loss, or the step at which it broke."""
    return " · ".join(
        number(float(loss)) if not step else _("broke at step {step}").format(step=integer(step))
        for loss, step in zip(
            result.held_out_loss[d, a, r], result.broken_step[d, a, r].tolist(), strict=True
        )
    )


def table(result: SweepResult) -> None:
    """Show the best loss of every variant at every depth."""
    request = result.request
    lines = []
    for d, depth in enumerate(request.depths):
        found = [said.best(result, d, a) for a in range(len(request.arms))]
        cells = [_("always broke") if one is None else one.written() for one in found]
        lines.append(tables.Line([integer(depth), *cells]))
    name = _("Best held-out loss over the learning rates")
    layout.label(_("{name}: mean (lowest – highest seed) at rate").format(name=name))
    tables.table(name, [_("Blocks"), *map(arm_label, request.arms)], lines)


def downloads() -> list[Download]:
    """Return the sweep's file, if there is a sweep."""
    result = saved_race.saved_sweep()
    if result is None:
        return []
    return [Download(_("The sweep (CSV)"), lambda: race_csv.sweep_table(result), "sweep.csv")]
