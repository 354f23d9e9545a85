"""What people type, made into what books print: the folding of text before it is tokenised.

Phones and word processors put marks that the training text does not have. Curly quotes and
apostrophes, guillemets and primes become straight ones, the ellipsis character three dots, dashes
the em dash, odd spaces a space, and accents typed as combining marks are composed (Unicode NFC).
Folding twice changes nothing more.

The tokenizer's normaliser does the folding; here stand its table, and the words for telling a
visitor what it changed.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

FOLDS: dict[str, str] = {
    **dict.fromkeys("‘’‚‛′ʼ`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‹›", "'"),
    "…": "...",
    **dict.fromkeys("‒–―", "—"),
    **dict.fromkeys("‐‑", "-"),
    **dict.fromkeys("\u00a0\u2007\u202f\u2002\u2003\u2009\u200a\u3000", " "),
}


@dataclass(frozen=True)
class Fold:
    """A change that folding made: which characters, into what, how often."""

    before: str
    after: str
    count: int


def checked(text: str) -> str:
    """Return ``text``, or refuse half of a surrogate pair: it is no character and has no bytes."""
    for i, character in enumerate(text):
        if "\ud800" <= character <= "\udfff":
            raise ValueError(
                f"text holds half a character at position {i}: it is not valid Unicode"
            )
    return text


def letters(text: str) -> Iterator[str]:
    """Cut ``text`` before every character that does not combine with the one before it."""
    start = 0
    for i, c in enumerate(text):
        joins = unicodedata.category(c).startswith("M") or "\u1160" <= c <= "\u11ff"  # Hangul
        if i > start and not joins:
            yield text[start:i]
            start = i
    yield text[start:]


def changes(text: str) -> list[Fold]:
    """Return what folding changes in ``text``, to be told to whoever typed it.

    Empty exactly where folding changes nothing. A composed accent is reported by its mark, with
    ``after="NFC"``.
    """
    found = Counter({(a, b): text.count(a) for a, b in FOLDS.items() if a in text})
    if not unicodedata.is_normalized("NFC", text):
        for letter in letters(text):
            composed = unicodedata.normalize("NFC", letter)
            if composed != letter:
                mark = next((c for c in letter[1:] if unicodedata.combining(c)), None)
                key = (f"◌{mark}", "NFC") if mark else (letter, FOLDS.get(composed, composed))
                found[key] += 1
    return [Fold(before, after, count) for (before, after), count in found.items()]
