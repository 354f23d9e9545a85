"""Pairs of a race against numbers worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from andrea import engine
from andrea.measures.race_pairs import T95, Pairs, pairs
from andrea.requests_race import RaceRequest


def of(differences, base=2.4) -> Pairs:
    losses = np.array([[base + d, base] for d in differences])
    return Pairs(tuple(range(len(losses))), losses)


def test_mean_deviation_and_interval_by_hand():
    found = of([-0.03, -0.01, 0.01, 0.03, 0.05])
    assert found.mean == pytest.approx(0.01)
    assert found.deviation == pytest.approx(math.sqrt(0.004 / 4))
    assert found.reach == pytest.approx(2.776 * math.sqrt(0.001 / 5))
    assert not found.apart and found.ahead == 2


@pytest.mark.parametrize(
    ("signs", "chance"),
    [
        ([-1, -1, -1, -1, -1], 2 / 32),
        ([1, 1, 1, 1, 1], 2 / 32),
        ([-1, -1, -1, -1, 1], 12 / 32),
        ([-1, -1, -1, 1, 1], 1),
        ([-1, -1, 0], 0.5),
        ([-1, 1], 1),
        ([0, 0], 1),
    ],
)
def test_the_sign_test_by_counting(signs, chance):
    assert of(signs).chance == pytest.approx(chance)


def test_a_steady_difference_is_told_whatever_the_seeds_do():
    losses = np.array([[2.40, 2.41], [2.90, 2.912], [1.70, 1.709]])
    found = Pairs((0, 1, 2), losses)
    assert found.apart and found.mean < 0
    assert not Pairs((0, 1, 2), losses[:, [1, 0]] + [[0], [0], [0.5]] * np.array([0, 1])).apart


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for n in (2, 5, len(T95) + 1):
        held = [not of(rng.normal(size=n)).apart for _ in range(4000)]
        assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_pairs_take_both_variants_of_each_race():
    small = RaceRequest(("pre", "relu"), n_layer=1, d_model=32, steps=20)
    races = [engine.race(replace(small, seed=seed)) for seed in (3, 4)]
    found = pairs(races, "relu", "pre")
    assert found.seeds == (3, 4)
    for row, race in zip(found.losses, races, strict=True):
        np.testing.assert_array_equal(row, race.held_out_loss[::-1, 1])
    with pytest.raises(ValueError, match="1 races"):
        pairs(races[:1], "pre", "relu")


def test_a_pair_starts_from_the_same_matrices():
    from andrea.model import Andrea

    request = RaceRequest(("pre", "relu"), n_layer=2, d_model=32)
    gelu, relu = (Andrea(request.config(arm), seed=5).state_dict() for arm in request.arms)
    assert gelu.keys() == relu.keys() and all((gelu[k] == relu[k]).all() for k in gelu)
