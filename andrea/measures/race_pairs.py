"""Two variants of a race compared pair by pair: with the same seed they share start and batches.

What one seed makes easy or hard for both cancels in its difference, so the differences tell more
than two means with their own spreads. Source: Student 1908, "The Probable Error of a Mean",
Biometrika 6 (the interval); Arbuthnot 1710 (the sign test).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from andrea.measures.gradients import Doubles
from andrea.measures.race import RaceResult

# Student's t for a two-sided 95 % interval, by degrees of freedom, 1 to 9.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


@dataclass(frozen=True)
class Pairs:
    """Held-out losses of two variants after the last step, seed by seed. K seeds.

    Attributes
    ----------
    seeds
        K numbers.
    losses
        float64 [K, 2], nats a byte: the one and the other variant.
    """

    seeds: tuple[int, ...]
    losses: Doubles

    @property
    def difference(self) -> Doubles:
        """float64 [K], the one minus the other: below zero where the one is ahead."""
        return self.losses[:, 0] - self.losses[:, 1]

    @property
    def mean(self) -> float:
        """Mean difference."""
        return float(self.difference.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation of the differences over the seeds (K - 1 in the denominator)."""
        return float(self.difference.std(ddof=1))

    @property
    def reach(self) -> float:
        """Half of the 95 % interval around the mean difference: t times deviation over root K."""
        n = len(self.seeds)
        return T95[n - 2] * self.deviation / math.sqrt(n)

    @property
    def apart(self) -> bool:
        """Whether zero lies outside the interval."""
        return abs(self.mean) > self.reach

    @property
    def ahead(self) -> int:
        """With how many seeds the one has the lower loss."""
        return int((self.difference < 0).sum())

    @property
    def chance(self) -> float:
        """How often as many coins fall at least as unevenly (pairs that are equal do not count)."""
        n = int((self.difference != 0).sum())
        far = abs(self.ahead - n / 2)
        ways = sum(math.comb(n, k) for k in range(n + 1) if abs(k - n / 2) >= far)
        return float(ways / 2**n)


def pairs(results: Sequence[RaceResult], one: str, other: str) -> Pairs:
    """Return the held-out losses of two variants, one pair a race.

    Parameters
    ----------
    results
        2 to 10 races that differ only in their seed and hold both variants.
    one, other
        Names from ``RACE_ARMS``.

    Raises
    ------
    ValueError
        If there are fewer than 2 or more than 10 races.
    """
    if not 2 <= len(results) <= len(T95) + 1:
        raise ValueError(f"{len(results)} races: pairs are compared over 2 to {len(T95) + 1}")
    rows = [
        [r.held_out_loss[r.request.arms.index(arm), 1] for arm in (one, other)] for r in results
    ]
    losses = np.array(rows, dtype=np.float64)
    losses.setflags(write=False)
    return Pairs(tuple(r.request.seed for r in results), losses)
