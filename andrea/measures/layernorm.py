"""LayerNorm and RMSNorm as plain functions of arrays: what the sliders turn, without a model.

LayerNorm(x) = gamma * (x - mean) / sqrt(var + eps) + beta, mean and variance over the last axis, so
over the features of one token. The variance divides by n, not n - 1. Sums are taken in float64.

Sources: Ba, Kiros and Hinton 2016, "Layer Normalization", section 3, arXiv:1607.06450; Zhang and
Sennrich 2019, "Root Mean Square Layer Normalization", section 4, arXiv:1910.07467.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from andrea.errors import InputError

Doubles = npt.NDArray[np.float64]
Array = npt.NDArray[Any]


def layer_norm(
    x: Array, gamma: Array | float = 1.0, beta: Array | float = 0.0, eps: float = 1e-5
) -> Doubles:
    """Return LayerNorm over the last axis: [..., d] -> float64 [..., d].

    A vector of equal numbers has variance 0: it becomes ``beta``, and with ``eps`` = 0 NaN.
    """
    wide = np.asarray(x, np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        normalized = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
        return np.asarray(gamma * normalized + beta, np.float64)


def rms_norm(x: Array, gamma: Array | float = 1.0, eps: float = 1e-5) -> Doubles:
    """Return RMSNorm over the last axis, gamma * x / sqrt(mean(x^2) + eps): the mean stays in."""
    wide = np.asarray(x, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        out = gamma * wide / np.sqrt((wide**2).mean(-1, keepdims=True) + eps)
        return np.asarray(out, np.float64)


def over_tokens(x: Array, eps: float = 1e-5) -> Doubles:
    """Return the same formula along the *other* axis, over the tokens: [T, d] -> [T, d].

    This is what batch normalisation does at training; it stands here for contrast. No GPT does it.
    """
    return layer_norm(np.asarray(x).T, eps=eps).T


def cosine(a: Array, b: Array) -> float:
    """Return the cosine of the angle between two vectors; NaN where one of them is zero."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / size if size else float("nan")


@dataclass(frozen=True)
class Statistics:
    """A vector in four numbers: mean, variance (divided by n), length ||x||, mean of squares."""

    mean: float
    variance: float
    norm: float
    mean_square: float


def statistics(x: Array) -> Statistics:
    """Return the statistics of one vector [d], in float64."""
    wide = np.asarray(x, np.float64)
    mean_square = float((wide**2).mean())
    return Statistics(
        float(wide.mean()), float(wide.var()), float(np.linalg.norm(wide)), mean_square
    )


@dataclass(frozen=True)
class Applied:
    """One vector under LayerNorm with the settings that somebody chose, beside RMSNorm.

    Attributes
    ----------
    gamma_scale, beta_shift, eps, learned
        The settings: gamma is ``gamma_scale`` times the learned one (or 1), beta the learned one
        (or 0) plus ``beta_shift``.
    normalized, out, rms
        float64 [d]: (x - mean) / sqrt(var + eps); that times gamma plus beta; RMSNorm of the same
        vector without gamma.
    before, after_normalized, after_out, after_rms
        Statistics of the vector, and of the three arrays.
    expected_variance
        var / (var + eps), the variance that ``normalized`` must have.
    rms_cosine
        Cosine between ``normalized`` and ``rms``.
    """

    gamma_scale: float
    beta_shift: float
    eps: float
    learned: bool
    normalized: Doubles
    out: Doubles
    rms: Doubles
    before: Statistics
    after_normalized: Statistics
    after_out: Statistics
    after_rms: Statistics
    expected_variance: float
    rms_cosine: float


def apply(
    x: Array,
    gamma: Array | None = None,
    beta: Array | None = None,
    *,
    gamma_scale: float = 1.0,
    beta_shift: float = 0.0,
    eps: float = 1e-5,
    learned: bool = True,
) -> Applied:
    """Apply LayerNorm to one vector [d]; ``gamma`` and ``beta`` are the learned ones, if any.

    Raises
    ------
    InputError
        If a setting is no finite number or epsilon is negative.
    """
    for name, value in (("gamma", gamma_scale), ("beta", beta_shift), ("epsilon", eps)):
        if not math.isfinite(value) or (name == "epsilon" and value < 0):
            raise InputError(
                "{name} is {value}: it must be a finite number, and epsilon not below zero.",
                name=name,
                value=value,
            )
    own_gamma = gamma if learned and gamma is not None else np.ones(1)
    own_beta = beta if learned and beta is not None else np.zeros(1)
    normalized, rms = layer_norm(x, eps=eps), rms_norm(x, eps=eps)
    out = gamma_scale * np.asarray(own_gamma, np.float64) * normalized
    out = out + np.asarray(own_beta, np.float64) + beta_shift
    before = statistics(x)
    below = before.variance + eps
    return Applied(
        gamma_scale,
        beta_shift,
        eps,
        learned,
        normalized,
        out,
        rms,
        before,
        statistics(normalized),
        statistics(out),
        statistics(rms),
        before.variance / below if below else float("nan"),
        cosine(normalized, rms),
    )


@dataclass(frozen=True)
class Disturbed:
    """How far one token's normalised vector moves when another token's vector is multiplied.

    ``per_token`` for LayerNorm, ``per_batch`` for the same formula over the tokens: the largest
    |difference| over the chosen row's components.
    """

    matrix: Doubles
    per_token: float
    per_batch: float


def disturb(x: Array, chosen: int, other: int, factor: float, eps: float = 1e-5) -> Disturbed:
    """Multiply row ``other`` of ``x`` [T, d] by ``factor``; see whether row ``chosen`` moves.

    ``matrix`` is the disturbed one. If ``other`` is ``chosen``, the row itself is multiplied.
    """
    matrix = np.array(x, np.float64)
    matrix[other] *= factor

    def moved(one: Doubles, two: Doubles) -> float:
        return float(np.abs(one[chosen] - two[chosen]).max())

    return Disturbed(
        matrix,
        moved(layer_norm(x, eps=eps), layer_norm(matrix, eps=eps)),
        moved(over_tokens(x, eps), over_tokens(matrix, eps)),
    )
