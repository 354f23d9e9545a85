"""GELU, its tanh form and ReLU as plain functions of arrays, with their derivatives.

GELU(x) = x Phi(x), Phi the distribution function of the standard normal. The tanh form replaces
Phi(x) by (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. Everything is float64.

Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", section 2, arXiv:1606.08415.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

MINIMUM = (-0.7517915246935645, -0.16997120747990369)  # where GELU' is 0, and GELU there
STEEPEST = math.sqrt(2)  # GELU' has its greatest value here and its least at the negative
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
