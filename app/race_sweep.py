"""Warmup and depth: the saved sweep as a heat map, its best losses, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from andrea import saved_race
from andrea.measures.gradients import Doubles
from andrea.measures.race_sweep import SweepResult
from app import layout, race_csv, race_frames, readings, tables, theme
from app.figures import race_sweep as figures
from app.i18n import _, integer, ngettext, number
from app.layout import Download
from app.readings_race import STILL, arm_label, rate

MAKE = "python -m andrea race --sweep --save"


def show() -> None:
    """Show the sweep, or say how to make it."""
    result = saved_race.saved_sweep()
    if result is None:
        layout.notice(_("No sweep is saved here yet. This makes it, in about an hour:"))
        st.code(MAKE, language="bash")
        return
    request, p = result.request, result.provenance
    layout.notice(
        _(
            "Saved: {races} races of {steps} steps, width {width}, warmup over {warmup} steps, "
            "seeds {seeds}. Run on {date} on {machine}."
        ).format(
            races=integer(len(list(request.races()))),
            steps=integer(request.steps),
            width=integer(request.d_model),
            warmup=integer(request.warmup),
            seeds=", ".join(map(str, request.seeds)),
            date=p.date[:10],
            machine=p.device_name,
        )
    )
    left, right = st.columns([3, 2], gap="medium")
    with left:
        key = ("sweep", p.weights_sha256)
        (heat_map,) = race_frames.shared.get(key, lambda: (figure(result),))
        alt = _("Final held-out loss by learning rate and variant")
        race_frames.chart(heat_map, "sweep", alt)
    with right:
        layout.readings(sentences(result))
    table(result)
    with st.expander(_("Where these numbers come from")):
        layout.provenance(replace(p, model=arm_label(request.arms[0])))


def means(result: SweepResult) -> Doubles:
    """Return [depths, variants, rates]: the mean over the seeds that did not break, or NaN."""
    sound = np.where(result.broken_step == 0, result.held_out_loss, np.nan)
    count = np.isfinite(sound).sum(axis=-1)
    total = np.where(np.isfinite(sound), sound, 0.0).sum(axis=-1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def figure(result: SweepResult) -> go.Figure:
    """Return the heat map."""
    request, mean = result.request, means(result)
    panels = [
        figures.Panel(
            ngettext("{n} block", "{n} blocks", depth).format(n=depth),
            mean[d],
            (result.broken_step[d] > 0).sum(axis=-1),
            [[_hover(result, d, a, r) for r in range(len(request.lrs))]
             for a in range(len(request.arms))],
        )
        for d, depth in enumerate(request.depths)
    ]  # fmt: skip
    return figures.heat_map(
        panels,
        [arm_label(arm) for arm in request.arms],
        [rate(lr) for lr in request.lrs],
        len(request.seeds),
        result.unigram,
        theme.current(),
        readings.voice(),
    )


def _hover(result: SweepResult, d: int, a: int, r: int) -> str:
    """Write every seed's loss, or the step at which it broke."""
    return " · ".join(
        number(float(loss)) if not step else _("broke at step {step}").format(step=integer(step))
        for loss, step in zip(
            result.held_out_loss[d, a, r], result.broken_step[d, a, r].tolist(), strict=True
        )
    )


# -- what the numbers say --------------------------------------------------------------------------


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


def table(result: SweepResult) -> None:
    """Show the best loss of every variant at every depth."""
    request = result.request
    lines = []
    for d, depth in enumerate(request.depths):
        found = [best(result, d, a) for a in range(len(request.arms))]
        cells = [_("always broke") if one is None else one.written() for one in found]
        lines.append(tables.Line([integer(depth), *cells]))
    name = _("Best held-out loss over the learning rates")
    layout.label(_("{name}: mean (lowest – highest seed) at rate").format(name=name))
    tables.table(name, [_("Blocks"), *map(arm_label, request.arms)], lines)


def _listed(lrs: list[float], of: int) -> str:
    if not lrs:
        return _("at none of the {n} rates").format(n=integer(of))
    return _("at {rates}").format(rates=", ".join(map(rate, lrs)))


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


def warmup_sentence(result: SweepResult) -> str:
    """Say where warmup makes a difference larger than the seeds': one, or none."""
    request = result.request
    without, with_it = request.arms.index("post"), request.arms.index("post-warmup")
    better, worse, same = [], [], 0
    for d, depth in enumerate(request.depths):
        for r, lr in enumerate(request.lrs):
            old, new = _sound(result, d, without, r), _sound(result, d, with_it, r)
            place = ngettext("{n} block at {lr}", "{n} blocks at {lr}", depth).format(
                n=integer(depth), lr=rate(lr)
            )
            if old.size == 0 and new.size == 0:
                same += 1
            elif old.size == 0 or (new.size and new.max() < old.min()):
                better.append(f"{place} ({_end(old)} → {_end(new)})")
            elif new.size == 0 or new.min() > old.max():
                worse.append(f"{place} ({_end(old)} → {_end(new)})")
            else:
                same += 1
    parts = [
        _("Warmup against none under post-norm, in {n} pairs of depth and rate:").format(
            n=integer(len(request.depths) * len(request.lrs))
        ),
        _("better with every seed in {n}").format(n=integer(len(better)))
        + (f": {'; '.join(better)}." if better else "."),
        _("Worse with every seed in {n}").format(n=integer(len(worse)))
        + (f": {'; '.join(worse)}." if worse else "."),
        _("In the other {n} the seeds overlap.").format(n=integer(same)),
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


def downloads() -> list[Download]:
    """Return the sweep's file, if there is a sweep."""
    result = saved_race.saved_sweep()
    if result is None:
        return []
    return [Download(_("The sweep (CSV)"), lambda: race_csv.sweep_table(result), "sweep.csv")]
