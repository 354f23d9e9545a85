"""Training text: read it, refuse what is no text with a clear sentence, draw windows from it.

A corpus file holds documents separated by two blank lines, plain or ``.xz``. An optional table of
sources (TSV, one row a document in the file's order, columns ``lang``, ``split`` and ``tier``)
weights the documents: children's books more than novels, say.
"""

from __future__ import annotations

import csv
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from andrea.tokenizer import BOS_ID, TextTokenizer

DOCUMENT_BREAK = "\n\n\n"
LONGEST_LINE = 1_000_000
TIER_WEIGHTS = {0: 1.5, 1: 2.5, 2: 1.0}  # single sentences, children's books, novels

Windows = npt.NDArray[np.int64]


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, plain or ``.xz``.

    Raises
    ------
    ValueError
        Naming the file and what is wrong: missing, empty, binary, not UTF-8, one endless line.
    """
    try:
        raw = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path.name}: cannot be read ({error.strerror})") from error
    except lzma.LZMAError as error:
        raise ValueError(f"{path.name}: is no valid .xz file") from error
    if b"\0" in raw[:100_000]:
        raise ValueError(f"{path.name}: is a binary file; save it as plain text (UTF-8)")
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path.name}: is not UTF-8 (byte {error.start}); save it again with encoding UTF-8"
        ) from error
    if not text.strip():
        raise ValueError(f"{path.name}: is empty; give it some text")
    longest = max(map(len, text.split("\n")))
    if longest > LONGEST_LINE:
        raise ValueError(
            f"{path.name}: has a line of {longest:,} characters; break the text into paragraphs "
            f"(at most {LONGEST_LINE:,} characters a line)"
        )
    return text


def tier_weights(sources: Path, language: str, split: str = "train") -> list[float]:
    """Return one weight a document of ``language``, in the order of the file.

    Raises
    ------
    ValueError
        Naming the table, if it cannot be read or lacks a column.
    """
    try:
        with sources.open(encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table, delimiter="\t"))
        chosen = [row for row in rows if row["lang"] == language and row["split"] == split]
        return [TIER_WEIGHTS[int(row["tier"])] for row in chosen]
    except OSError as error:
        raise ValueError(f"{sources.name}: cannot be read ({error.strerror})") from error
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(
            f"{sources.name}: is no table with the columns lang, split and tier (0, 1 or 2), "
            "separated by tabs"
        ) from error


@dataclass(frozen=True)
class Stream:
    """One file as tokens: a BOS before each document, and how likely a window starts where.

    ``tokens`` uint16 [n]; ``starts`` int64 [documents + 1], where each document begins and the
    last ends; ``chance`` float64 [documents], the share of windows that start in each.
    """

    name: str
    tokens: npt.NDArray[np.uint16]
    starts: npt.NDArray[np.int64]
    chance: npt.NDArray[np.float64]

    def check_holds(self, length: int, part: str = "") -> None:
        """Raise ``ValueError`` if the stream is shorter than one window of ``length`` tokens."""
        if len(self.tokens) < length:
            raise ValueError(
                f"{self.name}{part}: gives {len(self.tokens)} tokens; at least {length} are "
                "needed: use more text or a smaller context"
            )

    def windows(self, random: np.random.Generator, count: int, length: int) -> Windows:
        """Draw ``count`` windows of ``length`` tokens: int64 [count, length]."""
        self.check_holds(length)
        documents = random.choice(len(self.chance), size=count, p=self.chance)
        low, high = self.starts[documents], self.starts[documents + 1]
        begin = np.minimum(random.integers(low, high), len(self.tokens) - length)
        return self.tokens[begin[:, None] + np.arange(length)].astype(np.int64)

    def blocks(self, length: int, most: int | None = None) -> Windows:
        """Cut the stream into windows side by side: int64 [count, length], evenly thinned."""
        self.check_holds(length)
        count = len(self.tokens) // length
        grid = self.tokens[: count * length].reshape(count, length).astype(np.int64)
        if most is not None and count > most:
            grid = grid[np.linspace(0, count - 1, most).astype(int)]
        return grid


def tokenise(
    name: str,
    text: str,
    tokenizer: TextTokenizer,
    weights: list[float] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Stream:
    """Turn a text into a ``Stream``; ``weights`` holds one weight a document.

    Raises
    ------
    ValueError
        If the number of weights is not the number of documents.
    """
    documents = [d for d in text.split(DOCUMENT_BREAK) if d.strip()]
    if weights is None:
        weights = [1.0] * len(documents)
    if len(weights) != len(documents):
        raise ValueError(
            f"{name}: has {len(documents)} documents, but the sources list {len(weights)}"
        )
    coded = []
    for i, document in enumerate(documents):
        coded.append(np.array([BOS_ID, *tokenizer.encode(document.strip("\n"))], dtype=np.uint16))
        if progress is not None:
            progress(i + 1, len(documents))
    lengths = np.array([len(c) for c in coded], dtype=np.int64)
    share = lengths * np.array(weights)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Stream(name, np.concatenate(coded), starts, share / share.sum())


def split_off(text: str, share: float = 0.02) -> tuple[str, str]:
    """Split a text into (training, validation) at the end of a line near the end.

    ``share`` is how much is held out; a text with no line end thereabouts is cut where it is.
    """
    cut = int(len(text) * (1 - share))
    line_end = text.rfind("\n", int(len(text) * (1 - 2 * share)), cut)
    cut = line_end if line_end > 0 else cut
    return text[:cut], text[cut:]
