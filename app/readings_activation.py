"""The sentences of GELU and ReLU, made from the numbers that its figures show (plain text)."""

from __future__ import annotations

import numpy as np

from andrea.measures.activation import ActivationResult, Layers, PreActivationsResult, SwapResult
from andrea.measures.activation_error import Approximation
from app.figures.base import share, shown, size_of
from app.i18n import _, integer, ngettext, number, percent, signed
from app.readings import voice


def part(x: float) -> str:
    """Write a share."""
    return share(voice(), x)


def guesses() -> list[str]:
    """Return the answers to choose from."""
    return [_("Hardly any"), _("About half"), _("Clearly more than half")]


def prediction_reading(result: ActivationResult) -> str:
    """Say which share is negative, over all blocks and at the ends, and what it was at first."""
    negative = result.layers.negative
    low, high = int(negative.argmin()), int(negative.argmax())
    text = _(
        "Over all blocks {mean} of the pre-activations are negative here: from {least} in block "
        "{low} to {most} in block {high}."
    ).format(
        mean=part(float(negative.mean())),
        least=part(float(negative[low])),
        low=integer(low + 1),
        most=part(float(negative[high])),
        high=integer(high + 1),
    )
    if result.init is None:
        return text + " " + _("Fresh weights have no preference: about half.")
    return (
        text
        + " "
        + _("In fresh weights of the same shape it is {init}: training moves it.").format(
            init=part(float(result.init.negative.mean()))
        )
    )


def approximation_reading(near: Approximation) -> str:
    """Say how far the forms are apart, and in which formats rounding is larger."""
    found = {f.name: f for f in near.formats}
    return _(
        "The two forms are at most {gap} apart, at x = ±{at} (Φ alone: {phi}, at ±{phi_at}). In "
        "float32 that is {times} times the largest rounding error; in bfloat16 and float16 the "
        "exact form itself is rounded by up to {bf} and {half}, more than the gap."
    ).format(
        gap=number(near.largest, 6),
        at=number(near.at, 3),
        phi=number(near.phi_largest, 6),
        phi_at=number(near.phi_at, 3),
        times=integer(round(near.largest / found["float32"].exact)),
        bf=number(found["bfloat16"].exact, 4),
        half=number(found["float16"].exact, 4),
    )


def histogram_reading(values: np.ndarray, half: float) -> str:
    """Say what share of the shown pre-activations is negative and how they are spread."""
    outside = int((np.abs(values) > half).sum())
    text = _("{share} of {n} pre-activations are negative; half of them lie between {a} and {b}.")
    a, b = np.quantile(values, [0.25, 0.75])
    text = text.format(
        share=part(float((values < 0).mean())),
        n=integer(values.size),
        a=number(float(a), 2),
        b=number(float(b), 2),
    )
    return text + (" " + outside_note(outside, half) if outside else "")


def counted_reading(layers: Layers, layer: int, half: float) -> str:
    """Say the same of the passages, whose numbers are kept as a histogram."""
    text = _("{share} of {n} pre-activations are negative (BOS left out).").format(
        share=part(float(layers.negative[layer])),
        n=integer(layers.n_positions * layers.n_units),
    )
    outside = int(layers.outside[layer].sum())
    return text + (" " + outside_note(outside, half) if outside else "")


def outside_note(n: int, half: float) -> str:
    """Say how many numbers lie beyond the histogram."""
    return ngettext(
        "{n} lies beyond ±{half} and is not drawn.",
        "{n} lie beyond ±{half} and are not drawn.",
        n,
    ).format(n=integer(n), half=number(half, 0))


def dots_reading(result: PreActivationsResult, units: np.ndarray) -> str:
    """Say which units the dots are, and what becomes of the first at either end."""
    pre, post = result.pre[result.position], result.post[result.position]
    top, low = int(units[0]), int(units[len(units) // 2])
    return _(
        "The dots are the units in which “{token}” reaches highest and lowest, {n} each. Unit "
        "{top} reads {a} and hands on {b}; unit {low} reads {c} and hands on {d}."
    ).format(
        n=integer(len(units) // 2),
        token=shown(result.labels[result.position]),
        top=integer(top + 1),
        a=size_of(voice(), float(pre[top])),
        b=size_of(voice(), float(post[top])),
        low=integer(low + 1),
        c=size_of(voice(), float(pre[low])),
        d=size_of(voice(), float(post[low])),
    )


def cut_reading(layers: Layers, layer: int) -> str:
    """Say what part of one block's output ReLU would cut, and which units never fire."""
    return (
        _(
            "In block {block} the part of the MLP's output that comes from negative "
            "pre-activations is {size} as long as the whole output; in the direction of the whole "
            "it contributes {share}. ReLU would cut it."
        ).format(
            block=integer(layer + 1),
            size=part(float(layers.cut_size[layer])),
            share=signed_part(float(layers.cut_share[layer])),
        )
        + " "
        + silent_reading(layers, layer)
    )


def signed_part(x: float) -> str:
    """Write a share with its sign."""
    return ("+" if x > 0 else "") + percent(x, 1)


def silent_reading(layers: Layers, layer: int) -> str:
    """Say how many of one block's units never fire."""
    silent = int(layers.silent[layer])
    text = ngettext(
        "{n} of {units} units is above zero at none of the {positions} positions.",
        "{n} of {units} units are above zero at none of the {positions} positions.",
        silent,
    )
    if not silent:
        text = _("Each of its {units} units is above zero at one of the {positions} positions at "
                 "least.")  # fmt: skip
    return text.format(
        n=integer(silent), units=integer(layers.n_units), positions=integer(layers.n_positions)
    )


def swap_title(result: SwapResult) -> str:
    """Name the swap."""
    if result.request.act_fn == "relu":
        return _("ReLU in place of GELU")
    return _("Exact GELU in place of the tanh form")


def swap_reading(result: SwapResult) -> str:
    """Say what the swap adds to the loss in all blocks, and in which block it counts most."""
    block = int(np.abs(result.change).mean(0).argmax())
    return _(
        "{title}, in all blocks, not retrained: the loss goes from {it} to {it_new} in Italian "
        "({it_change}) and from {en} to {en_new} in English ({en_change}). In one block alone it "
        "moves most in block {block}: {one_it} and {one_en}."
    ).format(
        title=swap_title(result),
        it=number(float(result.base_loss[0]), 3),
        it_new=number(float(result.base_loss[0] + result.change_all[0]), 3),
        it_change=change(float(result.change_all[0])),
        en=number(float(result.base_loss[1]), 3),
        en_new=number(float(result.base_loss[1] + result.change_all[1]), 3),
        en_change=change(float(result.change_all[1])),
        block=integer(block + 1),
        one_it=change(float(result.change[0, block])),
        one_en=change(float(result.change[1, block])),
    )


def change(x: float) -> str:
    """Write a change of the loss with its sign, small ones with more digits."""
    return signed(x, 3 if abs(x) >= 0.0005 else 6)


def swap_notice(result: SwapResult) -> str:
    """Say what the losses are means of."""
    return _(
        "Mean over {n} predicted tokens of the shipped passages in each language. The weights are "
        "those trained with the tanh form of GELU."
    ).format(n=integer(result.n_positions))
