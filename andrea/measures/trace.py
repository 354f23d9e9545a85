"""Follow one token: every activation at its position, and what the model would say at each depth.

The logit lens (nostalgebraist 2020) reads a stream half-way: it applies the *final* LayerNorm anew
to the stream at that depth and multiplies by the unembedding. Under norm placements without a
final LayerNorm it unembeds directly. At the last layer it is the model's own answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from andrea.config import MAX_TOKENS
from andrea.errors import InputError
from andrea.model import Andrea
from andrea.requests import TraceRequest
from andrea.results import Floats, Ints, Provenance, provenance, read_only, read_only_ints
from andrea.sources import LoadedModel
from andrea.tokenizer import BOS_ID, Fold, Piece, changes

TOP = 5  # guesses that the lens shows at each depth
NEXT = 40  # continuations that one can take at the end


@dataclass(frozen=True)
class Tokens:
    """A text as the model reads it: BOS, then at most 128 tokens, fewer in a shorter context.

    ``pieces`` BOS first; ``n_tokens_typed`` how many tokens the whole text has; ``n_chars_used``
    how many of its characters the kept tokens cover; ``folds`` what folding changed.
    """

    pieces: tuple[Piece, ...]
    n_tokens_typed: int
    n_chars_used: int
    folds: tuple[Fold, ...]

    @property
    def ids(self) -> list[int]:
        """The ids, BOS first."""
        return [piece.id for piece in self.pieces]


@dataclass(frozen=True)
class TraceResult:
    """One token's way through the model. T positions (BOS is 0), L blocks, H heads, V vocabulary.

    Attributes
    ----------
    labels
        What to print for each token.
    position
        The traced position, 0 to T - 1.
    token_log_probs
        float32 [T], ln p of each token given those before it; NaN at BOS, which nothing predicts.
    activations
        By TransformerLens' names, at the traced position: vectors [d_model], ``mlp.*`` [d_mlp],
        ``attn.q/k/v/z`` [H, d_head], ``attn.scores/pattern`` [H, position + 1] over the key
        positions that the mask allows, ``logits`` [V].
    ln_weights
        gamma and beta of each LayerNorm, ``blocks.0.ln1.gamma`` and so on, [d_model].
    lens_names
        The streams that the lens reads, in order: ``blocks.0.resid_pre``, then ``resid_mid`` and
        ``resid_post`` of each block: S = 2 L + 1.
    lens_ids, lens_probs
        int64 and float32 [S, 5]: the five likeliest next tokens at each depth.
    lens_labels
        The labels of ``lens_ids``.
    lens_rank
        int64 [S]: rank at each depth of the token that the model finally puts first (1 = first).
    lens_answer_prob
        float32 [S]: probability at each depth of that token.
    answer_id, answer_label
        The model's final answer: the likeliest next token.
    next_ids, next_labels, next_texts
        The 40 likeliest next tokens, likeliest first, with what they add to the text up to the
        traced token (``None``: no text adds just this token, see ``texts_after``).
    additivity_error
        Largest |embedding + all sublayer outputs - final stream| over the components (float64
        sum of the float32 parts); ``None`` where the stream is no sum (post-norm, no residual).
    """

    request: TraceRequest
    tokens: Tokens
    labels: tuple[str, ...]
    position: int
    token_log_probs: Floats
    activations: dict[str, Floats]
    ln_weights: dict[str, Floats]
    lens_names: tuple[str, ...]
    lens_ids: Ints
    lens_probs: Floats
    lens_labels: tuple[tuple[str, ...], ...]
    lens_rank: Ints
    lens_answer_prob: Floats
    answer_id: int
    answer_label: str
    next_ids: Ints
    next_labels: tuple[str, ...]
    next_texts: tuple[str | None, ...]
    additivity_error: float | None
    provenance: Provenance


class Kept(dict[str, Tensor]):
    """A record that keeps the wanted names only, cut to one position: memory stays small."""

    def __init__(self, position: int | None, names: tuple[str, ...] | None = None) -> None:
        super().__init__()
        self.position, self.names = position, names

    def __setitem__(self, name: str, tensor: Tensor) -> None:
        if self.names is not None and name not in self.names:
            return
        if self.position is None:
            super().__setitem__(name, tensor[0])
        elif name.endswith((".scores", ".pattern")):  # (1, H, T, T) -> (H, keys up to here)
            kept = tensor[0, :, self.position, : self.position + 1]
            super().__setitem__(name, kept.clone())
        else:
            super().__setitem__(name, tensor[0, self.position].clone())


def tokenise(text: str, loaded: LoadedModel) -> Tokens:
    """Return the tokens of ``text`` that are used: BOS and the first 128, or what the model reads.

    Raises
    ------
    InputError
        If the text is empty.
    """
    if not text:
        raise InputError("The text is empty: write a few words.")
    pieces = loaded.tokenizer.pieces(text)
    kept = tuple(pieces[: min(MAX_TOKENS + 1, loaded.model.config.n_ctx)])
    return Tokens(kept, len(pieces) - 1, kept[-1].end, tuple(changes(text)))


def labels_of(ids: Tensor, loaded: LoadedModel) -> list[str]:
    """Return the labels of ids [n]; an id that the tokenizer never uses is shown as ``<id>``."""
    known = loaded.tokenizer.labels
    return [known[i] if i < len(known) else f"<{i}>" for i in ids.tolist()]


def texts_after(before: str, ids: Tensor, loaded: LoadedModel) -> tuple[str | None, ...]:
    """Return what each token adds to the text ``before``: ``None`` where no text adds just it.

    BOS, unused ids and parts of characters have no text. Some tokens have one that the tokenizer
    would join with the letters before it, or cut otherwise: the text would go on with other tokens
    than the one that was taken.
    """
    tokenizer = loaded.tokenizer
    held = tokenizer.encode(before)

    def added(token_id: int) -> str | None:
        if token_id == BOS_ID or token_id >= tokenizer.vocab_size:
            return None
        text = tokenizer.piece(token_id).text
        alone = text is not None and tokenizer.encode(before + text) == [*held, token_id]
        return text if alone else None

    return tuple(added(i) for i in ids.tolist())


def streams(model: Andrea, activations: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Yield the 2 L + 1 streams that the lens reads, in order."""
    yield "blocks.0.resid_pre", activations["blocks.0.resid_pre"]
    for i in range(model.config.n_layer):
        for name in (f"blocks.{i}.resid_mid", f"blocks.{i}.resid_post"):
            yield name, activations[name]


def additivity_error(model: Andrea, activations: dict[str, Tensor]) -> float | None:
    """Return max |embedding + sublayer outputs - final stream|, or None where there is no sum."""
    config = model.config
    if config.norm == "post" or not config.residual:
        return None
    total = activations["embed"].double() + activations["pos_embed"].double()
    for i in range(config.n_layer):
        total += activations[f"blocks.{i}.attn_out"].double()
        total += activations[f"blocks.{i}.mlp_out"].double()
    final = activations[f"blocks.{config.n_layer - 1}.resid_post"]
    return float((total - final.double()).abs().max())


def rank_of(logits: Tensor, token: Tensor) -> Tensor:
    """Return the rank (1 = first) of ``token`` [...] in ``logits`` [..., V]; NaN ranks last."""
    own = logits.gather(-1, token[..., None])
    return (logits.shape[-1] - (logits <= own).sum(-1) + 1).clamp(max=logits.shape[-1])


def counted_from_0(position: int, n_positions: int) -> int:
    """Return a position counted from the start; negative ones count from the end.

    Raises
    ------
    InputError
        If it lies outside the text.
    """
    counted = position + n_positions if position < 0 else position
    if not 0 <= counted < n_positions:
        raise InputError(
            "Position {position} lies outside the text: it has positions 0 to {last}.",
            position=position,
            last=n_positions - 1,
        )
    return counted


def check_layer(layer: int, model: Andrea) -> None:
    """Refuse a block that the model does not have; ``layer`` counts from 0.

    Raises
    ------
    InputError
        Naming the block, counted from 1, and those that there are.
    """
    if not 0 <= layer < model.config.n_layer:
        raise InputError(
            "There is no block {layer}: this model has blocks 1 to {most}.",
            layer=layer + 1,
            most=model.config.n_layer,
        )


@torch.no_grad()
def trace(request: TraceRequest, loaded: LoadedModel) -> TraceResult:
    """Answer a ``TraceRequest``.

    Raises
    ------
    InputError
        If the text is empty or the position lies outside it.
    """
    started = time.perf_counter()
    model, tokens = loaded.model, tokenise(request.text, loaded)
    T = len(tokens.pieces)
    position = counted_from_0(request.position, T)
    ids = torch.tensor([tokens.ids], device=model.wte.device)
    record = Kept(position)
    logits = model(ids, record)[0]  # (T, V)
    log_probs = torch.full((T,), torch.nan, device=ids.device)
    log_probs[1:] = logits[:-1].log_softmax(-1).gather(-1, ids[0, 1:, None])[:, 0]

    named = list(streams(model, record))
    lens = model.unembed(torch.stack([x for _, x in named]))  # (S, V)
    answer = lens[-1].argmax()
    probs = lens.softmax(-1)
    # By logit, as the answer is chosen: probabilities may tie in float32 where logits do not.
    top = lens.topk(TOP, dim=-1).indices
    following = lens[-1].topk(NEXT).indices
    before = request.text[: tokens.pieces[position].end]
    norms = {n: p for n, p in model.named_parameters() if n.endswith((".gamma", ".beta"))}
    return TraceResult(
        request=request,
        tokens=tokens,
        labels=tuple(piece.label for piece in tokens.pieces),
        position=position,
        token_log_probs=read_only(log_probs),
        activations={name: read_only(x) for name, x in record.items()},
        ln_weights={name: read_only(p) for name, p in norms.items()},
        lens_names=tuple(name for name, _ in named),
        lens_ids=read_only_ints(top),
        lens_probs=read_only(probs.gather(-1, top)),
        lens_labels=tuple(tuple(labels_of(row, loaded)) for row in top),
        lens_rank=read_only_ints(rank_of(lens, answer.expand(len(lens)))),
        lens_answer_prob=read_only(probs[:, answer]),
        answer_id=int(answer),
        answer_label=labels_of(answer[None], loaded)[0],
        next_ids=read_only_ints(following),
        next_labels=tuple(labels_of(following, loaded)),
        next_texts=texts_after(before, following, loaded),
        additivity_error=additivity_error(model, record),
        provenance=provenance(request, loaded, started),
    )
