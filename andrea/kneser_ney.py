"""An n-gram model to measure against: interpolated Kneser-Ney, on the same tokens.

It counts which token followed which one to three before it, and falls back on shorter histories:

    P_n(w | h) = max(c(h w) - D, 0) / c(h)  +  D t(h) / c(h)  P_{n-1}(w | h, first token dropped)

c(h w) counts, c(h) is their sum over w, t(h) how many different w came after h, D the discount.
At the highest order c is how often h w occurs; below it, how many *different* tokens stand before
h w (so that "Francisco", which only ever follows "San", is no likely word elsewhere). Under the
1-gram lies the uniform distribution over the vocabulary. An unseen history costs nothing: the
shorter one answers alone.

An n-gram is one whole number, its tokens as digits in base V; counting is sorting, and looking up
is a binary search.

Source: Chen and Goodman 1999, "An empirical study of smoothing techniques for language modeling",
section 2.7 (Kneser and Ney 1995, interpolated).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """The counts of one order, sorted by n-gram.

    ``grams`` int64 [n] and ``counts`` int64 [n]; ``histories`` int64 [m], each n-gram's history
    once, with ``totals`` (c(h)) and ``types`` (t(h)), int64 [m].
    """

    grams: Ints
    counts: Ints
    histories: Ints
    totals: Ints
    types: Ints

    @classmethod
    def of(cls, grams: Ints, counts: Ints, base: int) -> Table:
        """Group sorted n-grams by their history."""
        histories, first = np.unique(grams // base, return_index=True)
        types = np.diff(np.append(first, len(grams)))
        return cls(grams, counts, histories, np.add.reduceat(counts, first), types)


def look_up(keys: Ints, values: Ints, wanted: Ints) -> Ints:
    """Return the value of each wanted key in the sorted ``keys``; 0 where there is none."""
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0)


def pack(tokens: Ints, order: int, base: int) -> Ints:
    """Return the n-grams that end at tokens[order - 1], tokens[order], ... as numbers."""
    count = len(tokens) - order + 1
    grams = np.zeros(count, dtype=np.int64)
    for i in range(order):
        grams = grams * base + tokens[i : i + count]
    return grams


class KneserNey:
    """Interpolated Kneser-Ney counts of a text.

    Parameters
    ----------
    texts
        Training tokens, one int array a text; n-grams do not reach from one text into the next.
    vocab_size
        Number of entries, V: every token is one of 0 to V - 1.
    order
        Longest n-gram, 1 to 4 for V = 8449 (V ** order must stay below 2 ** 63).
    discount
        D, between 0 and 1.

    Raises
    ------
    ValueError
        If a parameter is impossible or no text holds ``order`` tokens.
    """

    def __init__(
        self,
        texts: Sequence[npt.NDArray[np.integer]],
        vocab_size: int,
        order: int = 4,
        discount: float = 0.75,
    ) -> None:
        if order < 1 or vocab_size**order >= 2**63:
            raise ValueError(f"order is {order}: with {vocab_size} entries it is 1 up to too many")
        if not 0 < discount < 1:
            raise ValueError(f"discount is {discount}: it must lie between 0 and 1")
        tokens = [text.astype(np.int64) for text in texts if len(text) >= order]
        if not tokens:
            raise ValueError(f"no text holds {order} tokens: there is nothing to count")
        if any(text.min() < 0 or text.max() >= vocab_size for text in tokens):
            raise ValueError(f"a token lies outside the vocabulary of {vocab_size}")
        self.vocab_size, self.order, self.discount = vocab_size, order, discount
        packed = np.concatenate([pack(text, order, vocab_size) for text in tokens])
        grams, counts = np.unique(packed, return_counts=True)
        self.tables = [Table.of(grams, counts, vocab_size)]
        for n in range(order - 1, 0, -1):  # the different tokens before each shorter n-gram
            grams, counts = np.unique(grams % vocab_size**n, return_counts=True)
            self.tables.insert(0, Table.of(grams, counts, vocab_size))

    def conditional(self, grams: Ints, order: int) -> Floats:
        """Return P_order of the last token of each n-gram given the others: float64 [n]."""
        if order == 0:
            return np.full(len(grams), 1 / self.vocab_size)
        table = self.tables[order - 1]
        history = grams // self.vocab_size
        total = look_up(table.histories, table.totals, history)
        kept = np.maximum(look_up(table.grams, table.counts, grams) - self.discount, 0.0)
        left = self.discount * look_up(table.histories, table.types, history)
        shorter = self.conditional(grams % self.vocab_size ** (order - 1), order - 1)
        seen = np.maximum(total, 1)
        return np.where(total > 0, kept / seen + left / seen * shorter, shorter)

    def distribution(self, history: list[int]) -> Floats:
        """Return P(w | history) for every w: float64 [V], of sum 1.

        Only the last ``order - 1`` tokens count.
        """
        kept = history[len(history) - min(self.order - 1, len(history)) :]
        key = 0
        for token in kept:
            key = key * self.vocab_size + token
        grams = key * self.vocab_size + np.arange(self.vocab_size, dtype=np.int64)
        return self.conditional(grams, len(kept) + 1)

    def log_probabilities(self, tokens: npt.NDArray[np.integer]) -> Floats:
        """Return ln P of every token but the first, given those before it: float64 [n - 1].

        The first few tokens have a shorter history than the rest.
        """
        text = tokens.astype(np.int64)
        parts = []
        for n in range(2, self.order):  # where the history is still short
            parts.append(self.conditional(pack(text[:n], n, self.vocab_size), n))
        if self.order == 1:
            parts.append(self.conditional(text[1:], 1))
        else:
            parts.append(self.conditional(pack(text, self.order, self.vocab_size), self.order))
        return np.log(np.concatenate(parts))
