"""A formula that is printed as it is computed: the text is the only source of the number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Formula:
    """A formula in letters, the same with this model's numbers in it, and what it gives.

    ``text`` uses ``+ - × / ²``, brackets, numbers and names; ``numbers`` is ``text`` with every
    name replaced; ``value`` is computed from ``numbers``, so that it is what a reader would get
    with a pocket calculator.
    """

    text: str
    numbers: str
    value: int


def evaluate(numbers: str) -> int:
    """Compute a formula that holds numbers only; its value must be whole."""
    if not re.fullmatch(r"[0-9+\-×/²() ]+", numbers):
        raise ValueError(f"{numbers!r} is not a formula of numbers")
    code = numbers.replace("×", "*").replace("²", "**2")
    if "/" in code:  # exact thirds
        code = re.sub(r"(?<!\*\*)\b\d+", r"Fraction(\g<0>)", code)
    value = Fraction(eval(code, {"__builtins__": {}, "Fraction": Fraction}))
    if value.denominator != 1:
        raise ValueError(f"{numbers!r} gives {value}, which is not whole")
    return value.numerator


def formula(text: str, names: Mapping[str, int]) -> Formula:
    """Return ``text`` with ``names`` put in.

    Raises
    ------
    KeyError
        If the text uses a name that is not in ``names``.
    """
    numbers = re.sub(r"[A-Za-z_][A-Za-z_0-9]*", lambda match: str(names[match.group()]), text)
    return Formula(text, numbers, evaluate(numbers))
