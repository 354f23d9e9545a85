"""What the card says of the training texts: counts by source and licence, CC BY works by name."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from andrea.card.markdown import name_of, one_line, table
from andrea.errors import InputError

COLUMNS = ("title", "author", "lang", "source_repo", "licence", "split", "chars", "words")

Row = dict[str, str]


def read_sources(path: Path) -> list[Row]:
    """Return the table of sources, one row a text.

    Raises
    ------
    InputError
        Naming the table, if it cannot be read or lacks a column.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("The table {file} cannot be read.", file=path.name) from error
    missing = [name for name in COLUMNS if not rows or name not in rows[0]]
    if missing:
        raise InputError(
            "The table {file} lacks the column {name}.", file=path.name, name=missing[0]
        )
    return rows


def data_table(rows: list[Row]) -> str:
    """Return the texts counted by language, source and licence."""
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        source = row["source_repo"]
        source = source.split("/")[0] if source.startswith("GITenberg/") else source
        source = source.split("/")[0] if source.startswith("standardebooks/") else source
        groups[(row["lang"], row["split"], source, row["licence"])].append(row)
    lines = []
    for (language, split, source, licence), found in sorted(groups.items()):
        use = {"train": "training", "valid": "held out"}.get(split, split)
        counts = [f"{sum(int(row[k]) for row in found):,}" for k in ("chars", "words")]
        lines.append([name_of(language), use, source, licence, str(len(found)), *counts])
    head = ["language", "use", "source", "licence", "texts", "characters", "words"]
    return table(head, lines, numbers=3)


def is_cc_by(row: Row) -> bool:
    """Whether the text itself, not only its markup, is under CC BY."""
    return row["licence"].startswith("CC BY")


def cc_by_works(rows: list[Row]) -> tuple[int, str]:
    """Return how many CC BY works there are and their list: each once, with its author.

    They are grouped by language, source and licence, so that each group names its licence once.
    """
    groups: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in filter(is_cc_by, rows):
        work = f"*{one_line(row['title'])}* ({one_line(row['author'])})"
        groups[(row["lang"], row["source_repo"], row["licence"])].add(work)
    parts = [
        f"**{name_of(language)}, from {source}; licence: {licence}.** {'; '.join(sorted(works))}."
        for (language, source, licence), works in sorted(groups.items())
    ]
    return sum(map(len, groups.values())), "\n\n".join(parts)


def sources_page(rows: list[Row]) -> str:
    """Return SOURCES.md: every text with author, language, use, source and licence."""
    lines = [
        [
            one_line(row["title"]),
            one_line(row["author"]),
            row["lang"],
            {"train": "training", "valid": "held out"}.get(row["split"], row["split"]),
            row["source_repo"],
            row["licence"],
        ]
        for row in sorted(rows, key=lambda row: (row["lang"], row["licence"], row["title"]))
    ]
    head = ["title", "author", "language", "use", "source", "licence"]
    return (
        "# The texts that andrea-mini has read\n\n"
        f"{len(rows)} texts. Only their titles are listed here; the texts are not part of this "
        f"repository.\n\n{table(head, lines)}\n"
    )
