"""What a race says in words: who learned, who stood still, who broke, and in what time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from andrea.measures.gradients import Doubles
from andrea.requests_race import BYTES, RACE_ARMS, RaceRequest
from app.figures.gradients import plain
from app.i18n import _, integer, ngettext, number
from app.race_drawing import Drawing
from app.readings import voice

STILL = 0.15  # nats: who is not further below the loss of single letters has hardly learned
GUESSING = math.log(BYTES)
EXPLODED = 20 * GUESSING


def arm_label(arm: str) -> str:
    """Return a variant's name in words."""
    return {
        "pre": _("pre-norm"),
        "post": _("post-norm"),
        "post-warmup": _("post-norm, warmup"),
        "pre-cut": _("pre-norm, no residual"),
        "none": _("no LayerNorm"),
        "pre-warmup": _("pre-norm, warmup"),
        "none-warmup": _("no LayerNorm, warmup"),
        "relu": _("pre-norm, ReLU"),
    }[arm]


def rate(lr: float) -> str:
    """Write a learning rate with the digits that it has."""
    return plain(lr, voice())


def settings_line(request: RaceRequest, with_seed: bool = True) -> str:
    """Return the settings of a race in one line."""
    parts = [
        ngettext("{n} block × {width}", "{n} blocks × {width}", request.n_layer).format(
            n=integer(request.n_layer), width=request.d_model
        ),
        _("learning rate {lr}").format(lr=rate(request.lr)),
        _("{n} steps").format(n=integer(request.steps)),
    ]
    if any(RACE_ARMS[arm].warmup for arm in request.arms):
        parts.append(_("warmup over {n} steps").format(n=integer(request.warmup)))
    if with_seed:
        parts.append(_("seed {n}").format(n=request.seed))
    return " · ".join(parts)


def levels_sentence(unigram: float, bigram: float) -> str:
    """Say what the two dotted lines are."""
    return _(
        "To compare with: who knows only how frequent each letter is loses {unigram} nats a byte "
        "on text not seen before; who also knows the letter before, {bigram}; who guesses blindly "
        "among 256 bytes, {blind}."
    ).format(unigram=number(unigram), bigram=number(bigram), blind=number(GUESSING))


def loss_text(loss: float) -> str:
    """Write a loss: nats with two decimals; one that has gone astray without."""
    return number(loss, 2 if not loss >= 100 else 0)


def spread(values: Doubles) -> str:
    """Write a mean, with the smallest and the largest value where there are several."""
    mean = loss_text(float(values.mean()))
    if len(values) < 2 or not np.isfinite(values).all():
        return mean
    return _("{mean} ({least} to {most} over {n} seeds)").format(
        mean=mean,
        least=loss_text(float(values.min())),
        most=loss_text(float(values.max())),
        n=integer(len(values)),
    )


def verdict(loss: float, unigram: float, bigram: float) -> str:
    """Say what a held-out loss means, beside what counting letters gives."""
    if loss > EXPLODED:
        return _("it has exploded, though it is still a number")
    if loss > GUESSING:
        return _("worse than guessing blindly")
    if loss > unigram + STILL:
        return _("it has not even learned how frequent each letter is")
    if loss > unigram - STILL:
        return _("it has learned how frequent each letter is, and little else")
    if loss > bigram:
        return _("more than the letters' frequencies, less than what the letter before tells")
    return _("better than knowing the letter before: it uses what lies further back")


def arm_sentence(drawing: Drawing, arm: int) -> str:
    """Say how a variant ended: its held-out loss, what it means, what it took."""
    label, breaks = arm_label(drawing.request.arms[arm]), drawing.breaks(arm)
    if breaks:
        return break_sentence(drawing, arm)
    values = drawing.held_out[:, arm]
    return _("{arm}: held-out loss {loss}: {verdict}. {seconds} s of computing.").format(
        arm=label,
        loss=spread(values),
        verdict=verdict(float(values.mean()), drawing.unigram, drawing.bigram),
        seconds=number(float(drawing.seconds[:, arm].mean()), 1),
    )


def break_sentence(drawing: Drawing, arm: int) -> str:
    """Say at which step a variant broke, and what that means."""
    breaks, seeds = drawing.breaks(arm), len(drawing.broken)
    first = min(breaks, key=lambda b: b.step)
    what = _("the loss") if first.what == "loss" else _("the gradient")
    steps = ", ".join(integer(b.step) for b in breaks)
    if seeds > 1:
        where = ngettext(
            "{arm}: broke in {n} of {seeds} seeds, at step {steps}.",
            "{arm}: broke in {n} of {seeds} seeds, at steps {steps}.",
            len(breaks),
        )
    else:
        where = _("{arm}: broke at step {steps}.")
    said = where.format(
        arm=arm_label(drawing.request.arms[arm]),
        n=integer(len(breaks)),
        seeds=integer(seeds),
        steps=steps,
    )
    why = _(
        "From there {what} was no longer a finite number: somewhere a value had outgrown what "
        "float32 can hold, and with it no step can be computed. Nothing is missing in the "
        "figure: the ✖ is the result."
    ).format(what=what)
    sound = drawing.ends(arm) if 0 < len(breaks) < len(drawing.held_out) else np.zeros(0)
    rest = [_("The other seeds end at {loss}.").format(loss=spread(sound))] if sound.size else []
    return " ".join([said, why, *rest])


def running_sentences(drawing: Drawing) -> list[str]:
    """Say of a race that is on, or was stopped, where each variant stands."""
    said = []
    for k, arm in enumerate(drawing.request.arms):
        if drawing.breaks(k):
            said.append(break_sentence(drawing, k))
        elif drawing.loss.shape[2]:
            recent = drawing.loss[0, k, -10:]
            said.append(
                ngettext(
                    "{arm}: {loss} on the last batch.",
                    "{arm}: {loss} on the last {n} batches.",
                    len(recent),
                ).format(
                    arm=arm_label(arm), loss=loss_text(float(recent.mean())), n=integer(len(recent))
                )
            )
    return said


def names(drawing: Drawing, arms: Sequence[int]) -> str:
    """List variants, each in quotes, with the language's "and"."""
    quoted = [_("“{arm}”").format(arm=arm_label(drawing.request.arms[k])) for k in arms]
    if len(quoted) == 1:
        return quoted[0]
    return _("{first} and {last}").format(first=", ".join(quoted[:-1]), last=quoted[-1])


def prediction_reading(drawing: Drawing) -> str:
    """Answer "who learns, who stands still, who breaks?" from the numbers."""
    ends = [float(drawing.ends(k).mean()) for k in range(len(drawing.request.arms))]
    line = drawing.unigram
    broke = [k for k in range(len(ends)) if drawing.breaks(k)]
    going = [k for k in range(len(ends)) if k not in broke]
    learned = sorted((k for k in going if ends[k] <= line - STILL), key=lambda k: ends[k])
    astray = [k for k in going if ends[k] > GUESSING]
    still = [k for k in going if k not in learned and k not in astray]
    parts = []
    if learned:
        each = ", ".join(f"{arm_label(drawing.request.arms[k])} {number(ends[k])}" for k in learned)
        parts.append(_("Learns, by held-out loss: {each}.").format(each=each))
    if still:
        parts.append(
            _("Stands still near the frequencies of letters ({loss}): {arms}.").format(
                loss=number(line), arms=names(drawing, still)
            )
        )
    if astray:
        parts.append(
            _("Goes astray, worse at the end than blind guessing ({loss}): {arms}.").format(
                loss=number(GUESSING), arms=names(drawing, astray)
            )
        )
    if broke:
        parts.append(_("Breaks: {arms}.").format(arms=names(drawing, broke)))
    else:
        parts.append(
            _("At this learning rate no loss stops being a number; with a higher one, see below.")
        )
    return " ".join(parts)
