"""The axis of a race's loss.

A loss that explodes to 10,000 and one that ends a tenth of a nat lower must fit into
one picture: as long as nobody leaves ``PLAIN`` it is linear; else it is linear up to ``KNEE``,
and above it each factor of ten takes ``DECADE``, or less where there are many.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.figures.base import Voice

Doubles = npt.NDArray[np.float64]
PLAIN = 8.0  # nats: a model at the start is at 6 or so
KNEE = 4.0
DECADE, MOST = 0.35, 1.75  # of one factor of ten, of all of them
APART = 0.2  # nats of the axis between two ticks


@dataclass(frozen=True)
class Scale:
    """Where a loss stands on the axis: between ``low`` and ``high``, logarithmic above ``knee``."""

    low: float
    high: float
    knee: float | None

    def __call__(self, loss: Doubles | float) -> Doubles:
        """Return the heights of losses."""
        values = np.asarray(loss, dtype=np.float64)
        if self.knee is None:
            return values
        above = self.knee + self.decade() * np.log10(np.maximum(values, self.knee) / self.knee)
        return np.where(values > self.knee, above, values)

    def decade(self) -> float:
        """Return how much of the axis a factor of ten takes above the knee."""
        return min(DECADE, MOST / math.log10(self.high / KNEE))

    def ends(self) -> tuple[float, float]:
        """Return the heights at which the axis begins and ends."""
        return self.low, float(self(self.high)) + 0.06

    def ticks(self, voice: Voice) -> dict[str, Any]:
        """Return ticks: half nats on the linear part, powers of ten above it."""
        linear = self.high if self.knee is None else self.knee
        step = 1.0 if self.knee is None else 0.5
        values = list(np.arange(math.ceil(self.low / step) * step, linear + 1e-9, step))
        text = [voice.number(v, 0 if v == int(v) else 1) for v in values]
        if self.knee is not None:
            for power in range(1, round(math.log10(self.high)) + 1):
                if float(self(10.0**power)) - float(self(values[-1])) >= APART:
                    values.append(10.0**power)
                    text.append(voice.integer(10**power) if power < 5 else f"10<sup>{power}</sup>")
        return {"tickvals": [float(self(v)) for v in values], "ticktext": text}


def scale_of(values: Sequence[Doubles], also: Sequence[float]) -> Scale:
    """Return an axis that holds all finite ``values``, and ``also``; it moves in steps only."""
    everything = np.concatenate([np.ravel(v) for v in values])
    everything = everything[np.isfinite(everything)]
    low = min([*also, float(everything.min(initial=PLAIN))]) - 0.1
    high = float(everything.max(initial=6.5))
    low = math.floor(low * 5) / 5
    if high <= PLAIN:
        return Scale(low, math.ceil(high * 2) / 2, None)
    return Scale(low, 10.0 ** math.ceil(math.log10(high)), KNEE)


def over_seeds(how: Callable[..., Any], values: Doubles) -> Doubles:
    """Summarise the finite values [seeds, steps] of each step; NaN where there is none."""
    finite = np.where(np.isfinite(values), values, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a step without any is an answer too
        return np.asarray(how(finite, axis=0), dtype=np.float64)
