"""Many races at once: which arm trains at which learning rate and depth.

The lesson says that post-norm trains badly without warmup. Whether that is so depends on learning
rate and depth, so both are swept, with several seeds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from andrea.measures.backward import Check, nothing
from andrea.measures.gradients import Doubles, one_hash
from andrea.measures.race import RaceResult, race
from andrea.requests_race import RaceRequest
from andrea.results import Provenance


@dataclass(frozen=True)
class SweepRequest:
    """Every combination of depth, learning rate and seed, each a race of ``arms``.

    Parameters
    ----------
    arms, warmup, d_model, steps
        As in ``RaceRequest``.
    depths, lrs, seeds
        What is swept.
    """

    arms: tuple[str, ...] = ("pre", "post", "post-warmup")
    depths: tuple[int, ...] = (2, 4, 6, 12)
    lrs: tuple[float, ...] = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
    seeds: tuple[int, ...] = (0, 1, 2)
    warmup: int = 60
    d_model: int = 64
    steps: int = 240

    def races(self) -> Iterator[tuple[tuple[int, int, int], RaceRequest]]:
        """Yield the place of each race (depth, learning rate, seed) and the race."""
        for s, seed in enumerate(self.seeds):
            for d, depth in enumerate(self.depths):
                for r, lr in enumerate(self.lrs):
                    yield (
                        (d, r, s),
                        RaceRequest(
                            self.arms, lr, self.warmup, depth, self.d_model, self.steps, seed
                        ),
                    )


@dataclass(frozen=True)
class SweepResult:
    """A sweep. D depths, A arms, R learning rates, S seeds.

    Attributes
    ----------
    held_out_loss
        float64 [D, A, R, S], nats a held-out byte after the last step; where an arm broke, with
        the weights that it had then (NaN or infinite where they give no number).
    broken_step
        int64 [D, A, R, S], the step at which loss or gradient was no longer finite; 0: never.
    unigram, bigram, text_sha256
        As in ``RaceResult``.
    provenance
        ``config`` is that of the first race's first arm, ``weights_sha256`` the hash of the final
        weights' hashes of all races, in the order of ``SweepRequest.races``.
    """

    request: SweepRequest
    held_out_loss: Doubles
    broken_step: npt.NDArray[np.int64]
    unigram: float
    bigram: float
    text_sha256: str
    provenance: Provenance


def sweep(
    request: SweepRequest,
    check: Check = nothing,
    done: Callable[[RaceRequest, RaceResult], object] = lambda _request, _result: None,
) -> SweepResult:
    """Run every race of a ``SweepRequest``; ``done`` is told of each as it ends.

    Raises
    ------
    InputError
        If a race is impossible or too large for this host.
    """
    started = time.perf_counter()
    races = list(request.races())
    for _, one in races:  # before minutes of work, not after
        one.check()
    shape = (len(request.depths), len(request.arms), len(request.lrs), len(request.seeds))
    loss, broken = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    hashes: list[str] = []
    first: RaceResult | None = None
    for (d, r, s), one in races:
        found = race(one, check)
        first = first or found
        loss[d, :, r, s] = found.held_out_loss[:, 1]
        broken[d, :, r, s] = [0 if b is None else b.step for b in found.broken]
        hashes += found.weights_sha256
        done(one, found)
    assert first is not None
    for array in (loss, broken):
        array.setflags(write=False)
    return SweepResult(
        request=request,
        held_out_loss=loss,
        broken_step=broken,
        unigram=first.unigram,
        bigram=first.bigram,
        text_sha256=first.text_sha256,
        provenance=replace(
            first.provenance,
            weights_sha256=one_hash(hashes),
            seconds=time.perf_counter() - started,
        ),
    )
