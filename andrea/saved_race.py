"""Races run beforehand: ``python -m andrea race --save`` runs them again and writes them.

``races.json`` holds the default race and the race of GELU and ReLU, several seeds each;
``sweep.json`` the sweep over learning rate and depth (``python -m andrea race --sweep --save``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from andrea import engine, saved
from andrea.measures.race import RaceResult
from andrea.measures.race_lane import Broken
from andrea.measures.race_sweep import SweepRequest, SweepResult, sweep
from andrea.requests_race import RaceRequest
from andrea.results import Provenance, jsonable

FOLDER = Path(__file__).parent / "data" / "saved"
RACES, SWEEP = FOLDER / "races.json", FOLDER / "sweep.json"

DEFAULT_SEEDS = (0, 1, 2)
# GELU against ReLU: equal models, parameters, steps and batches.
ACTIVATIONS = RaceRequest(("pre", "relu"), n_layer=6, steps=300)
ACTIVATION_SEEDS = (0, 1, 2, 3, 4)

Told = Callable[[RaceRequest, RaceResult], object]


def saved_requests() -> list[RaceRequest]:
    """Return the races that are saved."""
    default = [replace(RaceRequest(), seed=seed) for seed in DEFAULT_SEEDS]
    return default + [replace(ACTIVATIONS, seed=seed) for seed in ACTIVATION_SEEDS]


def race_of(data: dict[str, Any]) -> RaceResult:
    """Return the result that ``jsonable`` wrote down."""
    arrays = ("loss", "grad_norm", "held_out_loss", "stream_norms", "arm_seconds")
    request = data["request"] | {"arms": tuple(data["request"]["arms"])}
    return RaceResult(
        **data
        | {name: saved.array(data[name]) for name in arrays}
        | {
            "request": RaceRequest(**request),
            "broken": tuple(b if b is None else Broken(**b) for b in data["broken"]),
            "weights_sha256": tuple(data["weights_sha256"]),
            "provenance": Provenance(**data["provenance"]),
        }
    )


@cache
def races() -> dict[RaceRequest, RaceResult]:
    """Return all saved races by their request (none if there is no file)."""
    results = [race_of(data) for data in saved.read(RACES)]
    return {result.request: result for result in results}


def find(request: RaceRequest) -> RaceResult | None:
    """Return the saved answer to ``request``, if there is one."""
    return races().get(request)


def save_races(told: Told) -> None:
    """Run the saved races again and write them."""
    results = []
    for request in saved_requests():
        results.append(engine.race(request))
        told(request, results[-1])
    saved.write(RACES, results)
    races.cache_clear()


@cache
def saved_sweep() -> SweepResult | None:
    """Return the saved sweep, ``None`` if there is no file."""
    try:
        data = json.loads(SWEEP.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    request: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in data["request"].items()
    }
    broken = np.array(data["broken_step"], dtype=np.int64)
    broken.setflags(write=False)
    return SweepResult(
        **data
        | {
            "request": SweepRequest(**request),
            "held_out_loss": saved.array(data["held_out_loss"]),
            "broken_step": broken,
            "provenance": Provenance(**data["provenance"]),
        }
    )


def save_sweep(told: Told) -> SweepResult:
    """Run the sweep again and write it."""
    result = sweep(SweepRequest(), done=told)
    SWEEP.write_text(json.dumps(saved.rounded(jsonable(result))) + "\n", encoding="utf-8")
    saved_sweep.cache_clear()
    return result
