"""Normalisation, after training: the stream's length in the small models of the saved race."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from andrea.measures.race import RaceResult
from andrea.requests_race import RACE_ARMS
from app import export, layout, readings, readings_norm_race, saved_races, tables, theme
from app.figures import stream_training
from app.figures.stream_training import Trained
from app.i18n import _, integer, number
from app.layout import Download
from app.readings_norm import size
from app.readings_norm_race import lengths
from app.readings_race import arm_label, verdict
from app.saved_races import ranged
from app.tables import Line

BEFORE, AFTER = 0, 1


def lines(races: Sequence[RaceResult], when: int) -> list[Trained]:
    """Return what the figure draws, ``when``: before the first step or after the last."""
    made = []
    for arm in races[0].request.arms:
        variant, name = RACE_ARMS[arm], arm_label(arm)
        if when == BEFORE and arm == "post-warmup":
            continue  # the warmup has not begun: the same weights as without
        if when == BEFORE and arm == "post":
            name = _("post-norm, with and without warmup")
        values = lengths(races, arm)[:, when]
        places = np.arange(values.shape[1], dtype=np.float64)
        made.append(Trained(name, variant.norm, variant.residual, places, values, variant.warmup))
    return made


def figure(races: Sequence[RaceResult], when: int) -> go.Figure:
    """Return the lengths through depth, before the first step or after the last."""
    titles = (
        _("Before the first step"),
        _("After {n} steps").format(n=integer(races[0].request.steps)),
    )
    subtitle = _("mean length ‖x‖; band: all the seeds")
    place = _("after block (0: embeddings)")
    drawn, beside = lines(races, when), lines(races, 1 - when)
    voice = readings.voice()
    return stream_training.streams(
        drawn, beside, theme.current(), voice, titles[when], subtitle, place
    )


def show(races: Sequence[RaceResult]) -> None:
    """Show the saved race: what it is, both figures, the table, what the numbers say."""
    if not races:
        saved_races.missing()
        return
    first = races[0].request
    st.write(
        _(
            "The lines above are of weights as they are drawn at the start. These are from the "
            "race: small models of {n} blocks × {width} that read the shipped text byte by byte, "
            "trained for {steps} steps from the same weights on the same batches."
        ).format(n=integer(first.n_layer), width=integer(first.d_model), steps=integer(first.steps))
    )
    saved_races.label(races)
    for column, when in zip(st.columns(2, gap="medium"), (BEFORE, AFTER), strict=True):
        with column:
            title = (_("Length of the stream before training"),
                     _("Length of the stream after training"))  # fmt: skip
            layout.chart(figure(races, when), f"trained.{when}", title[when])
    table(races)
    layout.readings(
        [readings_norm_race.told(arm, races) for arm in first.arms]
        + [readings_norm_race.learned(races)]
    )
    saved_races.way(_("Run the race yourself"))


def table(races: Sequence[RaceResult]) -> None:
    """Show each variant's stream at three depths, its held-out loss, and whether it has learned."""
    made = []
    for arm in races[0].request.arms:
        ends = lengths(races, arm)[:, :, [0, 1, -1]].mean(axis=0)
        written = [" → ".join(size(float(x)) for x in ends[when]) for when in (BEFORE, AFTER)]
        loss = saved_races.held_out(races, arm)[:, AFTER]
        learned = verdict(float(loss.mean()), races[0].unigram, races[0].bigram)
        made.append(Line((arm_label(arm), *written, ranged(loss), learned)))
    made.append(Line((_("letters' frequencies"), "", "", number(races[0].unigram), "")))
    last = integer(races[0].request.n_layer)
    head = (
        _("variant"),
        _("before: embedding → block 1 → {n}").format(n=last),
        _("after: embedding → block 1 → {n}").format(n=last),
        _("held-out loss after"),
        _("what it has learned"),
    )
    tables.table(_("The stream and the loss of each variant"), head, made, (1, 2, 3), wide=4)


def csv(races: Sequence[RaceResult]) -> bytes:
    """Return every length as CSV, a row a number, and the held-out losses beside it."""
    rows = saved_races.head(races, "variant,seed,when,block,stream_norm,held_out_loss")
    for race in races:
        for a, arm in enumerate(race.request.arms):
            for when, name in enumerate(("before", "after")):
                loss = export.value(race.held_out_loss[a, when])
                rows += [
                    f"{arm},{race.request.seed},{name},{block},{export.value(x)},{loss}"
                    for block, x in enumerate(race.stream_norms[a, when])
                ]
    return ("\n".join(rows) + "\n").encode("utf-8")


def downloads(races: Sequence[RaceResult]) -> list[Download]:
    """Return the file of the saved race, if there is one."""
    if not races:
        return []
    name = _("The stream after training (CSV)")
    return [Download(name, lambda: csv(races), "stream-training.csv")]
