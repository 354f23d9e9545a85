"""Every tensor of the model, counted and explained to the unit.

Two ways that share nothing: the *count* lays the model out on PyTorch's meta device (shapes without
memory) and asks each tensor for its size; the *formula* knows only the configuration. A test holds
them equal for every combination of switches, and equal to another library's GPT-2.

Conventions: a tied unembedding is the embedding matrix used a second time; it is listed, marked and
counted as 0. The groups embeddings, attention, mlp and norms share every parameter out exactly
once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

from andrea.config import ModelConfig
from andrea.measures.formula import Formula, formula
from andrea.model import Andrea

GROUPS = ("embeddings", "attention", "mlp", "norms")
SIZES = ("n_layer", "d_model", "n_head", "d_mlp", "vocab_size", "n_ctx")

# What each tensor should hold, by kind, in the order in which a token meets them.
SHAPES: dict[str, tuple[str, ...]] = {
    "wte": ("vocab_size", "d_model"),
    "wpe": ("n_ctx", "d_model"),
    "ln1.gamma": ("d_model",),
    "ln1.beta": ("d_model",),
    **{f"attn.W_{x}": ("d_model", "d_model") for x in "QKVO"},
    **{f"attn.b_{x}": ("d_model",) for x in "QKVO"},
    "ln2.gamma": ("d_model",),
    "ln2.beta": ("d_model",),
    "mlp.W_1": ("d_model", "d_mlp"),
    "mlp.b_1": ("d_mlp",),
    "mlp.W_2": ("d_mlp", "d_model"),
    "mlp.b_2": ("d_model",),
    "ln_final.gamma": ("d_model",),
    "ln_final.beta": ("d_model",),
    "W_U": ("vocab_size", "d_model"),
}


@dataclass(frozen=True)
class Row:
    """All tensors of one kind.

    Parameters
    ----------
    kind
        The tensor's name inside its place: ``wte``, ``attn.W_Q``, ``mlp.b_1``, ``ln_final.gamma``.
    part, sublayer, group
        ``embeddings``, ``blocks`` or ``final``; inside a block ``ln1``, ``attn``, ``ln2``, ``mlp``
        (else empty); which of ``GROUPS`` it counts for.
    shape, each, copies, total
        The shape of one, its numbers, how many blocks have one, ``each * copies``.
    formula
        The total from the configuration alone.
    tied_to
        The kind that this one shares its numbers with, or empty. A tied row's total is 0.
    """

    kind: str
    part: str
    sublayer: str
    group: str
    shape: tuple[int, ...]
    each: int
    copies: int
    total: int
    formula: Formula
    tied_to: str = ""


def sizes(config: ModelConfig) -> dict[str, int]:
    """Return the names that formulas may use."""
    return {name: getattr(config, name) for name in SIZES}


def lay_out(config: ModelConfig) -> Andrea:
    """Return the model on the meta device: shapes without memory."""
    with torch.device("meta"):
        return Andrea(config)


def place(kind: str) -> tuple[str, str, str]:
    """Return part, sublayer and group of a kind of tensor."""
    first = kind.split(".")[0]
    if first == "ln_final":
        return "final", "", "norms"
    if first in ("wte", "wpe", "W_U"):
        return "embeddings", "", "embeddings"
    group = {"attn": "attention", "mlp": "mlp"}.get(first, "norms")
    return "blocks", first, group


def closed_form(config: ModelConfig) -> Formula:
    """Return the parameter count as a formula of the configuration alone."""
    block = "4 × d_model² + 2 × d_model × d_mlp"
    if config.bias:
        block += " + 5 × d_model + d_mlp"
    if config.norm_affine and config.norm != "none":
        block += " + 4 × d_model"
    text = "vocab_size × d_model + n_ctx × d_model"
    if not config.tie_embeddings:
        text = "2 × " + text
    text += f" + n_layer × ({block})"
    if config.norm_affine and config.norm == "pre":
        text += " + 2 × d_model"
    return formula(text, sizes(config))


def count_rows(config: ModelConfig) -> tuple[Row, ...]:
    """Count every tensor of the model, gathered by kind.

    Raises
    ------
    RuntimeError
        If two blocks differ, or a tensor is of no known kind: the account would be wrong.
    """
    found: dict[str, list[tuple[int, ...]]] = {}
    for name, parameter in lay_out(config).named_parameters():
        kind = re.sub(r"^blocks\.\d+\.", "", name)
        found.setdefault(kind, []).append(tuple(parameter.shape))
    if unknown := found.keys() - SHAPES.keys():
        raise RuntimeError(f"tensors of no known kind: {sorted(unknown)}")
    names, rows = sizes(config), []
    for kind, symbols in SHAPES.items():
        shapes = found.get(kind, [])
        tied = kind == "W_U" and not shapes
        if not shapes and not tied:
            continue
        if len(set(shapes)) > 1:
            raise RuntimeError(f"{kind} has not the same shape in every block: {set(shapes)}")
        shape = shapes[0] if shapes else tuple(names[s] for s in symbols)
        each = torch.Size(shape).numel()
        part, sublayer, group = place(kind)
        text = " × ".join((("n_layer",) if part == "blocks" else ()) + symbols)
        rows.append(
            Row(
                kind=kind,
                part=part,
                sublayer=sublayer,
                group=group,
                shape=shape,
                each=each,
                copies=len(shapes),
                total=each * len(shapes),
                formula=formula("0" if tied else text, names),
                tied_to="wte" if tied else "",
            )
        )
    return tuple(rows)
