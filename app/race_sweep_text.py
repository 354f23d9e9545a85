"""What the sweep says in words: who trains at which depth and rate, and whether warmup helps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from andrea.measures.gradients import Doubles
from andrea.measures.race_sweep import SweepResult
from app.i18n import _, integer, ngettext, number
from app.readings_race import STILL, arm_label, rate

HELPS = 0.05  # nats: a smaller difference is none, even if all seeds agree


@dataclass(frozen=True)
class Best:
    """The best learning rate of a variant at a depth: mean, lowest and highest over the seeds."""

    lr: float
    mean: float
    least: float
    most: float

    def written(self) -> str:
        """Write it for the table."""
        return _("{mean} ({least} – {most}) at {lr}").format(
            mean=number(self.mean),
            least=number(self.least),
            most=number(self.most),
            lr=rate(self.lr),
        )


def best(result: SweepResult, depth: int, arm: int) -> Best | None:
    """Return the rate with the lowest mean among those at which no seed broke, if there is one."""
    whole = (result.broken_step[depth, arm] == 0).all(axis=-1)
    mean = np.where(whole, result.held_out_loss[depth, arm].mean(axis=-1), np.inf)
    r = int(np.argmin(mean))
    if not np.isfinite(mean[r]):
        return None
    seeds = result.held_out_loss[depth, arm, r]
    return Best(result.request.lrs[r], float(mean[r]), float(seeds.min()), float(seeds.max()))


def trained_at(result: SweepResult, depth: int, arm: int) -> list[float]:
    """Return the rates at which every seed ended clearly below the letters' frequencies."""
    ends = result.held_out_loss[depth, arm]
    sound = (result.broken_step[depth, arm] == 0) & (ends <= result.unigram - STILL)
    return [lr for lr, fine in zip(result.request.lrs, sound.all(axis=-1), strict=True) if fine]


def _listed(lrs: list[float], of: int) -> str:
    if not lrs:
        return _("at none of the {n} rates").format(n=integer(of))
    return _("at {rates}").format(rates=" · ".join(map(rate, lrs)))  # a comma may be decimal


def depth_sentence(result: SweepResult, depth: int) -> str:
    """Say at which learning rates each variant trains at one depth."""
    request = result.request
    n = request.depths[depth]
    said = "; ".join(
        f"{arm_label(arm)} {_listed(trained_at(result, depth, a), len(request.lrs))}"
        for a, arm in enumerate(request.arms)
    )
    return ngettext(
        "{n} block: every seed gets clearly below the letters' frequencies with {said}.",
        "{n} blocks: every seed gets clearly below the letters' frequencies with {said}.",
        n,
    ).format(n=integer(n), said=said)


def claim_sentence(result: SweepResult) -> str:
    """Answer "does post-norm train without warmup?" by depth."""
    request = result.request
    post = request.arms.index("post")
    yes = [n for d, n in enumerate(request.depths) if trained_at(result, d, post)]
    no = [n for n in request.depths if n not in yes]
    if not no:
        return _("Post-norm trains without warmup at every depth tried here, at some rate.")
    if not yes:
        return _("Post-norm without warmup trains at no depth tried here, whatever the rate.")
    return _(
        "Post-norm without warmup trains, at some rate, with {yes} blocks, and at no rate tried "
        "with {no}."
    ).format(yes=", ".join(map(integer, yes)), no=", ".join(map(integer, no)))


def warmup_gain(result: SweepResult, d: int, r: int) -> float:
    """Return what warmup gains under post-norm, in nats; 0 if the seeds' ranges overlap.

    Infinite where only the variant with warmup (minus: without) has a seed that did not break.
    """
    arms = result.request.arms
    old = _sound(result, d, arms.index("post"), r)
    new = _sound(result, d, arms.index("post-warmup"), r)
    if old.size == 0 or new.size == 0:
        ends = (bool(old.size), bool(new.size))
        return {(False, True): math.inf, (True, False): -math.inf}.get(ends, 0.0)
    if new.max() >= old.min() and new.min() <= old.max():
        return 0.0
    return float(old.mean() - new.mean())


def warmup_sentence(result: SweepResult) -> str:
    """Say where warmup makes a difference on which all seeds agree, and which."""
    request = result.request
    without, with_it = request.arms.index("post"), request.arms.index("post-warmup")
    better: list[str] = []
    worse: list[str] = []
    pairs = [(d, r) for d in range(len(request.depths)) for r in range(len(request.lrs))]
    for d, r in pairs:
        gain, depth = warmup_gain(result, d, r), request.depths[d]
        if abs(gain) >= HELPS:
            place = ngettext("{n} block at {lr}", "{n} blocks at {lr}", depth).format(
                n=integer(depth), lr=rate(request.lrs[r])
            )
            ends = (_end(_sound(result, d, arm, r)) for arm in (without, with_it))
            (better if gain > 0 else worse).append(f"{place} ({' → '.join(ends)})")
    parts = [
        _("Warmup against none under post-norm, in {n} pairs of depth and rate:").format(
            n=integer(len(pairs))
        ),
        ngettext(
            "better with every seed, by {least} nats or more, in {n} case",
            "better with every seed, by {least} nats or more, in {n} cases",
            len(better),
        ).format(n=integer(len(better)), least=number(HELPS))
        + (f": {'; '.join(better)}." if better else "."),
        ngettext(
            "Worse in the same sense in {n} case",
            "Worse in the same sense in {n} cases",
            len(worse),
        ).format(n=integer(len(worse)))
        + (f": {'; '.join(worse)}." if worse else "."),
        _("In the other {n} it makes no such difference.").format(
            n=integer(len(pairs) - len(better) - len(worse))
        ),
    ]
    return " ".join(parts)


def _sound(result: SweepResult, d: int, a: int, r: int) -> Doubles:
    """Return the losses of the seeds that did not break."""
    return result.held_out_loss[d, a, r][result.broken_step[d, a, r] == 0]


def _end(losses: Doubles) -> str:
    return number(float(losses.mean())) if losses.size else _("broke")


def sentences(result: SweepResult) -> list[str]:
    """Return all readings of the sweep."""
    depths = [depth_sentence(result, d) for d in range(len(result.request.depths))]
    return [claim_sentence(result), *depths, warmup_sentence(result)]
