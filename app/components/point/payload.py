"""What the point sends to the browser: the curves at every stop, their marks, and the words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from andrea.measures import activation_curves as curves
from app.figures.activation import FAR, SPAN, extremes, regions
from app.figures.base import Voice

STEPS = 20  # to a unit of x
STOPS = np.round(np.arange(-SPAN * STEPS, SPAN * STEPS + 1) / STEPS, 2) + 0.0
START = -1.0
# What the browser reads as a number too, without its hexadecimal and other notations.
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)


def arrays() -> dict[str, npt.NDArray[np.float64]]:
    """Return what is drawn and written at each of ``STOPS``, all float64 [161].

    ``difference`` is the tanh form minus exact GELU, ``cut`` is GELU minus ReLU. ReLU has no slope
    at 0: NaN.
    """
    x = STOPS
    exact, tanh, relu = curves.gelu(x), curves.gelu_tanh(x), curves.relu(x)
    return {
        "x": x,
        "phi": curves.phi(x),
        "density": curves.density(x),
        "gelu": exact,
        "gelu_slope": curves.gelu_slope(x),
        "phi_tanh": curves.phi_tanh(x),
        "tanh": tanh,
        "tanh_slope": curves.gelu_tanh_slope(x),
        "difference": tanh - exact,
        "relu": relu,
        "relu_slope": curves.relu_slope(x),
        "cut": exact - relu,
    }


def place(said: str) -> float:
    """Return the stop that an address asks for: the nearest one, or ``START`` if it has none."""
    value = float(said) if _NUMBER.fullmatch(said) else np.nan
    if not -SPAN <= value <= SPAN:
        return START
    return float(STOPS[np.abs(STOPS - value).argmin()])


def listed(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Return the numbers as JSON has them: to the last bit, and none where there is none."""
    return [None if np.isnan(v) else float(v) for v in values]


def payload(voice: Voice) -> dict[str, Any]:
    """Return everything that the component needs; the same at every run of the page."""
    return {
        "arrays": {name: listed(values) for name, values in arrays().items()},
        "start": START,
        "far": FAR,
        "marks": [[m.panel, m.x, m.y, m.words] for m in extremes(voice)],
        "regions": [[x, words] for x, words in regions(voice)],
        "decimal": voice.separators[0],
        "words": words(voice),
    }


def words(voice: Voice) -> dict[str, str]:
    """Return every text by the key that the JavaScript uses; it fills ``{name}``."""
    _ = voice.gettext
    return {
        "title": _("The curves and their slopes"),
        "alt": _("GELU, its tanh form and ReLU"),
        "form": _("tanh form"),
        "value": _("value"),
        "bell": _("normal curve: area left of x = Φ(x), height at x = φ(x)"),
        "slopes": _("slope (derivative)"),
        "slope": _("slope"),
        "difference": _("difference"),
        "kink": _("none: the kink"),
        "place": _("Position of the point"),
        "keys": _("Arrow keys, Page Up and Down, Home and End move it; so does a finger or a mouse "
                  "in the drawing."),
        "says": _("GELU {gelu}, tanh form {tanh}, ReLU {relu}; slope of GELU {slope}."),
    }  # fmt: skip
