"""The sentences of Normalisation, made from the numbers that its figures show (plain text)."""

from __future__ import annotations

import numpy as np

from andrea.measures.layernorm import Applied, Disturbed, layer_norm, statistics
from andrea.measures.norm import NormResult
from andrea.measures.stream_norms import StreamCurve, StreamNormsResult
from app.figures.base import shown, size_of
from app.i18n import _, integer, ngettext, number
from app.readings import voice

CLOSE = 1.05  # longest over shortest, up to which two lengths are called equal


def size(x: float) -> str:
    """Write a number with about three digits."""
    return size_of(voice(), x)


def precise(x: float) -> str:
    """Write a number with the digits that a reader needs who does the sum again."""
    if abs(x) < 1e-9:
        return number(0, 0)  # rounding alone
    return size(x) if abs(x) >= 2 or abs(x) < 0.0005 else number(x, 6)


def guesses() -> list[str]:
    """Return the answers to choose from."""
    return [_("Yes, in the same ratio"), _("Yes, but less"), _("No, both are equally long")]


def prediction_reading(result: NormResult) -> str:
    """Compare the longest and the shortest vector of the text, before and after the division."""
    lengths = np.linalg.norm(result.inputs.astype(np.float64), axis=-1)
    small, large = int(lengths.argmin()), int(lengths.argmax())
    after = [statistics(layer_norm(result.inputs[p], eps=result.eps)).norm for p in (small, large)]
    same = max(after) < CLOSE * min(after)
    text = _(
        "No. Here “{large}” is {times} times as long as “{small}”: {a} against {b}. After the "
        "division by the standard deviation their lengths are {c} and {d}: √{width} = {root}, but "
        "for what ε takes away. LayerNorm keeps the direction of the centred vector and drops its "
        "size; γ and β then change every token alike."
    )
    if not same:
        text = _(
            "Here they do. “{large}” is {times} times as long as “{small}”: {a} against {b}. After "
            "the division their lengths are {c} and {d}, not √{width} = {root}: these vectors are "
            "so short that ε counts beside their variance. Where the variance is much larger than "
            "ε, all come out equally long."
        )
    return text.format(
        large=shown(result.labels[large]),
        small=shown(result.labels[small]),
        times=size(float(lengths[large] / lengths[small])) if lengths[small] else "∞",
        a=size(float(lengths[large])),
        b=size(float(lengths[small])),
        c=number(after[1], 3),
        d=number(after[0], 3),
        width=integer(result.inputs.shape[1]),
        root=number(float(np.sqrt(result.inputs.shape[1])), 3),
    )


def where_reading(result: NormResult) -> str:
    """Say what vector this is, by where the LayerNorm stands."""
    config, request = result.provenance.config, result.request
    block = integer(request.layer + 1)
    if request.ln == "ln_final":
        return _("It reads the stream after the last block, just before the unembedding.")
    if config["norm"] == "none":
        return _(
            "This model has no LayerNorm. Shown is the stream in block {block}, and what a "
            "LayerNorm without γ and β would make of it."
        ).format(block=block)
    sentences = {
        ("pre", "ln1"): _(
            "In block {block} it reads the stream and hands its result to attention; the stream "
            "itself stays as it is."
        ),
        ("pre", "ln2"): _(
            "In block {block} it reads the stream and hands its result to the MLP; the stream "
            "itself stays as it is."
        ),
        ("added", "ln1"): _(
            "In block {block} it reads the stream after attention has added its part, and its "
            "result becomes the stream."
        ),
        ("added", "ln2"): _(
            "In block {block} it reads the stream after the MLP has added its part, and its "
            "result becomes the stream."
        ),
        ("replaced", "ln1"): _(
            "In block {block} it reads what attention has written in place of the stream, and its "
            "result becomes the stream."
        ),
        ("replaced", "ln2"): _(
            "In block {block} it reads what the MLP has written in place of the stream, and its "
            "result becomes the stream."
        ),
    }
    post = "added" if config["residual"] else "replaced"
    return sentences["pre" if config["norm"] == "pre" else post, request.ln].format(block=block)


def variance_reading(made: Applied) -> str:
    """Say mean and variance before and after; the variance after is var / (var + eps)."""
    b, n, o = made.before, made.after_normalized, made.after_out
    if not np.isfinite(made.expected_variance):
        return _(
            "All numbers of this vector are equal, so its variance is 0, and with ε = 0 LayerNorm "
            "divides 0 by 0: not a number. This is what ε is for."
        )
    return _(
        "Mean {m0}, variance {v0} before. After the division: mean {m1}, variance {v1}, which is "
        "var ÷ (var + ε) = {v0} ÷ ({v0} + {eps}). With γ and β: mean {m2}, variance {v2}."
    ).format(
        m0=precise(b.mean),
        v0=precise(b.variance),
        m1=precise(n.mean),
        v1=precise(n.variance),
        eps=number(made.eps, 0) if made.eps >= 1 or not made.eps else size(made.eps),
        m2=precise(o.mean),
        v2=precise(o.variance),
    )


def disturbed_reading(result: NormResult, found: Disturbed, other: int, factor: float) -> str:
    """Say how far the chosen row moves when another is multiplied: not at all."""
    return _(
        "“{other}” is multiplied by {factor}. Largest change in the LayerNorm of “{chosen}”: "
        "{moved}. If the averages ran down the column instead, over the tokens, it would change "
        "by {batch}."
    ).format(
        other=shown(result.labels[other]),
        factor=number(factor, 1 if factor % 1 else 0),
        chosen=shown(result.labels[result.position]),
        moved=number(found.per_token, 0) if not found.per_token else size(found.per_token),
        batch=size(found.per_batch),
    )


def later_reading(result: NormResult) -> str:
    """Say what the model itself did when later tokens were exchanged."""
    if result.later_change is None:
        return ""
    moved = number(0, 0) if not result.later_change else size(result.later_change)
    return ngettext(
        "In the model itself: {n} token after this one was exchanged for another and everything "
        "computed anew. Largest change in the output here: {moved}.",
        "In the model itself: {n} tokens after this one were exchanged for others and everything "
        "computed anew. Largest change in the output here: {moved}.",
        result.later_tokens,
    ).format(n=integer(result.later_tokens), moved=moved)


def count_reading(result: NormResult) -> str:
    """Say how many LayerNorms the model has, counted among its modules."""
    total, config = len(result.layernorms), result.provenance.config
    inside = sum(name.startswith("blocks.") for name in result.layernorms)
    if not total:
        return _("Counted in this model: no LayerNorm at all.")
    blocks = ngettext("{n} block", "{n} blocks", config["n_layer"]).format(n=config["n_layer"])
    if total == inside:
        return _(
            "Counted in this model: {total} LayerNorms, two in each of {blocks}. None stands at "
            "the end: post-norm has already normalised the stream there."
        ).format(total=integer(total), blocks=blocks)
    return _(
        "Counted in this model: {total} LayerNorms. {inside} stand in {blocks}, two in each, and "
        "{rest} before the unembedding."
    ).format(
        total=integer(total), inside=integer(inside), blocks=blocks, rest=integer(total - inside)
    )


def rms_reading(made: Applied) -> str:
    """Say what RMSNorm keeps: the mean; and how far the two are apart here."""
    near = made.rms_cosine > 0.999
    sentence = (
        _(
            "RMSNorm does not take the mean away: its result has mean {kept}, LayerNorm's 0. Here "
            "the mean, {mean}, is small beside the standard deviation, {deviation}, so the two "
            "results are nearly the same: cosine {cosine}, largest difference {difference}."
        )
        if near
        else _(
            "RMSNorm does not take the mean away: its result has mean {kept}, LayerNorm's 0. Here "
            "the mean, {mean}, counts beside the standard deviation, {deviation}, and the two "
            "results part: cosine {cosine}, largest difference {difference}."
        )
    )
    return sentence.format(
        kept=size(made.after_rms.mean),
        mean=size(made.before.mean),
        deviation=size(float(np.sqrt(made.before.variance))),
        cosine=number(made.rms_cosine, 6),
        difference=size(float(np.abs(made.normalized - made.rms).max())),
    )


def arm_name(c: StreamCurve) -> str:
    """Name an arm."""
    if c.trained:
        return _("andrea-mini, trained")
    return {"pre": _("pre-norm"), "post": _("post-norm"), "none": _("no LayerNorm")}[c.norm]


def stream_sentence(c: StreamCurve) -> str:
    """Say in one sentence what an arm's stream does through its blocks."""
    n, values = len(c.norms) - 1, c.norms
    blocks = ngettext("{n} block", "{n} blocks", n).format(n=integer(n))
    name = arm_name(c)
    name = name if c.trained else name[:1].upper() + name[1:]
    words = {"arm": name, "blocks": blocks, "first": size(float(values[0])),
             "last": size(float(values[-1])), "least": size(float(values[1:].min())),
             "most": size(float(values[1:].max()))}  # fmt: skip
    if not np.isfinite(values).all():
        return _("{arm}: not finite after {blocks}.").format(**words)
    if values[-1] < 1e-3 * values[0]:
        return _("{arm}: from {first} down to {last} after {blocks}: it vanishes.").format(**words)
    if c.norm == "post":
        if words["least"] == words["most"]:
            return _(
                "{arm}: pinned. From {first} at the embedding to {most} after every block."
            ).format(**words)
        return _("{arm}: from {first} at the embedding to between {least} and {most} after every "
                 "block.").format(**words)  # fmt: skip
    ratio = float(values[-1] / values[0])
    if ratio > 1.2:
        return _("{arm}: grows from {first} to {last} in {blocks}, {ratio} times.").format(
            **words, ratio=size(ratio)
        )
    return _("{arm}: from {first} to {last} in {blocks}.").format(**words)


def streams_notice(result: StreamNormsResult) -> str:
    """Say which weights these are and over what the lengths are averaged."""
    trained = [c for c in result.curves if c.trained]
    bos = ""
    if trained:
        bos = " " + _("In the trained model BOS reaches {size}, a length of its own.").format(
            size=size(float(trained[0].bos_norms.max()))
        )
    return (
        _(
            "Fresh weights with seed {seed}, the same in all variants, {init} initialisation. Mean "
            "length over the text's tokens without BOS."
        ).format(seed=integer(result.seed), init=result.init)
        + bos
    )
