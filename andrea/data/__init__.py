"""The text that ships: original passages that tell the same things in Italian and in English.

``it.txt`` and ``en.txt`` hold one passage a document, separated by two blank lines, and passage
``i`` of one file is passage ``i`` of the other. They were written for this project, so they may be
printed, measured and trained on without asking anybody. Folding changes nothing in them: the
reader sees exactly the characters that the model reads.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from andrea.corpus import DOCUMENT_BREAK

Language = Literal["it", "en"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

DEFAULT_SENTENCES: dict[str, str] = {
    "it": "C'era una volta un re che aveva",
    "en": "Once upon a time there was a king who had",
}

# Prompts to continue: they stop before a word, so the next token starts with a space.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "it": (
        "La vecchia aprì la porta e vide",
        "Quando calò il sole, i bambini corsero verso la",
        "Il cagnolino aveva fame, e allora andò a",
        "In mezzo al bosco c'era una",
        "— Dove vai? — chiese la mamma. La bambina rispose",
        "Il capitano guardò il mare e ordinò agli uomini di",
        "Faceva freddo, e la neve copriva i",
        "Si mise una mano in tasca e trovò un",
    ),
    "en": (
        "The old woman opened the door and saw",
        "When the sun went down, the children ran to the",
        "The little dog was hungry, so he went to",
        "In the middle of the forest there was a",
        '"Where are you going?" asked the mother. The girl said',
        "The captain looked at the sea and ordered his men to",
        "It was cold, and the snow covered the",
        "He put his hand in his pocket and found a",
    ),
}


@cache
def passages(language: Language) -> tuple[str, ...]:
    """Return the passages of one language, in the order of the file.

    Parameters
    ----------
    language
        ``"it"`` or ``"en"``.

    Returns
    -------
    tuple of str
        The passages, each about 100 to 160 words, without blank lines around them. Both languages
        have the same number, and equal positions tell the same thing.

    Raises
    ------
    ValueError
        If there is no text in ``language``; the message names the languages there are.
    """
    if language not in LANGUAGES:
        raise ValueError(f"language is {language!r}: the texts are in {', '.join(LANGUAGES)}")
    text = files(__name__).joinpath(f"{language}.txt").read_text(encoding="utf-8")
    return tuple(passage.strip("\n") for passage in text.split(DOCUMENT_BREAK))
