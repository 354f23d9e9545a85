"""What the stream's length does in the race's small models, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from andrea.measures.race import RaceResult
from andrea.requests_race import RACE_ARMS
from app import saved_races
from app.i18n import _, integer, number
from app.readings_norm import size
from app.readings_race import GUESSING, STILL, arm_label

GROWN = 1.2  # after the last block over after the first, from which on a stream is said to grow
PINNED = 1.25  # largest over smallest, and either over √width, up to which it is called pinned
Doubles = npt.NDArray[np.float64]


def lengths(results: Sequence[RaceResult], arm: str) -> Doubles:
    """Return a variant's stream [seeds, 2 (before, after), boundaries]."""
    return np.stack([r.stream_norms[r.request.arms.index(arm)] for r in results])


def told(arm: str, results: Sequence[RaceResult]) -> str:
    """Say what a variant's stream does through its blocks, before training and after."""
    norms, request = lengths(results, arm), results[0].request
    if not np.isfinite(norms).all():
        return _("{variant}: after training the stream is no longer finite.").format(
            variant=name(arm)
        ) + broken(arm, results)  # fmt: skip
    if RACE_ARMS[arm].norm == "post":
        return normalised(arm, norms, request.d_model)
    (a, b, c), (d, e, f) = norms.mean(axis=0)[:, [0, 1, -1]]
    text = _(
        "{variant}: before the first step {a} at the embedding, {b} after block 1 and {c} after "
        "block {n}; after the last {d}, {e} and {f}."
    ).format(
        variant=name(arm), n=integer(request.n_layer),
        a=size(a), b=size(b), c=size(c), d=size(d), e=size(e), f=size(f),
    )  # fmt: skip
    return f"{text} {growth(float(c / b), float(f / e))}" + broken(arm, results)


def name(arm: str) -> str:
    """Return a variant's name as the beginning of a sentence."""
    plain = arm_label(arm)
    return plain[:1].upper() + plain[1:]


def growth(before: float, after: float) -> str:
    """Say whether the stream grows from block 1 to the last, by the ratios of the two."""
    if before > GROWN and after > GROWN:
        sentence = _(
            "From block 1 to the last its length is multiplied by {before} before training and by "
            "{after} after it."
        )
    elif after > GROWN:
        sentence = _(
            "From block 1 to the last it does not grow before training; after it, its length is "
            "multiplied by {after}."
        )
    elif before > GROWN:
        sentence = _(
            "From block 1 to the last its length is multiplied by {before} before training; after "
            "it, it does not grow."
        )
    else:
        sentence = _(
            "From block 1 to the last it does not grow, neither before training nor after it."
        )
    return sentence.format(before=size(before), after=size(after))


def normalised(arm: str, norms: Doubles, width: int) -> str:
    """Say between which lengths a stream lies that a LayerNorm stands on."""
    ends = [(float(x.min()), float(x.max())) for x in norms.mean(axis=0)[:, 1:]]
    root = float(np.sqrt(width))
    low, high = min(e[0] for e in ends), max(e[1] for e in ends)
    pinned = high < PINNED * root and low > root / PINNED
    sentence = (
        _(
            "{variant}: pinned. After every block {before} before the first step and {after} after "
            "the last; with γ = 1 and β = 0 a LayerNorm leaves √{width} = {root}."
        )
        if pinned
        else _(
            "{variant}: after every block {before} before the first step and {after} after the "
            "last; γ and β have taken it away from √{width} = {root}, where a LayerNorm with γ = 1 "
            "and β = 0 leaves it."
        )
    )
    return sentence.format(
        variant=name(arm),
        before=between(*ends[0]),
        after=between(*ends[1]),
        width=integer(width),
        root=number(root, 0 if root == round(root) else 2),
    )


def between(low: float, high: float) -> str:
    """Write a range, or one number where both ends read the same."""
    least, most = number(low, 2), number(high, 2)
    return least if least == most else _("{a} to {b}").format(a=least, b=most)


def broken(arm: str, results: Sequence[RaceResult]) -> str:
    """Say with how many seeds a variant broke, and when; nothing if it never did."""
    at = [b.step for r in results if (b := r.broken[r.request.arms.index(arm)]) is not None]
    if not at:
        return ""
    return " " + _(
        "With {k} of {n} seeds it broke, at the earliest at step {step}: its numbers were no "
        "longer finite, and it stopped with the weights that it had."
    ).format(k=integer(len(at)), n=integer(len(results)), step=integer(min(at)))


def learned(results: Sequence[RaceResult]) -> str:
    """Say which variants have learned anything: without that, a stream says little."""
    arms, counted = results[0].request.arms, results[0].unigram
    after = {arm: saved_races.held_out(results, arm)[:, 1] for arm in arms}
    good = [a for a in arms if (after[a] < counted - STILL).all()]
    # "not at most": NaN belongs here too
    blind = [a for a in arms if not (after[a] <= GUESSING).all()]
    rest = [a for a in arms if a not in good + blind]
    text = _(
        "What they have learned: who knows only how frequent each letter is loses {unigram} nats a "
        "byte on the held-out passages; who also knows the letter before, {bigram}."
    ).format(unigram=number(counted, 2), bigram=number(results[0].bigram, 2))
    if good:
        text += " " + _("Clearly below the first with every seed: {variants}.").format(
            variants=listed(good)
        )
    if rest:
        text += " " + _("Not clearly below it: {variants}.").format(variants=listed(rest))
    if blind:
        text += " " + _("Worse than blind guessing ({loss}): {variants}.").format(
            loss=number(GUESSING, 2), variants=listed(blind)
        )
    if rest or blind:
        text += " " + _(
            "The stream of a model that has learned next to nothing says little about what the "
            "same placement does in one that has learned."
        )
    return text


def listed(arms: Sequence[str]) -> str:
    """Write the variants' names, one after the other."""
    return "; ".join(arm_label(arm) for arm in arms)
