"""The races' numbers as tidy CSV: a row a value, and in the head how to make them again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from andrea.cli_race import command
from andrea.measures.gradients import Doubles
from andrea.measures.race import RaceProgress, RaceResult
from andrea.measures.race_sweep import SweepResult
from andrea.requests_race import RACE_ARMS, RaceRequest
from app.export import value

HEADER = "arm,norm,residual,act_fn,warmup,lr,n_layer,d_model,seed,quantity,step,value"
SWEEP_HEADER = "n_layer,arm,lr,seed,held_out_loss,broken_step"
SWEEP_COMMAND = "python -m andrea race --sweep --json"


def _arm(request: RaceRequest, arm: str) -> str:
    v = RACE_ARMS[arm]
    warmup = request.warmup if v.warmup else 0
    return (
        f"{arm},{v.norm},{v.residual},{v.act_fn},{warmup},{request.lr!r},{request.n_layer},"
        f"{request.d_model},{request.seed}"
    )


def _curves(request: RaceRequest, loss: Doubles, grad_norm: Doubles) -> Iterator[str]:
    for k, arm in enumerate(request.arms):
        for name, values in (("loss", loss[k]), ("grad_norm", grad_norm[k])):
            for step, one in enumerate(values, 1):
                yield f"{_arm(request, arm)},{name},{step},{value(float(one))}"


def rows(result: RaceResult) -> Iterator[str]:
    """Yield a race's values; ``step`` counts from 1, held out also before the first step (0)."""
    request = result.request
    yield from _curves(request, result.loss, result.grad_norm)
    for k, arm in enumerate(request.arms):
        for step, one in zip((0, request.steps), result.held_out_loss[k], strict=True):
            yield f"{_arm(request, arm)},held_out_loss,{step},{value(float(one))}"
        yield (
            f"{_arm(request, arm)},seconds,{request.steps},{value(float(result.arm_seconds[k]))}"
        )


def head(result: RaceResult) -> list[str]:
    """Return the comments that say where a race's numbers come from."""
    p = result.provenance
    return [
        f"# {command(result.request)}",
        f"# weights_sha256 at the end: {' '.join(result.weights_sha256)}",
        f"# text_sha256 {result.text_sha256}",
        f"# held-out loss of letter frequencies {result.unigram!r}, of pairs {result.bigram!r}",
        f"# {p.device_name}, {p.threads} threads, {p.date}",
    ]


def table(results: Sequence[RaceResult], stopped: RaceProgress | None = None) -> bytes:
    """Return races as CSV, and perhaps one that was stopped."""
    top = [line for result in results for line in head(result)]
    body = [row for result in results for row in rows(result)]
    if stopped is not None:
        top.append(f"# {command(stopped.request)}  (stopped at step {stopped.step})")
        body += _curves(stopped.request, stopped.loss, stopped.grad_norm)
    return ("\n".join([*top, HEADER, *body]) + "\n").encode()


def sweep_table(result: SweepResult) -> bytes:
    """Return the sweep as CSV."""
    request, p = result.request, result.provenance
    top = [
        f"# {SWEEP_COMMAND}",
        f"# d_model {request.d_model}, {request.steps} steps, warmup {request.warmup}",
        f"# weights_sha256 {p.weights_sha256}",
        f"# text_sha256 {result.text_sha256}",
        f"# held-out loss of letter frequencies {result.unigram!r}, of pairs {result.bigram!r}",
        f"# {p.device_name}, {p.threads} threads, {p.date}",
    ]
    body = [
        f"{request.depths[d]},{request.arms[a]},{request.lrs[r]!r},{request.seeds[s]},"
        f"{value(float(result.held_out_loss[d, a, r, s]))},{result.broken_step[d, a, r, s]}"
        for d, a, r, s in np.ndindex(result.held_out_loss.shape)
    ]
    return ("\n".join([*top, SWEEP_HEADER, *body]) + "\n").encode()
