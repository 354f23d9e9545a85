"""The text of the races: the shipped passages as bytes, and what counting letters would give.

Every tenth passage is held out, the same ones in both languages: what a model has learned is
measured on text that it has not read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from andrea.data import LANGUAGES, passages
from andrea.requests_race import BATCH, BYTES, CONTEXT

HELD_OUT = 10  # one passage in so many
PRIOR = 5.0  # how many unseen bytes the unigram counts for in the bigram's rows

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RaceText:
    """The bytes to learn from, those held out, and the loss of two ways of counting.

    Attributes
    ----------
    train, held_out
        int64, one number a byte.
    unigram, bigram
        Nats a held-out byte of a model that knows only how frequent each byte is, and of one that
        knows how frequent it is after the byte before it.
    sha256
        Of all bytes.
    """

    train: Ids
    held_out: Ids
    unigram: float
    bigram: float
    sha256: str


def as_bytes(texts: list[str]) -> Ids:
    """Return the texts, parted by blank lines, as byte values."""
    raw = "\n\n".join(texts).encode("utf-8")
    ids = np.frombuffer(raw, dtype=np.uint8).astype(np.int64)
    ids.setflags(write=False)
    return ids


def counted(train: Ids, held_out: Ids) -> tuple[float, float]:
    """Return the loss of counting bytes, and of counting pairs of bytes, on ``held_out``.

    The unigram adds one to every count; each row of the bigram starts from ``PRIOR`` bytes
    distributed as the unigram says (a Dirichlet prior: MacKay and Peto 1995, "A hierarchical
    Dirichlet language model"). Both predict the same bytes: all but the first.
    """
    pairs = np.zeros((BYTES, BYTES))
    np.add.at(pairs, (train[:-1], train[1:]), 1)
    single = np.bincount(train, minlength=BYTES) + 1.0
    single /= single.sum()
    rows = (pairs + PRIOR * single) / (pairs.sum(axis=1, keepdims=True) + PRIOR)
    before, after = held_out[:-1], held_out[1:]
    return float(-np.log(single[after]).mean()), float(-np.log(rows[before, after]).mean())


@cache
def race_text() -> RaceText:
    """Return the text of every race."""
    read: list[str] = []
    kept: list[str] = []
    for language in LANGUAGES:
        for i, passage in enumerate(passages(language)):
            (kept if i % HELD_OUT == HELD_OUT - 1 else read).append(passage)
    train, held_out = as_bytes(read), as_bytes(kept)
    whole = hashlib.sha256(train.astype(np.uint8).tobytes() + held_out.astype(np.uint8).tobytes())
    return RaceText(train, held_out, *counted(train, held_out), whole.hexdigest())


def batch(seed: int, step: int) -> Tensor:
    """Return one step's windows, int64 (BATCH, CONTEXT + 1): the same for every arm."""
    train = race_text().train
    starts = np.random.default_rng([seed, step]).integers(0, len(train) - CONTEXT, BATCH)
    return torch.from_numpy(train[starts[:, None] + np.arange(CONTEXT + 1)])


def held_out() -> Tensor:
    """Return the held-out text in windows that do not overlap, int64 (N, CONTEXT + 1).

    Each begins with the byte that the one before ends with, so every byte is predicted once.
    """
    ids = race_text().held_out
    n = (len(ids) - 1) // CONTEXT
    return torch.from_numpy(ids[np.arange(n)[:, None] * CONTEXT + np.arange(CONTEXT + 1)])
