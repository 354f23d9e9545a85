"""What a race costs: memory before it starts, and about how many seconds on this machine.

Environment: ``ANDREA_RACE_SECONDS`` (default 240) is the longest race that this host allows.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from andrea import device, sources
from andrea.errors import InputError
from andrea.measures.gradient_cost import FLOAT, TORCH, kept_by_block
from andrea.measures.race_lane import Lane
from andrea.measures.race_text import batch
from andrea.requests_race import BATCH, CONTEXT, RANGES, RaceRequest

ROUNDED_TO = 20  # the nearest allowed number of steps is a multiple
PROBES = (1, 5)  # blocks
LEAST, MOST, ENOUGH = 3, 16, 0.7  # steps that are timed, at least and at most; and seconds


def seconds_limit() -> float:
    """Return the longest race that this host allows, in seconds.

    Raises
    ------
    InputError
        If the environment says something else than a number of seconds.
    """
    raw = os.environ.get("ANDREA_RACE_SECONDS", "240")
    try:
        limit = float(raw)
    except ValueError:
        limit = math.nan
    if not (math.isfinite(limit) and limit > 0):
        raise InputError("ANDREA_RACE_SECONDS is {raw}: it must be a number of seconds", raw=raw)
    return limit


def memory_bytes(request: RaceRequest) -> int:
    """Return the bytes that the race takes at its peak, about.

    Each arm keeps its weights and Adam's two averages; the arm at work also its gradients, what
    its blocks keep for the way back, and the logits three times.
    """
    config = request.config(request.arms[0])
    parameters = sources.n_parameters(config)
    kept = config.n_layer * kept_by_block(config, CONTEXT)
    activations = BATCH * CONTEXT * (kept + 3 * config.vocab_size)
    return TORCH + FLOAT * ((3 * len(request.arms) + 1) * parameters + activations)


def refuse_too_large(request: RaceRequest) -> None:
    """Refuse a race that needs more memory than this host allows.

    Raises
    ------
    InputError
        Naming the need, the limit and the deepest race that fits.
    """
    need, limit = memory_bytes(request), device.memory_limit()
    if need <= limit:
        return
    fits = deepest(request, lambda smaller: memory_bytes(smaller) <= limit)
    raise InputError(
        "A race of {arms} models with {depth} blocks needs {need} GB, this host allows {limit} GB: "
        "choose at most {most} blocks, or fewer models.",
        arms=len(request.arms),
        depth=request.n_layer,
        need=f"{need / 1e9:.2f}",
        limit=f"{limit / 1e9:.2f}",
        most=fits,
    )


def deepest(request: RaceRequest, fits: Callable[[RaceRequest], bool]) -> int:
    """Return the most blocks with which the race fits, 0 if none."""
    depths = range(request.n_layer, 0, -1)
    return next((n for n in depths if fits(replace(request, n_layer=n))), 0)


def fastest_step(request: RaceRequest) -> float:
    """Return the seconds of one arm's fastest step.

    The fastest of many, because a step during which somebody else had the processor may take ten
    times as long, and such moments last for several steps.
    """
    lane = Lane(request, request.arms[0])
    windows = batch(0, 0).to(device.device())
    took: list[float] = []
    lane.step(0, windows)  # warms up
    began = time.perf_counter()
    while len(took) < LEAST or (len(took) < MOST and time.perf_counter() - began < ENOUGH):
        started = time.perf_counter()
        lane.step(1 + len(took), windows)
        took.append(time.perf_counter() - started)
    return min(took)


@cache
def probes(d_model: int) -> tuple[float, float]:
    """Return seconds a step outside the blocks and seconds a step and block, measured once."""
    few, many = (
        fastest_step(RaceRequest(("pre",), n_layer=n_layer, d_model=d_model)) for n_layer in PROBES
    )
    per_block = max((many - few) / (PROBES[1] - PROBES[0]), 1e-6)
    return max(few - PROBES[0] * per_block, 0.0), per_block


def estimate_seconds(request: RaceRequest) -> float:
    """Return about how long the race takes on this machine, in seconds."""
    base, per_block = probes(request.d_model)
    return len(request.arms) * request.steps * (base + per_block * request.n_layer)


def refuse_too_slow(request: RaceRequest) -> None:
    """Refuse a race that takes longer than this host allows.

    Raises
    ------
    InputError
        Naming the estimate, the limit and the most steps (or blocks) that fit.
    """
    request.check()
    need, limit = estimate_seconds(request), seconds_limit()
    if need <= limit:
        return
    said = {"need": math.ceil(need), "limit": math.floor(limit)}
    steps = int(request.steps * limit / need) // ROUNDED_TO * ROUNDED_TO
    if steps >= RANGES["steps"][0]:
        raise InputError(
            "This race would take about {need} s, this host allows {limit} s: choose at most "
            "{most} steps, or fewer models or blocks.",
            most=steps,
            **said,
        )
    short = replace(request, steps=RANGES["steps"][0])
    fits = deepest(short, lambda smaller: estimate_seconds(smaller) <= limit)
    raise InputError(
        "This race would take about {need} s, this host allows {limit} s: choose {steps} steps and "
        "at most {most} blocks, or fewer models.",
        steps=short.steps,
        most=fits,
        **said,
    )
