"""What the Depth page says in words, made from the numbers that its figures show."""

from __future__ import annotations

import math

import numpy as np

from andrea.data import LANGUAGES
from andrea.measures.ablation import AnswersResult, ChangesResult
from andrea.measures.attention_summary import FIRST_QUERY
from andrea.measures.attribution import WaterfallResult
from andrea.measures.depth import DepthResult
from app.figures.base import share, shown
from app.figures.depth import part_label
from app.i18n import _, integer, ngettext, number, percent, signed
from app.readings import sublayer, voice

MOSTLY = 0.5  # of a head's weight: from here on it looks at one thing
SAME = 0.99  # mean cosine between positions from which on they are called the same


def change_label(change: str) -> str:
    """Return what a change is called."""
    return {
        "block": _("leave out a block"),
        "attention": _("leave out its attention"),
        "mlp": _("leave out its MLP"),
        "swap": _("swap two neighbours"),
        "first": _("run only the first blocks"),
        "residual": _("cut every residual"),
    }[change]


def waterfall_reading(result: WaterfallResult) -> str:
    """Say which parts carry the answer, and that the bars add up."""
    shares = result.contributions
    best, worst = int(shares.argmax()), int(shares.argmin())
    names = [part_label(voice(), name) for name in result.names]
    text = _(
        "The logit of “{token}” lies {logit} above the mean of all logits. The largest part comes "
        "from “{best}” ({most})."
    ).format(
        token=shown(result.answer_label),
        logit=number(result.logit, 2),
        best=names[best],
        most=signed(float(shares[best]), 2),
    )
    if shares[worst] < 0:
        text += " " + _("“{worst}” works against it most ({least}).").format(
            worst=names[worst], least=signed(float(shares[worst]), 2)
        )
    n = sum(name.startswith("blocks.") for name in result.names)
    late = float(shares[2 + n // 2 : 2 + n].sum())
    text += " " + _("The second half of the blocks adds {late}.").format(late=signed(late, 2))
    return f"{text} " + _(
        "The bars sum to the logit but for {error}; embedding, position and the {n} sublayers sum "
        "to the final stream but for {off}."
    ).format(error=number(result.error, 3), n=integer(n), off=number(result.additivity_error, 3))


def sizes_reading(result: DepthResult) -> list[str]:
    """Say how near to the identity the blocks are, before and after training."""
    sentences = []
    if result.sizes_init is not None:
        cosine = result.sizes_init.cosine
        sentences.append(
            _(
                "At initialisation: block 1 turns the stream to a cosine of {first}, the last one "
                "to {last}. No block is the identity; the later ones come closer, because the "
                "stream has grown and each step is about as long as before."
            ).format(first=number(float(cosine[0]), 2), last=number(float(cosine[-1]), 2))
        )
    cosine, steps = result.sizes.cosine, result.sizes.share
    least = int(cosine.argmin())
    sentences.append(
        _(
            "Here: block {least} changes the stream most (cosine {cosine}), block {most} least "
            "({nearest}). The length of a step over that of the stream is {share} in the middle of "
            "the range and {largest} at most ({which})."
        ).format(
            least=integer(least + 1),
            cosine=number(float(cosine[least]), 2),
            most=integer(int(cosine.argmax()) + 1),
            nearest=number(float(cosine.max()), 2),
            share=number(float(np.median(steps)), 2),
            largest=number(float(steps.max()), 2),
            which=sublayer(int(steps.argmax()) + 1),
        )
    )
    return sentences


def language_name(index: int) -> str:
    """Return “in Italian” or “in English”, by the place in the arrays."""
    return {"it": _("in Italian"), "en": _("in English")}[LANGUAGES[index]]


def lens_reading(result: DepthResult) -> list[str]:
    """Say how the right token climbs, in each language."""
    sentences = []
    for g, rank in enumerate(result.rank):
        gains = np.log(rank[1:-1] / rank[2:])
        step = int(gains.argmax()) + 2 if gains.size else 1
        sentences.append(
            _(
                "{language}: median rank {start} before the first block, {one} after it, {end} at "
                "the end, where the right token gets {prob} in the median and stands first at "
                "{hits} of the positions. After block 1 the largest step is block {step}'s."
            ).format(
                language=language_name(g)[:1].upper() + language_name(g)[1:],
                start=integer(int(rank[0])),
                one=integer(int(rank[1])),
                end=integer(int(rank[-1])),
                prob=percent(float(result.prob[g, -1]), 1),
                hits=percent(float(result.hits[g, -1])),
                step=integer(step),
            )
        )
    sentences.append(
        _(
            "Before the first block the lens puts the token itself first at {own} of the "
            "positions: embedding and unembedding are one matrix, so that an untouched vector "
            "points back at its own token and not at the next. At the end it is {late}."
        ).format(own=percent(float(result.own[:, 0].mean())),
                 late=percent(float(result.own[:, -1].mean()), 1))
    )  # fmt: skip
    return sentences


def costs(result: ChangesResult) -> np.ndarray:
    """Return how much the loss grows at each place, mean over both languages, [P]."""
    grown = result.loss.astype(np.float64) - result.base_loss.astype(np.float64)[:, None]
    return grown.mean(axis=0)


def prediction_reading(result: ChangesResult) -> str:
    """Say which block the model can least do without."""
    cost = costs(result)
    if not np.isfinite(cost).all():
        return _("Some of the losses are not finite here.")
    worst, mildest = int(cost.argmax()), int(cost.argmin())
    return _(
        "Block {worst}: without it the loss grows by {cost} nats a token; without block {mildest} "
        "by {least}. The median over all blocks is {median}."
    ).format(
        worst=integer(result.places[worst]),
        cost=number(float(cost[worst]), 2),
        mildest=integer(result.places[mildest]),
        least=signed(float(cost[mildest]), 3),
        median=signed(float(np.median(cost)), 3),
    )


def change_reading(result: ChangesResult, k: int) -> str:
    """Say what one change does to the loss in each language, and whether positions collapse."""
    p = result.places.index(k)
    before, after = result.base_loss, result.loss[:, p]
    text = _(
        "The loss goes from {it} to {it_after} in Italian and from {en} to {en_after} in English."
    ).format(
        it=number(float(before[0]), 3),
        it_after=number(float(after[0]), 3),
        en=number(float(before[1]), 3),
        en_after=number(float(after[1]), 3),
    )
    if (result.cosine[:, p] > SAME).all():
        text += " " + _(
            "The mean cosine between positions goes from {base} to {now}: all positions have "
            "become one vector, and it says nothing about the text."
        ).format(
            base=number(float(result.base_cosine.mean()), 2),
            now=number(float(result.cosine[:, p].mean()), 5),
        )
    even = math.log(int(result.provenance.config["vocab_size"]))
    if (after > even).all():
        text += " " + _(
            "That is worse than giving every token the same probability ({even})."
        ).format(even=number(even, 2))
    return text


def answer_reading(result: AnswersResult, k: int) -> str:
    """Say what the text's answer becomes."""
    p = result.places.index(k)
    base, label = shown(result.base_label), shown(result.labels[p])
    before, now = (share(voice(), float(x)) for x in (result.base_prob, result.base_probs[p]))
    if label == base:
        return _("The answer to the text stays “{base}”: {before} before, {now} now.").format(
            base=base, before=before, now=now
        )
    return _(
        "The answer to the text changes from “{base}” to “{label}” ({prob}); “{base}” goes "
        "from {before} to {now} and stands at rank {rank}."
    ).format(
        base=base, label=label, prob=share(voice(), float(result.probs[p])), before=before, now=now,
        rank=integer(int(result.base_ranks[p])),
    )  # fmt: skip


def even_share(n_tokens: int) -> float:
    """Return what any one token would get if every query spread its weight evenly, on average."""
    queries = np.arange(FIRST_QUERY, n_tokens + 1)
    return float((1 / (queries + 1)).mean())


def heads_reading(result: DepthResult) -> list[str]:
    """Say where heads look most, and why the first token collects what it collects."""
    a, n = result.attention, result.attention.first.size
    even = even_share(result.request.n_tokens)
    many = int((a.first > MOSTLY).sum())

    def place(array: np.ndarray) -> tuple[str, str]:
        block, head = np.unravel_index(int(array.argmax()), array.shape)
        return integer(int(block) + 1), integer(int(head) + 1)

    block, head = place(a.first)
    first = _(
        "The first token, where every text begins, gets {share} on average; an even spread would "
        "give {even}. The most comes from head {head} of block {block} ({most})."
    ).format(
        share=percent(float(a.first.mean()), 1), even=percent(even, 1), head=head, block=block,
        most=percent(float(a.first.max())),
    )  # fmt: skip
    first += " " + ngettext(
        "{many} of {n} heads gives it more than half of its weight.",
        "{many} of {n} heads give it more than half of their weight.",
        many,
    ).format(many=integer(many), n=integer(n))
    block, head = place(a.previous)
    sharp, which = place(-a.entropy)
    second = _(
        "The token before is read most by head {head} of block {block} ({most}). The sharpest head "
        "is head {which} of block {sharp}: an entropy of {low} nats, as if it read {reads} tokens."
    ).format(
        head=head, block=block, most=percent(float(a.previous.max())), which=which, sharp=sharp,
        low=number(float(a.entropy.min()), 2), reads=number(math.exp(float(a.entropy.min())), 1),
    )  # fmt: skip
    return [first, sink_reading(result), second]


def sink_reading(result: DepthResult) -> str:
    """Say why a first token can collect weight, and whether it does so here."""
    a = result.attention
    text = _(
        "Why the first token: a head's weights must sum to 1 even where there is nothing to read, "
        "and the first token is the only one that every position sees."
    )
    sinks = a.first > MOSTLY
    if sinks.any():
        return f"{text} " + _(
            "In the heads that give it more than half, the vector read there is {ratio} times as "
            "long as the others' on average: where it is short, that weight moves little."
        ).format(ratio=number(float(a.first_value[sinks].mean()), 2))
    return f"{text} " + _(
        "Large, long-trained models often put most of their weight there; this one does not: no "
        "head gives it more than half, and what is read there is as long as elsewhere "
        "({ratio} times)."
    ).format(ratio=number(float(a.first_value.mean()), 2))
