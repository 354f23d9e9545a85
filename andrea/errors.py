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
