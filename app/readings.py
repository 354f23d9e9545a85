"""The sentences under the journey's figures, made from the numbers that the figures show.

They are plain text: a token in them is what the visitor typed, and the page escapes the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app import i18n
from app.figures.base import Voice, share, shown, size_of
from app.figures.norms import Norms, norms_of
from app.i18n import _, integer, ngettext, number

if TYPE_CHECKING:
    from andrea.measures.overview import AttentionResult
    from andrea.measures.trace import TraceResult
    from andrea.results import Provenance


def voice() -> Voice:
    """Return the language in force as figures need it."""
    decimal = number(0.5, 1)[1]
    return Voice(
        i18n._,
        ngettext,
        number,
        i18n.percent,
        integer,
        decimal + ("." if decimal == "," else ","),
    )


def after(station: int) -> str:
    """Return “after …” for the lens' stations 0 … 2 L."""
    block = integer((station + 1) // 2)
    if station == 0:
        return _("at the embedding")
    if station % 2:
        return _("after the attention of block {block}").format(block=block)
    return _("after block {block}").format(block=block)


def sublayer(station: int) -> str:
    """Return the name of the sublayer that writes station ``station`` (1 … 2 L)."""
    block = integer((station + 1) // 2)
    if station % 2:
        return _("the attention of block {block}").format(block=block)
    return _("the MLP of block {block}").format(block=block)


def lens_reading(result: TraceResult) -> str:
    """Say where the final answer rises to the top, how sure it ends, how often it moved."""
    if not np.isfinite(result.lens_answer_prob[-1]):
        return _overflow(norms_of(result.activations)) + " " + _("So the model has no answer here.")
    sentences = [_climb(result), _moves(result)]
    if not np.isfinite(result.lens_answer_prob).all():
        sentences.append(
            _("At some depths the lens finds no finite number: there is no guess there.")
        )
    if result.provenance.config["norm"] != "pre":
        sentences.append(
            _("This model has no final LayerNorm, so the lens unembeds the stream as it is.")
        )
    if not result.provenance.trained:
        even = share(voice(), 1 / len(result.activations["logits"]))
        sentences.append(
            _(
                "The weights are fresh, so the answer means nothing yet: an even spread over the "
                "vocabulary would give each token {share}."
            ).format(share=even)
        )
    return " ".join(s for s in sentences if s)


def _climb(result: TraceResult) -> str:
    rank = result.lens_rank
    stays = len(rank) - int(np.argmax(rank[::-1] != 1)) if (rank != 1).any() else 0
    # Where equal values tie, the last station can have a rank that is not 1.
    stays = min(stays, len(rank) - 1)
    enters = int(np.argmax(rank <= 5)) if (rank <= 5).any() else stays
    values = {
        "token": shown(result.answer_label),
        "first": after(stays),
        "five": after(enters),
        "share": share(voice(), float(result.lens_answer_prob[-1])),
    }
    if stays == 0:
        return _(
            "The final answer, “{token}”, is in first place from the embedding on and ends at "
            "{share}."
        ).format(**values)
    if enters >= stays:
        return _(
            "The final answer, “{token}”, jumps straight to first place {first}, keeps it, and "
            "ends at {share}."
        ).format(**values)
    return _(
        "The final answer, “{token}”, first enters the top five {five}, takes first place for "
        "good {first}, and ends at {share}."
    ).format(**values)


def _moves(result: TraceResult) -> str:
    steps = np.diff(result.lens_rank)
    up, down = int((steps < 0).sum()), int((steps > 0).sum())
    rises = ngettext("up {n} time", "up {n} times", up).format(n=integer(up))
    falls = ngettext("down {n} time", "down {n} times", down).format(n=integer(down))
    if up and down:
        return _("On the way its rank moves {up} and {down}.").format(up=rises, down=falls)
    if up or down:
        return _("On the way its rank moves {direction}, never the other way.").format(
            direction=rises if up else falls
        )
    return ""


def _overflow(norms: Norms) -> str:
    bad = np.flatnonzero(~np.isfinite(norms.stream))
    if bad.size == 0:
        return _("The stream is finite, but what is computed from it is not.")
    return _(
        "The stream holds no finite numbers from here on: {place}. The values have outgrown what "
        "32 bits can hold; this is a result of these switches, not a fault of the page."
    ).format(place=after(int(bad[0])))


def norm_reading(result: TraceResult) -> str:
    """Say by what factor the stream grows, and which correction is largest beside it."""
    norms = norms_of(result.activations)
    if not np.isfinite(norms.stream).all():
        return _overflow(norms)
    sentences = [_growth(norms)]
    shares = norms.share
    if np.isfinite(shares).any():
        sentences.append(_largest(norms, bool(result.provenance.config["residual"])))
    else:
        sentences.append(_("The stream is zero throughout, so a share of it has no meaning."))
    if result.provenance.config["norm"] == "post":
        sentences.append(
            _("In post-norm a LayerNorm rescales the stream after each addition, so its norm "
              "cannot pile up.")
        )  # fmt: skip
    return " ".join(sentences)


def _growth(norms: Norms) -> str:
    first, last = float(norms.stream[0]), float(norms.stream[-1])
    values = {"first": size_of(voice(), first), "last": size_of(voice(), last)}
    if not first or not last:
        return _("The stream's norm goes from {first} to {last}.").format(**values)
    factor = max(first, last) / min(first, last)
    values["factor"] = number(factor, 0 if factor >= 9.95 else 1)
    if factor < 1.05:
        return _("The stream's norm hardly changes: {first} at the embedding, {last} at the end.") \
            .format(**values)  # fmt: skip
    if last > first:
        return _(
            "The stream's norm grows {factor}-fold, from {first} at the embedding to {last} at "
            "the end."
        ).format(**values)
    return _(
        "The stream's norm shrinks {factor}-fold, from {first} at the embedding to {last} at the "
        "end."
    ).format(**values)


def _largest(norms: Norms, residual: bool) -> str:
    shares = norms.share
    high, low = int(np.nanargmax(shares)), int(np.nanargmin(shares))
    values = {
        "largest": sublayer(high + 1),
        "most": share(voice(), float(shares[high])),
        "smallest": sublayer(low + 1),
        "least": share(voice(), float(shares[low])),
    }
    if residual:
        return _(
            "Relative to the stream it is added to, the largest correction is that of {largest} "
            "({most}), the smallest that of {smallest} ({least})."
        ).format(**values)
    return _(
        "Nothing is added here: each branch replaces the stream. Relative to the stream it "
        "replaces, the largest output is that of {largest} ({most}), the smallest that of "
        "{smallest} ({least})."
    ).format(**values)


def attention_reading(result: AttentionResult, position: int, head: int | None = None) -> str:
    """Say what the token at ``position`` reads: its share on BOS, and the strongest other token.

    ``head`` ``None`` takes the mean over the layer's heads.
    """
    rows = result.pattern[:, position, : position + 1]
    weights = rows.mean(0, dtype=np.float64) if head is None else rows[head].astype(np.float64)
    reader = shown(result.labels[position])
    block = integer(result.layer + 1)
    if head is None:
        who = _("On average over the heads of block {block}, “{reader}”").format(
            block=block, reader=reader
        )
    else:
        who = _("In head {head} of block {block}, “{reader}”").format(
            head=integer(head + 1), block=block, reader=reader
        )
    if not np.isfinite(weights).all():
        return _("{who} has no finite attention weights: the scores have outgrown float32.").format(
            who=who
        )
    if position == 0:
        return _("{who} can read only itself: nothing comes before it.").format(who=who)
    return " ".join(s for s in (_reads(who, weights, result), _first_token(weights, result)) if s)


def _reads(who: str, weights: np.ndarray, result: AttentionResult) -> str:
    strongest = 1 + int(np.argmax(weights[1:]))
    values = {
        "who": who,
        "bos": share(voice(), float(weights[0])),
        "read": shown(result.labels[strongest]),
        "share": share(voice(), float(weights[strongest])),
    }
    if strongest == len(weights) - 1:
        return _(
            "{who} puts {bos} of its attention on BOS and, of the others, most on itself: {share}."
        ).format(**values)
    return _(
        "{who} puts {bos} of its attention on BOS and, of the others, most on “{read}”: {share}."
    ).format(**values)


def _first_token(weights: np.ndarray, result: AttentionResult) -> str:
    even = 1 / len(weights)
    p: Provenance = result.provenance
    sentence = ngettext(
        "An even spread over {n} position would give {share} each.",
        "An even spread over {n} positions would give {share} each.",
        len(weights),
    ).format(n=integer(len(weights)), share=share(voice(), even))
    if p.trained and weights[0] > 2 * even and weights[0] > weights[1:].max():
        sentence += " " + _(
            "That the first token collects so much is seen in many trained models. A common "
            "explanation: softmax must hand out the whole, and what a head does not need has to "
            "go somewhere. The figure shows that it happens, not why."
        )
    if not p.trained:
        sentence += " " + _("Fresh weights have not learned where to look.")
    return sentence
