"""Small models trained side by side, from the same weights, on the same batches.

Source: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture",
arXiv:2002.04745 (post-norm, pre-norm and warmup).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from andrea import device, sources
from andrea.measures.backward import Check, nothing
from andrea.measures.gradients import Doubles, stacked
from andrea.measures.race_cost import refuse_too_large
from andrea.measures.race_lane import Broken, Lane
from andrea.measures.race_text import batch, race_text
from andrea.requests_race import RaceRequest
from andrea.results import Provenance, here_and_now


@dataclass(frozen=True)
class RaceProgress:
    """What has been measured so far. A arms, S steps done.

    Attributes
    ----------
    loss
        float64 [A, S], mean cross-entropy of the next byte on the step's batch, before the step,
        in nats; NaN where an arm had broken already.
    grad_norm
        float64 [A, S], the norm of all the parameters' gradients together.
    broken
        Where each arm broke, ``None`` if it did not.
    """

    request: RaceRequest
    step: int
    loss: Doubles
    grad_norm: Doubles
    broken: tuple[Broken | None, ...]


@dataclass(frozen=True)
class RaceResult:
    """A race that was run to its end. A arms, S steps, L blocks.

    Attributes
    ----------
    loss, grad_norm, broken
        As in ``RaceProgress``.
    held_out_loss
        float64 [A, 2], mean loss on the held-out text before the first step and after the last.
    stream_norms
        float64 [A, 2, L + 1], mean length of a position's vector at each boundary of the stream,
        before the first step and after the last, on held-out text.
    unigram, bigram
        Held-out loss of knowing how frequent bytes, and pairs of bytes, are in the text.
    arm_seconds
        float64 [A], what each arm's steps took.
    weights_sha256
        Of each arm's weights after the last step.
    text_sha256
        Of the text.
    provenance
        ``config`` and ``weights_sha256`` are those of the first arm, before the first step.
    """

    request: RaceRequest
    loss: Doubles
    grad_norm: Doubles
    broken: tuple[Broken | None, ...]
    held_out_loss: Doubles
    stream_norms: Doubles
    unigram: float
    bigram: float
    arm_seconds: Doubles
    weights_sha256: tuple[str, ...]
    text_sha256: str
    provenance: Provenance


Watch = Callable[[RaceProgress], object]
Slot = Callable[[], AbstractContextManager[object]]


def ignore(_progress: RaceProgress) -> None:
    """The watch of someone who only wants the result."""


def progress(request: RaceRequest, lanes: list[Lane], step: int) -> RaceProgress:
    """Return what the lanes have measured in ``step`` steps, copied."""
    return RaceProgress(
        request,
        step,
        stacked([lane.loss[:step] for lane in lanes]),
        stacked([lane.grad_norm[:step] for lane in lanes]),
        tuple(lane.broken for lane in lanes),
    )


def race(
    request: RaceRequest, check: Check = nothing, watch: Watch = ignore, slot: Slot = nullcontext
) -> RaceResult:
    """Answer a ``RaceRequest``: all arms take a step, then all take the next.

    Parameters
    ----------
    request
        The race.
    check
        Called before each step of each arm; whatever it raises ends the work.
    watch
        Called after each step with everything measured so far.
    slot
        Held while one arm takes one step, so that others get a turn in between.

    Raises
    ------
    InputError
        If the request is impossible or too large for this host.
    """
    started = time.perf_counter()
    request.check()
    refuse_too_large(request)
    lanes = []
    for arm in request.arms:
        check()
        with slot():
            lanes.append(Lane(request, arm))
            lanes[-1].look()
    for step in range(request.steps):
        windows = batch(request.seed, step).to(device.device())
        for lane in lanes:
            if lane.broken is None:
                check()
                with slot():
                    lane.step(step, windows)
        watch(progress(request, lanes, step + 1))
    for lane in lanes:
        check()
        with slot():
            lane.look()
    return result(request, lanes, started)


def result(request: RaceRequest, lanes: list[Lane], started: float) -> RaceResult:
    """Return what the lanes measured, with its provenance."""
    end, text = progress(request, lanes, request.steps), race_text()
    first = lanes[0].model.config
    return RaceResult(
        request=request,
        loss=end.loss,
        grad_norm=end.grad_norm,
        broken=end.broken,
        held_out_loss=stacked([np.array(lane.held_out_loss) for lane in lanes]),
        stream_norms=stacked([np.stack(lane.stream_norms) for lane in lanes]),
        unigram=text.unigram,
        bigram=text.bigram,
        arm_seconds=stacked([np.array(lane.seconds) for lane in lanes]),
        weights_sha256=tuple(sources.values_sha256(lane.model) for lane in lanes),
        text_sha256=text.sha256,
        provenance=Provenance(
            model=f"{request.n_layer} x {request.d_model}",
            trained=False,
            as_trained=True,
            config=first.as_dict(),
            n_parameters=sources.n_parameters(first),
            seed=request.seed,
            weights_sha256=lanes[0].start_sha256,
            **here_and_now(started),
        ),
    )
