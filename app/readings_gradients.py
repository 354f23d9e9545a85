"""What the laboratory says in words: how the gradient changes, whether tokens stay apart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from andrea import lab
from andrea.measures.gradients import Doubles, GradientsResult
from app.figures.base import size_of
from app.figures.gradients import TINY
from app.i18n import _, integer, ngettext, number
from app.readings import voice

Results = Mapping[str, GradientsResult]
USABLE = (1e-3, 1e3)  # a factor within it can be made up for by the optimiser
COLLAPSED = 0.999
FLAT = 10.0  # largest over smallest, up to which a profile looks flat


def arm_label(arm: str) -> str:
    """Return an arm's name in words."""
    return {
        "pre": _("pre-norm, residual"),
        "post": _("post-norm, residual"),
        "none": _("no LayerNorm, residual"),
        "pre-cut": _("pre-norm, no residual"),
        "post-cut": _("post-norm, no residual"),
        "plain": _("plain stack, neither"),
        lab.TRAINED_ARM: _("andrea-mini, trained"),
    }[arm]


def typical(values: Doubles) -> Doubles:
    """Return the median over seeds, [places]."""
    return np.asarray(np.median(values, axis=0), dtype=np.float64)


def factor(result: GradientsResult) -> float:
    """Return ||dL/dx_0|| / ||dL/dx_L||, median over seeds; NaN where it has none."""
    gradient = typical(result.stream_grad_norms)
    if not np.isfinite(gradient).all() or gradient[-1] == 0:
        return float("nan")
    return float(gradient[0] / gradient[-1])


def size(x: float) -> str:
    """Write a factor or a norm with about two or three digits."""
    return size_of(voice(), x)


def gradient_sentence(arm: str, result: GradientsResult) -> str:
    """Say by what factor the gradient changes from output to embeddings, and what that means."""
    gradient, forward = typical(result.stream_grad_norms), typical(result.stream_norms)
    label = arm_label(arm)
    if not np.isfinite(forward).all():
        first = int(np.argmax(~np.isfinite(forward)))
        return _(
            "{arm}: the stream overflows float32 in block {block} on its way forward, so there is "
            "no loss and no gradient at all."
        ).format(arm=label, block=integer(first))
    if not np.isfinite(gradient).all():
        last = int(np.flatnonzero(~np.isfinite(gradient))[-1])
        return _("{arm}: on its way back the gradient overflows float32 at block {block}.").format(
            arm=label, block=integer(last)
        )
    if gradient[0] < TINY:
        last = int(np.flatnonzero(gradient < TINY)[-1])
        return _(
            "{arm}: on its way back the gradient vanishes below what float32 can hold at block "
            "{block}; the embeddings get nothing they could use."
        ).format(arm=label, block=integer(last))
    ratio = factor(result)
    if ratio < USABLE[0]:
        return _(
            "{arm}: from output to embeddings the gradient shrinks to {ratio} of its size, far too "
            "little for the first blocks to learn from."
        ).format(arm=label, ratio=size(ratio))
    if ratio > USABLE[1]:
        return _(
            "{arm}: from output to embeddings the gradient grows {ratio} times; a step that suits "
            "the last block tears the first ones apart."
        ).format(arm=label, ratio=size(ratio))
    return _(
        "{arm}: from output to embeddings the gradient is multiplied by {ratio}, and stays usable."
    ).format(arm=label, ratio=size(ratio))


def collapsed(result: GradientsResult) -> bool:
    """Whether different positions end up pointing the same way."""
    return bool(typical(result.token_cosine)[-1] > COLLAPSED)


def names(arms: list[str]) -> str:
    """List arms, each in quotes, with the language's "and"."""
    quoted = [_("“{arm}”").format(arm=arm_label(arm)) for arm in arms]
    if len(quoted) == 1:
        return quoted[0]
    return _("{first} and {last}").format(first=", ".join(quoted[:-1]), last=quoted[-1])


def healthy_but_collapsed(results: Results) -> list[str]:
    """Return the arms whose gradient keeps its size while their tokens have collapsed."""
    return [
        arm
        for arm, result in results.items()
        if USABLE[0] <= factor(result) <= USABLE[1] and collapsed(result)
    ]


def size_warning(results: Results) -> str | None:
    """Say where the size of the gradient, seen alone, misleads."""
    arms = healthy_but_collapsed(results)
    if not arms:
        return None
    return _(
        "This view alone misleads. By its size the gradient of {arms} looks healthy; but look at "
        "the tokens: they have become one and the same, so it carries nothing that tells them "
        "apart."
    ).format(arms=names(arms))


def cosine_sentence(arm: str, result: GradientsResult) -> str:
    """Say whether an arm's tokens can still be told apart after the last block."""
    cosine = typical(result.token_cosine)
    label, depth = arm_label(arm), integer(result.config.n_layer)
    if np.isnan(cosine[-1]):
        first = int(np.argmax(np.isnan(cosine)))
        return _("{arm}: from block {block} on the vectors are zero or not finite.").format(
            arm=label, block=integer(first)
        )
    if cosine[-1] > COLLAPSED:
        first = int(np.argmax(cosine > COLLAPSED))
        return _(
            "{arm}: the tokens collapse. From block {block} on the mean cosine between two "
            "positions is above {limit}; after the last it is {cosine}."
        ).format(
            arm=label,
            block=integer(first),
            limit=number(COLLAPSED, 3),
            cosine=number(cosine[-1], 5),
        )
    if cosine[-1] > 0.95:
        return _(
            "{arm}: after block {depth} the mean cosine is {cosine}; the tokens are barely apart."
        ).format(arm=label, depth=depth, cosine=number(cosine[-1], 3))
    return _(
        "{arm}: after block {depth} the mean cosine is {cosine}; the tokens stay distinguishable."
    ).format(arm=label, depth=depth, cosine=number(round(float(cosine[-1]), 2), 2))


def weights_sentence(arm: str, result: GradientsResult, kind: str) -> str:
    """Say how far apart the gradients of one kind of weight are from block to block."""
    rows = typical(result.weight_grad_norms[kind]) if kind in result.weight_grad_norms else None
    label = arm_label(arm)
    if rows is None:
        return _("{arm}: it has no such weights.").format(arm=label)
    if not np.isfinite(rows).all():
        return _("{arm}: not finite.").format(arm=label)
    if rows.min() < TINY:
        n = int((rows < TINY).sum())
        return ngettext(
            "{arm}: it has vanished below float32 in {n} block.",
            "{arm}: it has vanished below float32 in {n} blocks.",
            n,
        ).format(arm=label, n=integer(n))
    return _("{arm}: first block {first}, last block {last}.").format(
        arm=label, first=size(rows[0]), last=size(rows[-1])
    )


def weights_warning(results: Results, kind: str) -> str | None:
    """Say where the weights' gradients, seen alone, hide that the stream's has vanished."""
    for arm, result in results.items():
        rows = typical(result.weight_grad_norms.get(kind, np.full((1, 1), np.nan)))
        ratio = factor(result)
        if np.isfinite(rows).all() and TINY <= rows.min() and ratio < USABLE[0]:
            spread = float(rows.max() / rows.min())
            if spread < FLAT:
                return _(
                    "This view alone misleads. The profile of {arm} is flat: largest and smallest "
                    "differ by a factor of {spread} only, while the stream's gradient shrinks to "
                    "{ratio}. A weight's gradient is the gradient from above times the activation "
                    "from below; going back the one shrinks, the other grows just as fast."
                ).format(arm=names([arm]), spread=size(spread), ratio=size(ratio))
    return None


def norm_sentence(arm: str, result: GradientsResult) -> str:
    """Say how the stream's length changes on its way forward."""
    forward = typical(result.stream_norms)
    label = arm_label(arm)
    if not np.isfinite(forward).all():
        first = int(np.argmax(~np.isfinite(forward)))
        return _("{arm}: overflows float32 in block {block}.").format(
            arm=label, block=integer(first)
        )
    if forward[-1] < TINY:
        return _("{arm}: from {first} down to nothing that float32 can hold.").format(
            arm=label, first=size(forward[0])
        )
    return _("{arm}: from {first} to {last}.").format(
        arm=label, first=size(forward[0]), last=size(forward[-1])
    )


def prediction_reading(results: Results) -> str:
    """Answer "which arm loses its gradient?" from the measured numbers."""
    factors = {arm: factor(result) for arm, result in results.items()}
    lost = [
        arm
        for arm, result in results.items()
        if factors[arm] < USABLE[0] or typical(result.stream_grad_norms)[0] < TINY
    ]
    if not lost:
        return _("Here none of them loses its gradient: look at the factors below.")
    answer = _("Its size is lost in {arms}.").format(arms=names(lost))
    kept = healthy_but_collapsed(results)
    if kept:
        answer += " " + _(
            "The others keep it; but in {arms} the tokens collapse, so that the gradient survives "
            "and its content does not."
        ).format(arms=names(kept))
    return answer


def sweep_sentence(arm: str, exponent: float, theory: float | None) -> str:
    """Say how one arm's last W_2 gradient goes with depth, beside the theory."""
    label = arm_label(arm)
    if theory is None:
        return _(
            "{arm}: proportional to depth to the power {exponent}; the theorem says nothing on it."
        ).format(arm=label, exponent=number(exponent, 2))
    return _(
        "{arm}: proportional to depth to the power {exponent}; the theorem says {theory}."
    ).format(arm=label, exponent=number(exponent, 2), theory=number(theory, 1 if theory else 0))
