"""What is drawn and read of a race: one with a single seed or several, ended or still on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from andrea.measures.gradients import Doubles
from andrea.measures.race import RaceProgress, RaceResult
from andrea.measures.race_lane import Broken
from andrea.measures.race_text import race_text
from andrea.requests_race import RaceRequest


@dataclass(frozen=True)
class Drawing:
    """One race, perhaps with several seeds. K seeds, A variants, S steps done.

    Attributes
    ----------
    loss, grad_norm
        float64 [K, A, S].
    broken
        By seed and variant.
    held_out, seconds
        float64 [K, A], after the last step; without any row while the race is on.
    """

    request: RaceRequest
    loss: Doubles
    grad_norm: Doubles
    broken: tuple[tuple[Broken | None, ...], ...]
    held_out: Doubles
    seconds: Doubles
    unigram: float
    bigram: float

    def breaks(self, arm: int) -> list[Broken]:
        """Return where a variant broke, one entry a seed in which it did."""
        return [found for seed in self.broken if (found := seed[arm]) is not None]

    def ends(self, arm: int) -> Doubles:
        """Return a variant's held-out losses, of the seeds that did not break if there are any."""
        sound = [seed[arm] is None for seed in self.broken]
        return self.held_out[sound, arm] if any(sound) else self.held_out[:, arm]


def drawing_of(results: Sequence[RaceResult]) -> Drawing:
    """Put races together that differ only in their seed."""
    first = results[0]
    return Drawing(
        first.request,
        np.array([r.loss for r in results]),
        np.array([r.grad_norm for r in results]),
        tuple(r.broken for r in results),
        np.array([r.held_out_loss[:, 1] for r in results]),
        np.array([r.arm_seconds for r in results]),
        first.unigram,
        first.bigram,
    )


def drawing_so_far(progress: RaceProgress) -> Drawing:
    """Return what there is of a race that is still on, or was stopped."""
    text, none = race_text(), np.zeros((0, len(progress.request.arms)))
    return Drawing(
        progress.request,
        progress.loss[None],
        progress.grad_norm[None],
        (progress.broken,),
        none,
        none,
        text.unigram,
        text.bigram,
    )
