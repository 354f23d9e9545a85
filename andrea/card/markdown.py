"""Tables and lines of Markdown."""

from __future__ import annotations

LANGUAGES = {"en": "English", "it": "Italian"}


def table(head: list[str], rows: list[list[str]], numbers: int = 0) -> str:
    """Return a Markdown table; the last ``numbers`` columns are set to the right."""
    marks = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in [head, marks, *rows]]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def name_of(language: str) -> str:
    """Return a language's English name, or the text's own name."""
    return LANGUAGES.get(language, language)


def one_line(text: str) -> str:
    """Return a text on one line, with signs for its line ends and nothing that Markdown reads."""
    text = text.replace("\n\n", " ¶ ").replace("\n", " ↵ ")
    return "".join("\\" + c if c in "*_`<[]\\" else c for c in text)
