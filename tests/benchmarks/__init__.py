"""Benchmarks: each module here has ``run() -> list[Row]`` and is found by its name.

``python -m tests.benchmarks`` runs them all, ``python -m tests.benchmarks record`` runs one.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table: how long something took, and how that compares.

    ``seconds`` is a median, ``None`` where nothing could be measured (``note`` says why); ``ratio``
    compares with the benchmark's first row; ``limit`` is the most that the ratio may be.
    """

    name: str
    seconds: float | None
    ratio: float | None = None
    limit: float | None = None
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the ratio is within its limit."""
        return self.limit is None or (self.ratio is not None and self.ratio <= self.limit)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of processor time that ``work`` takes in this process.

    Time spent waiting for a processor that other programs keep busy does not count; with one thread
    on an idle machine it is the time on the wall. What ``work`` returns is freed after the clock.
    """
    start = time.process_time()
    kept = work()
    seconds = time.process_time() - start
    del kept
    return seconds


def interleaved(timers: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Time every candidate once a round, in a new order each time, after two rounds of warming up.

    Whatever else the machine does then falls on all alike, and each round gives a ratio.
    """
    order, shuffle = list(timers), random.Random(0).shuffle
    seconds: dict[str, list[float]] = {name: [] for name in timers}
    for turn in range(rounds + 2):
        shuffle(order)
        for name in order:
            took = timers[name]()
            if turn >= 2:
                seconds[name].append(took)
    return seconds


def compared(
    seconds: dict[str, list[float]],
    limits: dict[str, float] | None = None,
    notes: dict[str, str] | None = None,
) -> list[Row]:
    """Turn interleaved timings into rows: the median, and the median of the rounds' ratios."""
    first = next(iter(seconds.values()))
    rows = []
    for name, values in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(values, first, strict=True))
        limit, note = (limits or {}).get(name), (notes or {}).get(name, "")
        rows.append(Row(name, statistics.median(values), ratio, limit, note))
    return rows
