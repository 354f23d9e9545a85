"""What the race of GELU and ReLU says, whatever comes out: sentences made from its numbers."""

from __future__ import annotations

from andrea.measures.race import RaceResult
from andrea.measures.race_pairs import Pairs
from app import saved_races
from app.i18n import _, integer, number, percent, signed


def intro(race: RaceResult) -> str:
    """Say what is equal in the two models."""
    request = race.request
    return _(
        "The swap above is not a fair trial: those weights were trained with GELU. Here are small "
        "models trained with either from the start, {n} blocks × {width}, with {parameters} "
        "parameters each: with the same seed the same matrices at the start, the same batches, "
        "{steps} steps. Only the activation differs."
    ).format(
        n=integer(request.n_layer),
        width=integer(request.d_model),
        parameters=integer(race.provenance.n_parameters),
        steps=integer(request.steps),
    )


def difference(found: Pairs) -> str:
    """Say how far the two ended apart, seed by seed, and what that is worth."""
    n = len(found.seeds)
    text = _("GELU ends lower with {k} of {n} seeds.").format(k=integer(found.ahead), n=integer(n))
    text += " " + _(
        "The difference GELU − ReLU is {mean} nats a byte on average, from {low} to {high} over "
        "the seeds; its standard deviation is {deviation}."
    ).format(
        mean=signed(found.mean, 4),
        low=signed(float(found.difference.min()), 4),
        high=signed(float(found.difference.max()), 4),
        deviation=number(found.deviation, 4),
    )
    if not found.apart:
        end = _(
            "The 95% interval of the mean, {low} to {high}, holds zero: with these seeds the two "
            "cannot be told apart."
        )
    elif found.mean < 0:
        end = _(
            "The 95% interval of the mean, {low} to {high}, lies below zero: in this setting GELU "
            "ends lower."
        )
    else:
        end = _(
            "The 95% interval of the mean, {low} to {high}, lies above zero: in this setting ReLU "
            "ends lower."
        )
    low, high = found.mean - found.reach, found.mean + found.reach
    text += " " + end.format(low=signed(low, 3), high=signed(high, 3))
    if found.chance < 1:
        text += " " + _(
            "A coin tossed for each seed would give a result at least as lopsided {chance} of the "
            "time."
        ).format(chance=percent(found.chance))
    return text


def standing(found: Pairs, race: RaceResult) -> str:
    """Say what the models have learned, and how much the seed decides beside the activation."""
    gelu, relu = (saved_races.ranged(column) for column in found.losses.T)
    spread = float(found.losses.mean(axis=1).max() - found.losses.mean(axis=1).min())
    return _(
        "Held-out loss: GELU {gelu}, ReLU {relu}; who knows only how frequent each letter is "
        "loses {unigram}, who also knows the letter before {bigram}. From the best seed to "
        "the worst the pairs' means lie {spread} apart, whatever the activation."
    ).format(
        gelu=gelu,
        relu=relu,
        unigram=number(race.unigram, 2),
        bigram=number(race.bigram, 2),
        spread=number(spread, 3),
    )


def limits(found: Pairs, race: RaceResult) -> str:
    """Say what this race can show and what it cannot."""
    request = race.request
    return _(
        "What this can show: how two models of {blocks} blocks × {width} fare in {steps} steps at "
        "one learning rate, {lr}, on one text, with {n} seeds. A mean difference below about "
        "{reach} would go unnoticed. What it cannot: say anything about large models, longer "
        "training, other rates or other texts."
    ).format(
        blocks=integer(request.n_layer),
        width=integer(request.d_model),
        steps=integer(request.steps),
        lr=number(request.lr, 3),
        n=integer(len(found.seeds)),
        reach=number(found.reach, 3),
    )
