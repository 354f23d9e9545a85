"""Text to token ids and back: a byte-level BPE whose tokens know where they stand in the text.

Ids are ordered: 0..255 the bytes, 256 BOS, 257.. the merges in the order in which they were
learned. A preset with a smaller vocabulary therefore uses the first merges only. Nothing is ever
"unknown": what no merge covers stays bytes.

Before tokenising, the text is folded (``andrea/folding.py``): curly quotes become straight ones and
the like. Spans still point into the text as typed.

Sources: Sennrich et al. 2016, arXiv:1508.07909 (BPE); Radford et al. 2019 (bytes as the alphabet).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from andrea.folding import FOLDS, Fold, changes, checked

__all__ = ["FOLDS", "Fold", "Piece", "TextTokenizer", "changes", "train_tokenizer"]

N_BYTES = 256
BOS_ID = 256
BOS_TEXT = "<bos>"
FIRST_MERGE_ID = 257
VOCAB_SIZE = 8449

# One word, with the space before it. An elided article keeps its apostrophe (dell'|uomo), an
# English ending starts with it (don|'t): the lookahead tells them apart.
ENDING = "(?:s|t|re|ve|m|ll|d)(?!\\p{L})"
SPLIT = (
    f"'(?i:{ENDING})"
    f"| ?\\p{{L}}+'(?=\\p{{L}})(?!(?i:{ENDING}))"
    "| ?\\p{L}+| ?\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
)


@dataclass(frozen=True)
class Piece:
    """One token: its id, its bytes, and the characters [start, end) of the text it came from.

    ``text`` is ``None`` where the bytes are only a part of a UTF-8 character; BOS has no bytes.
    """

    id: int
    start: int
    end: int
    bytes: bytes
    text: str | None

    @property
    def label(self) -> str:
        """What to print: the text, or the bytes as ``<E2 82>``; never a replacement mark."""
        if self.id == BOS_ID:
            return BOS_TEXT
        return self.text if self.text is not None else f"<{self.bytes.hex(' ').upper()}>"


def byte_alphabet() -> list[str]:
    """Return, for each byte, the printable character that stands for it inside the library.

    The table is GPT-2's: printable Latin-1 bytes stand for themselves, the rest are shifted
    above U+0100 in order.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    shifted = iter(range(0x100, 0x200))
    return [chr(b) if b in printable else chr(next(shifted)) for b in range(N_BYTES)]


def pipeline(model: models.BPE) -> Tokenizer:
    """Return a tokenizer with our folding, word splitting and byte decoding around ``model``."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), *(normalizers.Replace(a, b) for a, b in FOLDS.items())]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train_tokenizer(texts: Iterable[str], vocab_size: int = VOCAB_SIZE) -> TextTokenizer:
    """Learn the merges from ``texts`` and lay the ids out as bytes, BOS, merges.

    Raises
    ------
    ValueError
        If the text holds too few different words for ``vocab_size`` entries.
    """
    if vocab_size < FIRST_MERGE_ID:
        raise ValueError(f"vocab_size is {vocab_size}: at least {FIRST_MERGE_ID} are needed")
    alphabet = byte_alphabet()
    learner = pipeline(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - 1, initial_alphabet=alphabet, show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    merges = [tuple(pair) for pair in json.loads(learner.to_str())["model"]["merges"]]
    vocab = {char: byte for byte, char in enumerate(alphabet)} | {BOS_TEXT: BOS_ID}
    for left, right in merges:
        vocab.setdefault(left + right, len(vocab))
    if len(vocab) < vocab_size:
        raise ValueError(
            f"the text gives only {len(vocab)} vocabulary entries, {vocab_size} are needed: "
            "use more text or a smaller vocab_size"
        )
    return TextTokenizer(pipeline(models.BPE(vocab=vocab, merges=merges)))


class TextTokenizer:
    """A trained tokenizer, immutable and safe to share between threads."""

    def __init__(self, inner: Tokenizer) -> None:
        self._inner = inner
        self.vocab_size = inner.get_vocab_size()
        back = {char: byte for byte, char in enumerate(byte_alphabet())}
        by_id = sorted(inner.get_vocab().items(), key=lambda entry: entry[1])
        self._bytes = [
            b"" if i == BOS_ID else bytes(back[char] for char in token) for token, i in by_id
        ]

    @classmethod
    def load(cls, path: Path) -> TextTokenizer:
        """Read ``tokenizer.json``.

        Raises
        ------
        ValueError
            If the file is missing or is not a tokenizer with our layout of ids.
        """
        try:
            inner = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise ValueError(f"{path.name} cannot be read as a tokenizer: {error}") from error
        if inner.token_to_id(BOS_TEXT) != BOS_ID:
            raise ValueError(f"{path.name} is no tokenizer of ours: BOS is not id {BOS_ID}")
        return cls(inner)

    def save(self, path: Path) -> None:
        """Write ``tokenizer.json``."""
        self._inner.save(str(path))

    def to_json(self) -> str:
        """Return what ``save`` writes: equal for equal tokenizers."""
        return str(self._inner.to_str())

    def truncated(self, vocab_size: int) -> TextTokenizer:
        """Return the tokenizer that knows the first ``vocab_size`` entries only.

        Raises
        ------
        ValueError
            If not even the bytes and BOS would be left.
        """
        if vocab_size < FIRST_MERGE_ID:
            raise ValueError(f"vocab_size is {vocab_size}: at least {FIRST_MERGE_ID} are needed")
        if vocab_size >= self.vocab_size:
            return self
        state = json.loads(self.to_json())["model"]
        vocab = {token: i for token, i in state["vocab"].items() if i < vocab_size}
        merges = [
            (a, b) for a, b in state["merges"] if a in vocab and b in vocab and a + b in vocab
        ]
        return TextTokenizer(pipeline(models.BPE(vocab=vocab, merges=merges)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of every id, in order."""
        return tuple(self.piece(i).label for i in range(self.vocab_size))

    def piece(self, token_id: int, start: int = 0, end: int = 0) -> Piece:
        """Return the token ``token_id`` standing at characters [start, end)."""
        raw = self._bytes[token_id]
        try:
            text: str | None = raw.decode("utf-8")
        except UnicodeDecodeError:
            text = None
        return Piece(token_id, start, end, raw, text)

    def fold(self, text: str) -> str:
        """Return the text as the model reads it (see the module's docstring)."""
        return str(self._inner.normalizer.normalize_str(checked(text)))

    def encode(self, text: str) -> list[int]:
        """Return the ids of ``text``, without BOS."""
        return list(self._inner.encode(checked(text)).ids)

    def pieces(self, text: str) -> list[Piece]:
        """Return the tokens of ``text`` with BOS in front; spans count characters as typed."""
        found = self._inner.encode(checked(text))
        # The library forgets a combining mark that folding merged into the letter before it: a
        # token therefore reaches to where the next one starts, and the bytes of one character
        # all reach to its end.
        starts = [start for start, _ in found.offsets]
        ends = [end for _, end in found.offsets]
        following, reach = len(text), len(text)
        for i in reversed(range(len(ends))):
            reach = ends[i] = reach if starts[i] == following else max(ends[i], following)
            following = starts[i]
        spans = zip(found.ids, starts, ends, strict=True)
        return [self.piece(BOS_ID), *(self.piece(i, start, end) for i, start, end in spans)]

    def decode(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of ``ids``: the folded text, byte for byte."""
        return b"".join(self._bytes[i] for i in ids)
