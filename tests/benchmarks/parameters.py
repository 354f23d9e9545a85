"""Moving a slider on Parameters: median processor time of the server's work, one thread.

Each round takes another configuration, so that nothing comes from a cache: the count from the
model's tensors, then both figures as what is sent to the browser.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from andrea import engine
from andrea.requests import ParametersRequest
from app import readings
from app.figures import parameters as figures
from app.theme import LIGHT
from tests.benchmarks import Row, compared, interleaved, timed

ROUNDS = 25


def moves(n_layer: int) -> Iterator[ParametersRequest]:
    """Yield requests that differ, as moves of the context slider would."""
    return (ParametersRequest(n_layer=n_layer, n_ctx=n) for n in itertools.count(64))


def run() -> list[Row]:
    """Time the count alone, the figures alone and both, for ANDREA-120M and for 96 blocks."""
    voice = readings.voice()
    shallow, deep = moves(12), moves(96)
    results = {n: engine.run(ParametersRequest(n_layer=n)) for n in (12, 96)}

    def figure(n_layer: int) -> None:
        result = results[n_layer]
        figures.share_bar([("a", result)], LIGHT, voice).to_json()
        figures.parameter_map(result, LIGHT, voice).to_json()

    work: dict[str, Callable[[], object]] = {
        "count, ANDREA-120M": lambda: engine.run(next(shallow)),
        "figures, ANDREA-120M": lambda: figure(12),
        "count and figures, ANDREA-120M": lambda: (engine.run(next(shallow)), figure(12)),
        "count, 96 blocks": lambda: engine.run(next(deep)),
        "figures, 96 blocks": lambda: figure(96),
    }
    timers = {name: (lambda job=job: timed(job)) for name, job in work.items()}
    return compared(interleaved(timers, ROUNDS))
