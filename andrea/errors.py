"""Bad input: a sentence that says what is wrong and what to do, which the site can translate."""

from __future__ import annotations


class InputError(ValueError):
    """A refusal that is meant to be read by the person who asked.

    Parameters
    ----------
    template
        The English sentence with ``{placeholders}``; the site looks its translation up.
    values
        What goes into the placeholders.
    """

    def __init__(self, template: str, **values: object) -> None:
        super().__init__(template.format(**values))
        self.template = template
        self.values = values


def check_whole(field: str, value: int, least: int, most: int) -> None:
    """Refuse a number outside ``least`` to ``most``.

    Raises
    ------
    InputError
        Naming the field, the value and what is allowed.
    """
    if not least <= value <= most:
        raise InputError(
            "{field} is {value}: choose a whole number from {least} to {most}.",
            field=field,
            value=value,
            least=least,
            most=most,
        )


def check_seed(seed: int) -> None:
    """Refuse a seed that is no 31-bit number.

    Raises
    ------
    InputError
        Naming the seed and what is allowed.
    """
    if not 0 <= seed < 2**31:
        raise InputError("Seed {seed} is not possible: choose 0 to 2147483647.", seed=seed)
