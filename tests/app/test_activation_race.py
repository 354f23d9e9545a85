"""GELU and ReLU raced: what is drawn, written and said equals the races' numbers."""

import csv
import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from andrea import saved_race
from andrea.measures.race_pairs import Pairs
from app import activation_race, readings_activation_race, saved_races
from app.i18n import use_language

languages = pytest.mark.parametrize("lang", ["en", "it"])


def of(differences) -> Pairs:
    losses = np.array([[2.4 + d, 2.4] for d in differences])
    return Pairs(tuple(range(len(losses))), losses)


def races():
    found = activation_race.results()
    assert [race.request.seed for race in found] == [*saved_race.ACTIVATION_SEEDS]
    return found


def test_the_curves_are_the_seeds_median_and_spread():
    fig = activation_race.loss_figure(races())
    lines = {trace.name: trace for trace in fig.data if trace.mode == "lines+markers"}
    bands = [trace for trace in fig.data if trace.fill == "toself"]
    assert [*lines] == ["GELU", "ReLU"] and len(bands) == 2
    for k, line in enumerate(lines.values()):
        each = np.stack([race.loss[k] for race in races()])
        np.testing.assert_allclose(line.y[-1], np.median(each, axis=0)[-1])
        assert len(line.x) == each.shape[1]
    assert lines["GELU"].line.color != lines["ReLU"].line.color
    assert lines["GELU"].marker.symbol != lines["ReLU"].marker.symbol


@languages
def test_the_pairs_are_drawn_seed_by_seed(lang):
    found = activation_race.paired(races())
    with use_language(lang):
        fig = activation_race.pair_figure(found)
    marks = [trace for trace in fig.data if trace.mode == "markers"]
    joins = [trace for trace in fig.data if trace.mode == "lines"]
    for k, trace in enumerate(marks):
        np.testing.assert_array_equal(trace.x, [race.held_out_loss[k, 1] for race in races()])
    for join, race in zip(joins, races(), strict=True):
        np.testing.assert_array_equal(join.x, race.held_out_loss[:, 1])
    low, high = fig.layout.xaxis.range
    assert low < found.losses.min() and found.losses.max() < high
    ticks = fig.layout.xaxis.tickvals
    assert 3 <= len(ticks) <= 6 and low <= min(ticks) and max(ticks) <= high
    written = [float(text.replace(",", ".")) for text in fig.layout.xaxis.ticktext]
    np.testing.assert_allclose(written, ticks)


@languages
def test_the_sentences_hold_the_saved_numbers(lang):
    found = activation_race.paired(races())
    comma = "," if lang == "it" else "."
    with use_language(lang):
        said = readings_activation_race.difference(found)
        more = readings_activation_race.limits(found, races()[0])
        intro = readings_activation_race.intro(races()[0])
    mean = np.mean([race.held_out_loss[0, 1] - race.held_out_loss[1, 1] for race in races()])
    assert f"{abs(mean):.4f}".replace(".", comma) in said
    assert f"{found.reach:.3f}".replace(".", comma) in more
    n = f"{races()[0].provenance.n_parameters:,}"
    assert (n if lang == "en" else n.replace(",", ".")) in intro


@pytest.mark.parametrize(
    ("differences", "words"),
    [
        ([-0.03, -0.01, 0.03, 0.011, 0.002], ("with 2 of 5", "holds zero", "cannot be told")),
        ([-0.03, -0.031, -0.029, -0.03, -0.028], ("with 5 of 5", "below zero", "6% of the time")),
        ([0.03, 0.031, 0.029, 0.03, 0.028], ("with 0 of 5", "above zero", "6% of the time")),
    ],
)
def test_the_verdict_follows_the_numbers(differences, words):
    said = readings_activation_race.difference(of(differences))
    for word in words:
        assert word in said
    assert ("coin" in said) == (of(differences).chance < 1)


def test_the_file_holds_every_step_and_the_ends():
    (table, page) = activation_race.downloads(races())
    text = table.data().decode()
    rows = list(csv.DictReader(io.StringIO("\n".join(x for x in text.splitlines() if x[0] != "#"))))
    loss = [row for row in rows if row["quantity"] == "loss"]
    assert len(loss) == 5 * 2 * 300
    ends = [row for row in rows if row["quantity"] == "held_out_loss" and row["step"] == "300"]
    for row in ends:
        race, k = races()[int(row["seed"])], ("pre", "relu").index(row["arm"])
        assert float(row["value"]) == race.held_out_loss[k, 1]
    assert "race --arms pre relu --n-layer 6 --steps 300 --seed 4 --json" in text
    assert b"--seed 4 --json" in page.data()


def test_without_the_saved_file_the_page_says_how_to_make_it(monkeypatch):
    monkeypatch.setattr(saved_race, "races", dict)
    at = AppTest.from_string(
        "from app import activation_race\nactivation_race.show(activation_race.results())",
        default_timeout=120,
    ).run()
    assert not at.exception and [code.value for code in at.code] == [saved_races.SAVE]
    assert activation_race.downloads([]) == []
