"""The lesson's statements on its parameters, and the model cards', beside the count.

Every verdict is worked out from the counts below: a statement *holds* if the plain reading (the
model as the lesson describes it: biases, tied embeddings) rounds to what is stated; it *depends* if
another reading of the same dimensions does; else it *does not hold*. "About half" and "two thirds"
hold within 5 points and depend within 10.

Sources: "Grow a Language Model", the chapter on the block (unhomeschool.com); the model cards
``russellbal/ANDREA`` and ``russellbal/ANDREA-120M``; GPT-2: Radford et al. 2019. The layout without
biases, without tying and without norm parameters is microgpt's, the engine's namesake.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from andrea.config import PRESETS, ModelConfig
from andrea.measures.tensors import count_rows, lay_out
from andrea.model import LayerNorm

Verdict = Literal["holds", "depends", "does not hold"]
Number = int | float


def N_(message: str) -> str:  # noqa: N802  (the usual name)
    """Mark a sentence that the site translates where it is shown."""
    return message


# What is stated, and the reading under which it would hold. Whole numbers in braces are counts,
# fractions are shares.
SENTENCES: dict[str, tuple[str, str]] = {
    "trunk-85m": (
        N_("The trunk has 85M parameters."),
        N_("12 blocks of {block} each, biases and LayerNorms included."),
    ),
    "ln-25": (
        N_("There are 25 LayerNorms: 24 in the blocks and a final one."),
        N_("They hold {norm} parameters together, {share} of the model."),
    ),
    "w1-w2-size": (
        N_("An MLP has 4.72M parameters, biases aside: W_1 and W_2 hold 2.36M each."),
        N_("Each of the two matrices holds {one}; with its biases an MLP has {biased}."),
    ),
    "mlp-56m": (
        N_("All MLPs together have about 56.6M parameters."),
        N_("Without biases, as the lesson says; with them {biased}."),
    ),
    "mlp-half": (
        N_("That is about half of all parameters."),
        N_(
            "{tied} of the tied count, {untied} of the untied one: rather more than half. It would "
            "hold for GPT-2 small with its {gpt2} parameters: {of_gpt2}."
        ),
    ),
    "emb-13m": (
        N_("The token embeddings have about 13M parameters: 8449 × 768 × 2, tied."),
        N_(
            "Tied means one matrix used twice, so the factor 2 falls away. It would hold for two "
            "separate matrices: {twice}."
        ),
    ),
    "total-120m": (
        N_("The whole model has about 120M parameters."),
        N_(
            "No layout of these dimensions gives it: the eight run from {least} to {most}, and the "
            "lesson's own terms, 85M and 13M, add up to 98M. GPT-2 small has the same blocks and "
            "{gpt2} parameters, because its vocabulary has {larger} more entries: the likeliest "
            "origin of the name."
        ),
    ),
    "two-thirds": (
        N_("The blocks are two thirds of it, the embeddings the rest."),
        N_(
            "{tied} tied, {untied} untied. It would hold with GPT-2's vocabulary: the same blocks "
            "are {of_gpt2} of GPT-2 small."
        ),
    ),
    "card-120m": (
        N_("The model card of ANDREA-120M gives 98.7M parameters."),
        N_(
            "Found again without tying, without biases and without norm parameters (the layout of "
            "microgpt): {micro}. With norm parameters it is {affine}, which rounds to the same, so "
            "the card alone cannot tell the two apart. As the lesson describes the model: {plain}."
        ),
    ),
    "card-12m": (
        N_("The model card of ANDREA-12M gives 12.8M parameters."),
        N_(
            "Found again in the same layout with the 2305 entries of an earlier card: {micro}. "
            "With the 4353 of the later one it would be {later}. As the lesson describes the "
            "model, with 2305 entries: {plain}."
        ),
    ),
    "card-480m": (
        N_("The model card of ANDREA-480M gives about 480M parameters."),
        N_("Found again in the same layout: {micro}. As the lesson describes the model: {plain}."),
    ),
}
MICROGPT = {"bias": False, "tie_embeddings": False, "norm_affine": False}


@dataclass(frozen=True)
class Statement:
    """One statement, its count and the reading under which it would hold.

    ``stated`` and ``counted`` are numbers of parameters or LayerNorms (whole), or shares of the
    model (0 to 1). ``claim`` and ``reading`` are English; the reading is a template for ``values``.
    """

    id: str
    claim: str
    stated: Number
    counted: Number
    verdict: Verdict
    reading: str
    values: Mapping[str, Number]

    def in_words(self) -> str:
        """Return the reading with its numbers, in English."""
        shown = {k: f"{v:,}" if isinstance(v, int) else f"{v:.2%}" for k, v in self.values.items()}
        return self.reading.format(**shown)


def statement(
    key: str, stated: Number, counted: Number, verdict: Verdict, **values: Number
) -> Statement:
    """Put a statement together with its sentences."""
    claim, reading = SENTENCES[key]
    return Statement(key, claim, stated, counted, verdict, reading, values)


def total(config: ModelConfig) -> int:
    """Count a configuration."""
    return sum(row.total for row in count_rows(config))


def layouts(config: ModelConfig) -> dict[tuple[bool, bool, bool], int]:
    """Count all eight layouts, by (biases, tied, norm parameters)."""
    return {
        (bias, tied, affine): total(
            config.with_(bias=bias, tie_embeddings=tied, norm_affine=affine)
        )
        for bias, tied, affine in itertools.product((True, False), repeat=3)
    }


def rounds_to(stated: Number, count: Number, step: Number) -> bool:
    """Whether a count, rounded to whole ``step``, is the stated number."""
    return abs(count - stated) <= step / 2


def judge(plain: bool, others: Sequence[bool] = ()) -> Verdict:
    """Return the verdict from whether the plain reading and the other ones agree."""
    return "holds" if plain else "depends" if any(others) else "does not hold"


def judge_share(stated: float, plain: float, others: Sequence[float]) -> Verdict:
    """Judge a share that is stated roughly: 5 points for holding, 10 for depending."""
    near = [abs(share - stated) <= 0.10 for share in (plain, *others)]
    return judge(abs(plain - stated) <= 0.05, near)


@cache
def reconciliation() -> tuple[Statement, ...]:
    """Return every statement with its count; computed once, as nothing in it can change."""
    config = PRESETS["andrea-120m"]
    return (*trunk(config), *whole(config), *cards())


def trunk(config: ModelConfig) -> list[Statement]:
    """Judge what the lesson says of the blocks' sizes."""
    rows = {row.kind: row for row in count_rows(config)}
    blocks = sum(row.total for row in rows.values() if row.part == "blocks")
    mlp = sum(row.total for row in rows.values() if row.group == "mlp")
    norm = sum(row.total for row in rows.values() if row.group == "norms")
    one, two = rows["mlp.W_1"], rows["mlp.W_2"]
    pair, pairs = one.each + two.each, one.total + two.total
    layers = sum(isinstance(module, LayerNorm) for module in lay_out(config).modules())
    ok = judge(rounds_to(85_000_000, blocks, 1e6))
    fits = judge(rounds_to(4_720_000, pair, 1e4) and rounds_to(2_360_000, one.each, 1e4))
    return [
        statement("trunk-85m", 85_000_000, blocks, ok, block=blocks // config.n_layer),
        statement("ln-25", 25, layers, judge(layers == 25), norm=norm, share=norm / total(config)),
        statement("w1-w2-size", 4_720_000, pair, fits, one=one.each, biased=mlp // config.n_layer),
        statement(
            "mlp-56m", 56_600_000, pairs, judge(rounds_to(56_600_000, pairs, 1e5)), biased=mlp
        ),
    ]


def whole(config: ModelConfig) -> list[Statement]:
    """Judge what the lesson says of the embeddings, the total and the shares."""
    rows = count_rows(config)
    totals = {row.kind: row.total for row in rows}
    blocks = sum(row.total for row in rows if row.part == "blocks")
    mlp, wte = totals["mlp.W_1"] + totals["mlp.W_2"], totals["wte"]
    every, gpt2 = layouts(config), total(PRESETS["gpt2"])
    counts = list(every.values())
    tied, untied = every[True, True, True], every[True, False, True]

    def shares(part: int) -> dict[str, float]:
        return {"tied": part / tied, "untied": part / untied, "of_gpt2": part / gpt2}

    half = judge_share(1 / 2, mlp / tied, [mlp / n for n in counts])
    thirds = judge_share(2 / 3, blocks / tied, [blocks / n for n in counts])
    name = judge(
        rounds_to(120_000_000, tied, 1e7), [rounds_to(120_000_000, n, 1e7) for n in counts]
    )
    return [
        statement("mlp-half", 1 / 2, mlp / tied, half, gpt2=gpt2, **shares(mlp)),
        statement(
            "emb-13m", 13_000_000, wte, judge(rounds_to(13_000_000, wte, 1e6)), twice=2 * wte
        ),
        statement(
            "total-120m",
            120_000_000,
            tied,
            name,
            least=min(counts),
            most=max(counts),
            gpt2=gpt2,
            larger=PRESETS["gpt2"].vocab_size - config.vocab_size,
        ),
        statement("two-thirds", 2 / 3, blocks / tied, thirds, **shares(blocks)),
    ]


def cards() -> list[Statement]:
    """Find the published counts again."""
    large, small = PRESETS["andrea-120m"], PRESETS["andrea-12m"]
    affine = total(large.with_(bias=False, tie_embeddings=False))
    later = total(small.with_(**MICROGPT))
    early = small.with_(vocab_size=2305)
    published: list[tuple[str, int, float, ModelConfig, dict[str, int]]] = [
        ("card-120m", 98_700_000, 1e5, large, {"affine": affine}),
        ("card-12m", 12_800_000, 1e5, early, {"later": later}),
        ("card-480m", 480_000_000, 2e6, PRESETS["andrea-480m"], {}),
    ]
    found = []
    for key, stated, step, config, extra in published:
        plain, micro = total(config), total(config.with_(**MICROGPT))
        verdict = judge(rounds_to(stated, plain, step), [rounds_to(stated, micro, step)])
        found.append(statement(key, stated, micro, verdict, plain=plain, micro=micro, **extra))
    return found
