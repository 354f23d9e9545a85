"""Where the parameters sit, what they cost, and what becomes of the lesson's own sum.

The *trunk* is the blocks: attention, MLP and the norms inside them. Everything here is counted from
the model's tensors (``andrea.measures.tensors``); nothing is loaded and nothing takes memory.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from andrea.measures import costs
from andrea.measures.costs import Costs
from andrea.measures.formula import Formula, formula
from andrea.measures.reconciliation import Statement, reconciliation
from andrea.measures.tensors import GROUPS, SIZES, Row, closed_form, count_rows, sizes
from andrea.requests import ParametersRequest


@dataclass(frozen=True)
class Share:
    """How many parameters a group has, and which part of the total that is (0 to 1)."""

    name: str
    total: int
    share: float


@dataclass(frozen=True)
class ParametersResult:
    """The count of one configuration.

    Parameters
    ----------
    preset, config
        What was asked for.
    rows, total
        The tensors, and their sum: the model's number of parameters.
    closed_form
        The whole count as one formula of the configuration.
    groups, trunk
        Embeddings, attention, MLP and norms (they add up to the total); the blocks.
    swiglu
        A gated MLP at two thirds of the width: three matrices that cost what two cost. A formula
        for comparison; the model has no such switch.
    costs
        Bytes and floating-point operations.
    reconciliation
        The lesson's and the model cards' statements beside the count.
    seconds, date
        How long counting took, and when.
    """

    preset: str
    config: dict[str, Any]
    rows: tuple[Row, ...]
    total: int
    closed_form: Formula
    groups: tuple[Share, ...]
    trunk: Share
    swiglu: Formula
    costs: Costs
    reconciliation: tuple[Statement, ...]
    seconds: float
    date: str


@dataclass(frozen=True)
class Difference:
    """One line of a comparison: ``ratio`` is b / a, ``None`` where a has none."""

    name: str
    a: int
    b: int
    ratio: float | None


def share(name: str, rows: tuple[Row, ...], total: int) -> Share:
    """Add rows up and compare them with the total."""
    part = sum(row.total for row in rows)
    return Share(name, part, part / total)


def parameters(request: ParametersRequest) -> ParametersResult:
    """Count the parameters of a configuration and what they cost.

    Raises
    ------
    InputError
        If the configuration is impossible; the message names the value and what is allowed.
    """
    started = time.perf_counter()
    config = request.config()
    rows = count_rows(config)
    total = sum(row.total for row in rows)
    return ParametersResult(
        preset=request.preset,
        config=config.as_dict(),
        rows=rows,
        total=total,
        closed_form=closed_form(config),
        groups=tuple(share(g, tuple(r for r in rows if r.group == g), total) for g in GROUPS),
        trunk=share("trunk", tuple(r for r in rows if r.part == "blocks"), total),
        swiglu=formula("3 × d_model × (2 × d_mlp / 3)", sizes(config)),
        costs=costs.costs(config, total, request.measure_flops),
        reconciliation=reconciliation(),
        seconds=time.perf_counter() - started,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def side_by_side(a: ParametersResult, b: ParametersResult) -> tuple[Difference, ...]:
    """Return every size, tensor, group and cost of two configurations, equal ones too."""

    def lines(result: ParametersResult) -> dict[str, int]:
        names = (*SIZES, "bias", "norm_affine", "tie_embeddings")
        found = {name: int(result.config[name]) for name in names}
        found |= {row.kind: row.total for row in result.rows}
        found |= {s.name: s.total for s in (*result.groups, result.trunk)}
        return found | {"total": result.total} | {c.name: c.value for c in result.costs.lines()}

    left, right = lines(a), lines(b)
    return tuple(
        Difference(name, x, y, y / x if x else None)
        for name in dict.fromkeys((*left, *right))
        for x, y in [(left.get(name, 0), right.get(name, 0))]
    )


def compare(a: ParametersResult, b: ParametersResult) -> tuple[Difference, ...]:
    """Return what differs between two configurations."""
    return tuple(d for d in side_by_side(a, b) if d.a != d.b)
