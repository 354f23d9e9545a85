"""GELU and ReLU, the race: equal small models that differ in the activation alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from andrea import cli_race, saved_race
from andrea.measures.race import RaceResult
from andrea.measures.race_pairs import Pairs, pairs
from app import export, layout, race_csv, race_view, readings, saved_races, tables, theme
from app import readings_activation_race as say
from app.figures import race as figures
from app.figures import race_pairs
from app.figures.race import Curve, Level
from app.i18n import _, integer, number, signed
from app.layout import Download
from app.tables import Line

ARMS = {"pre": "GELU", "relu": "ReLU"}  # the race's names of the two


def results() -> list[RaceResult]:
    """Return the saved races, a result a seed; none if the file is missing."""
    return race_view.seeds_of(saved_race.ACTIVATIONS)


def paired(races: Sequence[RaceResult]) -> Pairs:
    """Return GELU's and ReLU's held-out losses, seed by seed."""
    return pairs(races, *ARMS)


def loss_figure(races: Sequence[RaceResult]) -> go.Figure:
    """Return both losses against the step: the seeds' median, and their spread as a band."""
    curves = []
    for arm, label in ARMS.items():
        k = races[0].request.arms.index(arm)
        broken = [b.step if (b := race.broken[k]) else 0 for race in races]
        curves.append(Curve(label, arm, True, False, np.stack([r.loss[k] for r in races]), broken))
    levels = [Level(_("letters"), races[0].unigram), Level(_("pairs"), races[0].bigram)]
    return figures.losses(curves, levels, races[0].request.steps, theme.current(), readings.voice())


def pair_figure(found: Pairs) -> go.Figure:
    """Return what each seed's pair ended with."""
    return race_pairs.pair_figure(
        found,
        [*ARMS.values()],
        theme.current(),
        readings.voice(),
        _("Where each pair ended"),
        _("same seed: same matrices at the start, same batches"),
        _("held-out loss after the last step, nats a byte"),
    )


def show(races: Sequence[RaceResult]) -> None:
    """Show the saved races: what they are, both figures, the table, what they can show."""
    if len(races) < 2:
        saved_races.missing()
        return
    st.write(say.intro(races[0]))
    saved_races.label(races)
    found = paired(races)
    left, right = st.columns(2, gap="medium")
    with left:
        layout.chart(loss_figure(races), "race.loss", _("Loss of GELU and ReLU against the step"))
        st.caption(_("Line: the median of the seeds. Band: from the lowest to the highest."))
    with right:
        layout.chart(pair_figure(found), "race.pairs", _("Held-out loss of each pair"))
    table(found)
    first = races[0]
    layout.readings([say.difference(found), say.standing(found, first), say.limits(found, first)])
    saved_races.way_to(_("Run it live on the race's page, through the shared queue"), first.request)


def table(found: Pairs) -> None:
    """Show both losses and their difference, a line a seed, and the means."""
    rows = [
        Line((integer(seed), number(float(a), 4), number(float(b), 4), signed(float(a - b), 4)))
        for seed, (a, b) in zip(found.seeds, found.losses, strict=True)
    ]
    means = [number(float(x), 4) for x in found.losses.mean(axis=0)]
    spread = f"{signed(found.mean, 4)} ± {number(found.deviation, 4)}"
    rows.append(Line((_("mean ± standard deviation"), *means, spread), "mark"))
    head = (_("seed"), "GELU", "ReLU", _("GELU − ReLU"))
    tables.table(_("Held-out loss of each pair"), head, rows, (1, 2, 3))


def downloads(races: Sequence[RaceResult]) -> list[Download]:
    """Return the files of the saved races: every step as CSV, and the pairs as a figure."""
    if len(races) < 2:
        return []
    title = _("Where each pair ended")
    said = "\n".join(cli_race.command(race.request) for race in races)

    def page() -> bytes:
        return export.figure_html(pair_figure(paired(races)), title, races[0].provenance, said)

    return [
        Download(_("The race (CSV)"), lambda: race_csv.table(races), "activation-race.csv"),
        Download(_("The race's pairs (HTML)"), page, "activation-race.html", "text/html"),
    ]
