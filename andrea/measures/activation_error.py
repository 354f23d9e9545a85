"""How far the tanh form is from exact GELU, and in which number formats rounding is larger.

Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", section 2, arXiv:1606.08415.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from andrea.measures.activation_curves import Doubles, gelu, gelu_tanh, phi, phi_tanh

FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


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
