"""The race against PyTorch's own layers and optimiser, against hand counts, and against itself."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from andrea import device, engine, saved_race, sources
from andrea.__main__ import main
from andrea.cli_race import command, race_request
from andrea.errors import InputError
from andrea.measures import race_cost
from andrea.measures.race import race
from andrea.measures.race_sweep import SweepRequest, sweep
from andrea.measures.race_text import PRIOR, batch, counted, held_out, race_text
from andrea.model import Andrea
from andrea.requests_race import BATCH, CONTEXT, RACE_ARMS, RaceRequest, in_order
from tests.reference_stack import Reference

SMALL = RaceRequest(("pre",), n_layer=2, d_model=32, steps=20, warmup=5)


def parsed(line):
    from andrea.__main__ import build_parser

    return race_request(build_parser().parse_args(line.split()[3:]))


# -- the text --------------------------------------------------------------------------------------


def test_counting_letters_by_hand():
    # Of a and b there are two each; after a comes b, twice; after b comes a, once.
    train = np.array([97, 98, 97, 98])
    held = np.array([97, 97, 98, 98])
    unigram, bigram = counted(train, held)
    p = 3 / (4 + 256)  # of a, and of b
    assert unigram == pytest.approx(-math.log(p))
    aa, ab, bb = PRIOR * p / (2 + PRIOR), (2 + PRIOR * p) / (2 + PRIOR), PRIOR * p / (1 + PRIOR)
    assert bigram == pytest.approx(-(math.log(aa) + math.log(ab) + math.log(bb)) / 3)


def test_the_text_is_what_ships_and_the_held_out_part_is_not_read():
    text = race_text()
    read, kept = (ids.astype(np.uint8).tobytes().decode() for ids in (text.train, text.held_out))
    assert "\n\n" in read and all(part not in read for part in kept.split("\n\n"))
    assert 0.05 < len(kept) / (len(read) + len(kept)) < 0.15
    # Knowing pairs is worth more than knowing letters, which is worth more than knowing nothing.
    assert 2 < text.bigram < text.unigram < math.log(256)


def test_windows_are_the_text_and_every_held_out_byte_is_predicted_once():
    text, windows = race_text(), batch(3, 7)
    assert windows.shape == (BATCH, CONTEXT + 1) and torch.equal(windows, batch(3, 7))
    assert not torch.equal(windows, batch(3, 8)) and not torch.equal(windows, batch(4, 7))
    raw = text.train.astype(np.uint8).tobytes()
    assert all(bytes(row) in raw for row in windows.tolist())
    predicted = held_out()[:, 1:].flatten().numpy()
    np.testing.assert_array_equal(predicted, text.held_out[1 : len(predicted) + 1])
    assert len(text.held_out) - len(predicted) <= CONTEXT


# -- training --------------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", ["pre", "post-warmup"])
def test_losses_equal_those_of_pytorchs_layers_and_adam(arm):
    request = replace(SMALL, arms=(arm,))
    found = race(request)
    model = Reference(Andrea(request.config(arm), seed=0))
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), foreach=False)
    for step in range(request.steps):
        windows = batch(0, step)
        rising = min(1, (step + 1) / 5) if arm == "post-warmup" else 1
        adam.param_groups[0]["lr"] = 3e-3 * rising
        adam.zero_grad()
        _, streams = model.loss(windows[:, :-1])
        logits = model.ln(streams[-1]) @ model.wte.weight.T
        loss = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        loss.backward()
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
        assert found.loss[0, step] == pytest.approx(float(loss.detach()), rel=1e-4)
        assert found.grad_norm[0, step] == pytest.approx(float(norm), rel=1e-3)
        adam.step()


def test_a_small_model_learns_and_says_so_on_text_it_has_not_read():
    found = race(replace(SMALL, steps=150))
    before, after = found.held_out_loss[0]
    assert after < found.unigram < before
    assert found.broken == (None,)


def test_an_arm_runs_the_same_alone_and_beside_others():
    alone = race(replace(SMALL, arms=("post",)))
    beside = race(replace(SMALL, arms=("pre", "post", "none")))
    np.testing.assert_array_equal(alone.loss[0], beside.loss[1])
    assert alone.weights_sha256[0] == beside.weights_sha256[1] != beside.weights_sha256[0]


def test_all_arms_start_from_the_same_matrices():
    first = {n: p for n, p in Andrea(SMALL.config("pre"), seed=0).named_parameters() if p.dim() > 1}
    for arm in RACE_ARMS:
        other = dict(Andrea(SMALL.config(arm), seed=0).named_parameters())
        assert all(torch.equal(first[name], other[name]) for name in first)


def test_gelu_and_relu_have_equally_many_parameters():
    counts = {sources.n_parameters(SMALL.config(arm)) for arm in ("pre", "relu")}
    assert len(counts) == 1


def test_what_breaks_is_marked_at_its_step_and_the_others_go_on():
    found = race(RaceRequest(("pre", "none"), lr=1.0, n_layer=16, d_model=32, steps=30))
    broken = found.broken[1]
    assert found.broken[0] is None and np.isfinite(found.loss[0]).all()
    assert broken is not None and np.isfinite(found.loss[1, : broken.step - 1]).all()
    at = found.loss[1, broken.step - 1]
    if broken.what == "loss":
        assert not math.isfinite(at)
    else:
        assert math.isfinite(at) and not math.isfinite(found.grad_norm[1, broken.step - 1])
    assert np.isnan(found.loss[1, broken.step :]).all()


def test_the_streams_length_is_pinned_under_post_norm_at_the_start():
    found = race(replace(SMALL, arms=("pre", "post")))
    assert found.stream_norms.shape == (2, 2, 3)
    # gamma is 1 and beta 0: every vector has mean 0 and variance 1, so its length is sqrt(width).
    np.testing.assert_allclose(found.stream_norms[1, 0, 1:], math.sqrt(32), rtol=1e-3)
    assert found.stream_norms[0, 1, 2] > found.stream_norms[0, 1, 0]


def test_progress_is_told_step_by_step_and_a_check_ends_the_race():
    seen = []

    class Enough(Exception):
        pass

    def check():
        if len(seen) == 3:
            raise Enough

    with pytest.raises(Enough):
        race(SMALL, check, seen.append)
    assert [p.step for p in seen] == [1, 2, 3] and seen[2].loss.shape == (1, 3)
    whole = race(SMALL)
    np.testing.assert_array_equal(seen[2].loss, whole.loss[:, :3])
    with pytest.raises(ValueError, match="read-only"):
        seen[2].loss[0, 0] = 0


def test_the_device_is_held_for_a_step_at_a_time(monkeypatch):
    turns = []

    @contextmanager
    def turn(_check):
        turns.append(1)
        yield

    monkeypatch.setattr(engine, "turn", turn)
    engine.race(replace(SMALL, arms=("pre", "post")))
    assert len(turns) == 2 * (SMALL.steps + 2)


# -- bad input, cost -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"arms": ()}, "Choose one or more of pre, post"),
        ({"arms": ("pre", "pre")}, "each once"),
        ({"arms": ("sideways",)}, "Choose one or more"),
        ({"lr": math.nan}, "learning rate of nan"),
        ({"lr": 0.0}, "learning rate of 0.0"),
        ({"n_layer": 25}, "n_layer is 25: choose a whole number from 1 to 24"),
        ({"d_model": 48}, "d_model is 48: choose one of 32, 64, 128"),
        ({"steps": 19}, "steps is 19"),
        ({"warmup": 0}, "warmup is 0"),
        ({"init": "zeros"}, "init is zeros"),
        ({"seed": -1}, "Seed -1"),
    ],
)
def test_impossible_races_are_refused_by_name(change, says):
    with pytest.raises(InputError, match=says):
        race(replace(SMALL, **change))


def test_a_race_that_takes_too_long_is_refused_with_the_nearest_that_does_not(monkeypatch):
    monkeypatch.setattr(race_cost, "probes", lambda _width: (0.0, 0.01))
    monkeypatch.setenv("ANDREA_RACE_SECONDS", "50")
    asked = RaceRequest(("pre", "post"), n_layer=12, steps=400)  # 2 x 12 x 400 x 0.01 = 96 s
    with pytest.raises(InputError, match="about 96 s, this host allows 50 s: .*at most 200 steps"):
        race_cost.refuse_too_slow(asked)
    race_cost.refuse_too_slow(replace(asked, steps=200))
    with pytest.raises(InputError, match="choose 20 steps and at most 2 blocks"):
        monkeypatch.setenv("ANDREA_RACE_SECONDS", "1")
        race_cost.refuse_too_slow(asked)
    race_cost.refuse_too_slow(replace(asked, steps=20, n_layer=2))
    monkeypatch.setenv("ANDREA_RACE_SECONDS", "soon")
    with pytest.raises(InputError, match="ANDREA_RACE_SECONDS is soon"):
        race_cost.refuse_too_slow(asked)


def test_a_race_that_needs_too_much_memory_is_refused_with_the_deepest_that_fits(monkeypatch):
    asked = RaceRequest(d_model=128, n_layer=24)
    limit = race_cost.memory_bytes(replace(asked, n_layer=7))
    monkeypatch.setattr(device, "memory_limit", lambda: limit)
    with pytest.raises(InputError, match="choose at most 7 blocks"):
        race_cost.refuse_too_large(asked)


def test_a_busy_moment_at_the_start_does_not_make_the_estimate(monkeypatch):
    """A step takes 2 ms and 1 ms a block; in each model's first seven steps, ten times that."""
    now = [0.0]

    class Slow:
        def __init__(self, request, _arm):
            self.cost, self.done = (2 + request.n_layer) / 1000, 0

        def step(self, _step, _windows):
            now[0] += self.cost * (10 if self.done < 7 else 1)
            self.done += 1

    monkeypatch.setattr(race_cost, "Lane", Slow)
    monkeypatch.setattr(race_cost.time, "perf_counter", lambda: now[0])
    base, per_block = race_cost.probes.__wrapped__(64)
    assert base == pytest.approx(0.002) and per_block == pytest.approx(0.001)


def test_the_estimate_grows_with_everything_that_costs_time():
    base = race_cost.estimate_seconds(SMALL)
    for change in ({"steps": 40}, {"n_layer": 4}, {"arms": ("pre", "post")}):
        assert race_cost.estimate_seconds(replace(SMALL, **change)) > base > 0


# -- terminal and what is saved --------------------------------------------------------------------


def test_the_terminal_prints_the_same_losses(capsys):
    line = command(replace(SMALL, arms=("pre", "post")))
    assert main(line.split()[3:]) == 0
    document = json.loads(capsys.readouterr().out)
    again = race(replace(SMALL, arms=("pre", "post")))
    np.testing.assert_array_equal(document["loss"], again.loss)
    assert document["weights_sha256"] == list(again.weights_sha256)
    assert main(["race", "--arms", "pre", "--lr", "2"]) == 2
    assert "choose a number above 0, up to 1" in capsys.readouterr().err


@pytest.mark.parametrize("request_", [RaceRequest(), SMALL, *saved_race.saved_requests()])
def test_the_command_asks_for_the_same_race(request_):
    assert parsed(command(request_)) == request_


def test_the_same_arms_in_another_order_are_the_same_race():
    assert in_order(("none", "pre")) == ("pre", "none")
    line = "python -m andrea race --arms none pre"
    assert parsed(line) == RaceRequest(("pre", "none"))


def test_a_sweep_is_its_races():
    asked = SweepRequest(("pre", "none"), (1, 2), (1e-3, 1e-2), (0, 1), 5, 32, 20)
    told = []
    found = sweep(asked, done=lambda request, result: told.append((request, result)))
    assert found.held_out_loss.shape == (2, 2, 2, 2) and len(told) == 8
    for (d, r, s), one in asked.races():
        result = dict(told)[one]
        np.testing.assert_array_equal(found.held_out_loss[d, :, r, s], result.held_out_loss[:, 1])
    assert (found.broken_step == 0).all()


def test_saved_races_carry_their_provenance_and_can_be_run_again():
    races = saved_race.races()
    assert list(races) == saved_race.saved_requests()
    for request, result in races.items():
        assert result.loss.shape == (len(request.arms), request.steps)
        assert result.text_sha256 == race_text().sha256
        assert result.unigram == pytest.approx(race_text().unigram, rel=1e-5)
        start = Andrea(request.config(request.arms[0]), seed=request.seed)
        assert result.provenance.weights_sha256 == sources.values_sha256(start)
        assert result.provenance.date and result.provenance.device_name
    # The first steps do not depend on how many follow.
    request = replace(RaceRequest(), arms=("pre",), steps=20)
    again = race(request).loss[0, :5]
    np.testing.assert_allclose(races[RaceRequest()].loss[0, :5], again, rtol=1e-3)


def test_the_saved_sweep_is_the_one_that_the_command_runs():
    found = saved_race.saved_sweep()
    assert found is not None and found.request == SweepRequest()
    request = found.request
    shape = (len(request.depths), len(request.arms), len(request.lrs), len(request.seeds))
    assert found.held_out_loss.shape == found.broken_step.shape == shape
    assert found.text_sha256 == race_text().sha256
    assert found.provenance.date and found.provenance.seconds > 0
