"""The words of Parameters: what each thing is called, and the sentences made from the counts."""

from __future__ import annotations

from collections.abc import Mapping

from andrea.measures.parameters import ParametersResult
from andrea.measures.reconciliation import Number, Statement
from app.figures.base import share
from app.i18n import _, integer, number, percent
from app.readings import voice

SWITCHES = ("bias", "norm_affine", "tie_embeddings")


def part_names() -> dict[str, str]:
    """Return what the parts of the model are called."""
    return {
        "embeddings": _("embeddings"),
        "blocks": _("blocks"),
        "final": _("final LayerNorm"),
    }


def cost_names() -> dict[str, str]:
    """Return what each cost is called."""
    return {
        "weights_float32": _("weights in float32"),
        "weights_bfloat16": _("weights in bfloat16"),
        "weights_int8": _("weights in int8"),
        "adam_moments": _("Adam's two moments, float32"),
        "training_float32": _("training in float32: weights, gradients, two moments"),
        "training_mixed": _("training in bfloat16: weights, gradients, float32 copy, two moments"),
        "kv_cache_float32": _("keys and values of a full context, float32"),
        "kv_cache_bfloat16": _("keys and values of a full context, bfloat16"),
        "forward_matrices": _("forward, without attention scores"),
        "forward_attention": _("attention scores and weighted sums, full context"),
        "forward": _("forward, full context"),
        "training": _("training: forward and backward"),
    }


def line_name(name: str) -> str:
    """Name a line of a comparison: tensors and sizes keep their own names."""
    others = {
        "attention": _("attention"),
        "mlp": _("MLP"),
        "norms": _("LayerNorms"),
        "trunk": _("all blocks"),
        "total": _("total"),
    }
    return (part_names() | cost_names() | others).get(name, name)


def bytes_text(n: int) -> str:
    """Write a number of bytes with about three digits; 1 MB is a million bytes."""
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n >= size:
            x = n / size
            return f"{number(x, 2 if x < 10 else 1 if x < 100 else 0)} {unit}"
    return _("{n} bytes").format(n=integer(n))


def flops_text(n: float) -> str:
    """Write a number of floating-point operations with about three digits."""
    for size, unit in ((10**12, "TFLOP"), (10**9, "GFLOP"), (10**6, "MFLOP"), (10**3, "kFLOP")):
        if n >= size:
            x = n / size
            return f"{number(x, 2 if x < 10 else 1 if x < 100 else 0)} {unit}"
    return f"{integer(round(n))} FLOP"


def verdict_words() -> dict[str, tuple[str, str]]:
    """Return each verdict's word and tone."""
    return {
        "holds": ("● " + _("holds"), "yes"),
        "depends": ("◐ " + _("depends"), ""),
        "does not hold": ("○ " + _("does not hold"), "no"),
    }


def amount(value: Number) -> str:
    """Write a count whole and a share as a percentage."""
    return integer(value) if isinstance(value, int) else percent(value, 1 if value > 0.01 else 2)


def reading_of(statement: Statement) -> str:
    """Return a statement's reading in the language in force, with its numbers."""
    values: Mapping[str, str] = {key: amount(v) for key, v in statement.values.items()}
    return _(statement.reading).format(**values)


def group_totals(result: ParametersResult) -> dict[str, int]:
    """Return the counts of the four groups."""
    return {group.name: group.total for group in result.groups}


def total_reading(result: ParametersResult) -> str:
    """Say where this configuration's parameters are."""
    groups = {g.name: share(voice(), g.share) for g in result.groups}
    n_layer = int(result.config["n_layer"])
    return _(
        "{total} parameters: {mlp} in the MLPs, {attention} in attention, {embeddings} in the "
        "embeddings, {norms} in the LayerNorms. Each block has {block}."
    ).format(total=integer(result.total), block=integer(result.trunk.total // n_layer), **groups)


def tying_reading(result: ParametersResult) -> str:
    """Say what tying does to this count."""
    rows = {row.kind: row for row in result.rows}
    if rows["W_U"].tied_to:
        return _(
            "The unembedding W_U is the embedding matrix wte used a second time: it is counted "
            "once, hatched in the picture. A matrix of its own would add {n}."
        ).format(n=integer(rows["W_U"].each))
    return _("Untied, the model keeps two matrices of {n}: one to read tokens, one to write them.")\
        .format(n=integer(rows["W_U"].each))  # fmt: skip


def guesses() -> list[str]:
    """Return the options of the question: the right one is found by counting."""
    return [_("about a twelfth"), _("about a third"), _("about half")]


def prediction_reading(andrea: ParametersResult, gpt2: ParametersResult) -> str:
    """Answer the question from the counts of ANDREA-120M and GPT-2 small."""
    a, g = (next(x for x in r.groups if x.name == "embeddings") for r in (andrea, gpt2))
    return _(
        "In ANDREA-120M the embeddings have {n} parameters, {share} of them all. A third, as the "
        "lesson has it, would be right for GPT-2 small: {gpt2}, because its vocabulary is "
        "about six times as large."
    ).format(n=integer(a.total), share=percent(a.share, 1), gpt2=percent(g.share, 1))


def memory_reading(result: ParametersResult) -> str:
    """Say what of this fits into the machine that answers."""
    costs = {c.name: c.value for c in result.costs.bytes}
    total, limit = result.costs.memory_total, result.costs.memory_limit
    if not total:
        return _("This machine does not say how much memory it has.")
    fits = [costs[name] <= total for name in ("weights_float32", "training_float32")]
    sentence = (
        _(
            "In float32 the weights take {weights} and all that training keeps {training}: both "
            "fit into the {total} of this machine. The site lets one model take {limit}."
        )
        if all(fits)
        else _(
            "In float32 the weights take {weights} and all that training keeps {training}: the "
            "weights fit into the {total} of this machine, training does not. The site lets one "
            "model take {limit}."
        )
        if any(fits)
        else _(
            "In float32 the weights take {weights} and all that training keeps {training}: neither "
            "fits into the {total} of this machine. The site lets one model take {limit}."
        )
    )
    return sentence.format(
        weights=bytes_text(costs["weights_float32"]),
        training=bytes_text(costs["training_float32"]),
        total=bytes_text(total),
        limit=bytes_text(limit),
    )


def measured_reading(result: ParametersResult) -> str:
    """Set the measured operations beside the formula's."""
    measured = result.costs.flops_measured
    formula = next(c.value for c in result.costs.flops if c.name == "forward")
    if measured is None:
        return ""
    sentence = (
        _("Counted operation by operation: {n} FLOP a token, the same as the formula gives.")
        if measured == formula
        else _("Counted operation by operation: {n} FLOP a token; the formula gives {m}.")
    )
    return sentence.format(n=integer(round(measured)), m=integer(formula))


def swiglu_reading(result: ParametersResult) -> str:
    """Compare the MLP with a gated one at two thirds of its width."""
    return _(
        "For comparison, a gated MLP (SwiGLU) has three matrices; at two thirds of the hidden "
        "width (8/3 instead of 4) it costs the same: {numbers} = {n} in each block."
    ).format(numbers=result.swiglu.numbers, n=integer(result.swiglu.value))


def line_text(name: str, value: int) -> str:
    """Write a value of a comparison in its unit."""
    if name in SWITCHES:
        return _("yes") if value else _("no")
    if name.startswith(("weights_", "adam_", "training_", "kv_")):
        return bytes_text(value)
    if name in ("forward", "forward_matrices", "forward_attention", "training"):
        return flops_text(value)
    return integer(value)
