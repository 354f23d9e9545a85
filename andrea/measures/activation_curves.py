"""GELU, its tanh form and ReLU as plain functions of arrays, and how far the forms are apart.

GELU(x) = x Phi(x), Phi the distribution function of the standard normal. The tanh form replaces
Phi(x) by (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. Everything is float64 but what
``approximation`` measures of the narrower formats.

Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", section 2, arXiv:1606.08415.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

Doubles = npt.NDArray[np.float64]

MINIMUM = (-0.7517915246935645, -0.16997120747990369)  # where GELU' is 0, and GELU there
STEEPEST = math.sqrt(2)  # GELU' has its greatest value here and its least at the negative
FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_ERF = np.frompyfunc(math.erf, 1, 1)


def phi(x: npt.ArrayLike) -> Doubles:
    """Return Phi(x), the share of a standard normal below x, by ``erf``."""
    wide = np.asarray(x, np.float64)
    return np.asarray(0.5 * (1 + np.asarray(_ERF(wide / math.sqrt(2)), np.float64)), np.float64)


def density(x: npt.ArrayLike) -> Doubles:
    """Return the density of the standard normal, the derivative of Phi."""
    wide = np.asarray(x, np.float64)
    return np.asarray(np.exp(-0.5 * wide**2) / math.sqrt(2 * math.pi), np.float64)


def phi_tanh(x: npt.ArrayLike) -> Doubles:
    """Return what the tanh form puts in place of Phi(x)."""
    wide = np.asarray(x, np.float64)
    return 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))


def gelu(x: npt.ArrayLike) -> Doubles:
    """Return x Phi(x)."""
    return np.asarray(x, np.float64) * phi(x)


def gelu_tanh(x: npt.ArrayLike) -> Doubles:
    """Return the tanh form, which ANDREA and GPT-2 use."""
    return np.asarray(x, np.float64) * phi_tanh(x)


def relu(x: npt.ArrayLike) -> Doubles:
    """Return x where it is positive, else 0."""
    return np.maximum(np.asarray(x, np.float64), 0.0)


def gelu_slope(x: npt.ArrayLike) -> Doubles:
    """Return GELU'(x) = Phi(x) + x density(x); it runs from -0.129 to 1.129."""
    return phi(x) + np.asarray(x, np.float64) * density(x)


def gelu_tanh_slope(x: npt.ArrayLike) -> Doubles:
    """Return the derivative of the tanh form."""
    wide = np.asarray(x, np.float64)
    share = phi_tanh(wide)
    inner = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * wide**2)
    return share + wide * 2 * share * (1 - share) * inner


def relu_slope(x: npt.ArrayLike) -> Doubles:
    """Return ReLU'(x): 0 below zero, 1 above; at 0, where there is none, NaN."""
    wide = np.asarray(x, np.float64)
    return np.where(wide == 0, np.nan, (wide > 0).astype(np.float64))


@dataclass(frozen=True)
class Rounded:
    """One number format over its own numbers in a range: the largest |error| of each form.

    ``tanh`` and ``exact``: of PyTorch's two GELUs in this format against exact GELU in float64 at
    the same numbers; the second is rounding alone. ``outweighed``: the share of the numbers at
    which the exact form's rounding is larger than the gap between the forms.
    """

    name: str
    tanh: float
    exact: float
    outweighed: float


@dataclass(frozen=True)
class Approximation:
    """How far the tanh form is from exact GELU. N values of x.

    ``x`` and ``difference`` float64 [N], tanh form minus exact; ``at``, ``largest``: where
    |difference| is greatest for x > 0, and that size; ``phi_at``, ``phi_largest``: the same for
    Phi; ``formats``: float32, bfloat16, float16.
    """

    x: Doubles
    difference: Doubles
    at: float
    largest: float
    phi_at: float
    phi_largest: float
    formats: tuple[Rounded, ...]


def rounded(name: str, x: Doubles) -> Rounded:
    """Measure one format at the numbers that ``x`` is rounded to."""
    given = torch.tensor(x).to(FORMATS[name])
    there = given.double().numpy()
    right, form = gelu(there), gelu_tanh(there)

    def error(approximate: str) -> npt.NDArray[Any]:
        return np.abs(F.gelu(given, approximate=approximate).double().numpy() - right)

    exact = error("none")
    outweighed = float((exact > np.abs(form - right)).mean())
    return Rounded(name, float(error("tanh").max()), float(exact.max()), outweighed)


def peak(gap: Callable[[Doubles], Doubles], x: Doubles) -> tuple[float, float]:
    """Return where |gap| is greatest and that size: the best of ``x``, then its surroundings."""
    step = float(x[1] - x[0])
    near = float(x[np.abs(gap(x)).argmax()]) + np.linspace(-step, step, 401)
    values = np.abs(gap(near))
    return float(near[values.argmax()]), float(values.max())


def approximation(half: float = 6.0, step: float = 0.005) -> Approximation:
    """Measure the tanh form over [-half, half] in steps of ``step``."""
    n = round(half / step)
    x = np.linspace(-half, half, 2 * n + 1)
    difference = gelu_tanh(x) - gelu(x)
    formats = tuple(rounded(name, x) for name in FORMATS)
    positive = x[n:]
    for array in (x, difference):
        array.setflags(write=False)
    return Approximation(
        x,
        difference,
        *peak(lambda v: gelu_tanh(v) - gelu(v), positive),
        *peak(lambda v: phi_tanh(v) - phi(v), positive),
        formats,
    )
