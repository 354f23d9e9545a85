"""Kneser-Ney against hand computation, against a plain dictionary, and against the sum rule."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from andrea.kneser_ney import KneserNey, pack

A, B, C = 0, 1, 2


def test_a_bigram_by_hand() -> None:
    # a b a c a b : bigrams ab 2, ba 1, ac 1, ca 1. Vocabulary of 4 (one token never seen).
    model = KneserNey([np.array([A, B, A, C, A, B])], vocab_size=4, order=2, discount=0.75)
    # Lower order: different tokens before a: b, c -> 2; before b: a -> 1; before c: a -> 1. Sum 4,
    # 3 types: P1(a) = 1.25/4 + .75*3/4/4, P1(b) = P1(c) = .25/4 + .75*3/4/4, P1(d) = .75*3/4/4.
    under = 0.75 * 3 / 4 / 4
    p1 = [1.25 / 4 + under, 0.25 / 4 + under, 0.25 / 4 + under, under]
    assert model.distribution([]) == pytest.approx(p1)
    # After a: b twice, c once, so c(a) = 3 and t(a) = 2.
    left = 0.75 * 2 / 3
    expected = [left * p1[0], 1.25 / 3 + left * p1[1], 0.25 / 3 + left * p1[2], left * p1[3]]
    assert model.distribution([A]) == pytest.approx(expected)
    assert model.distribution([3]) == pytest.approx(p1)  # never seen: the shorter history answers
    assert model.distribution([C, A]) == pytest.approx(expected)  # only the last token counts


def test_a_unigram_by_hand() -> None:
    model = KneserNey([np.array([A, A, A, B])], vocab_size=4, order=1, discount=0.5)
    under = 0.5 * 2 / 4 / 4
    assert model.distribution([]) == pytest.approx([2.5 / 4 + under, 0.5 / 4 + under, under, under])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_history_sums_to_one(order: int) -> None:
    random = np.random.default_rng(order)
    text = random.integers(0, 7, 300)
    model = KneserNey([text, random.integers(0, 7, 40)], vocab_size=9, order=order)
    for length in range(5):
        for _ in range(20):
            history = random.integers(0, 9, length).tolist()
            distribution = model.distribution(history)
            assert distribution.min() > 0
            assert distribution.sum() == pytest.approx(1, abs=1e-12)


class Slow:
    """The same formula, with dictionaries and recursion."""

    def __init__(self, text: list[int], size: int, order: int, discount: float) -> None:
        self.size, self.discount = size, discount
        grams = [tuple(text[i : i + order]) for i in range(len(text) - order + 1)]
        self.counts = {order: Counter(grams)}
        for n in range(order - 1, 0, -1):
            self.counts[n] = Counter(gram[1:] for gram in set(self.counts[n + 1]))

    def probability(self, gram: tuple[int, ...]) -> float:
        if not gram:
            return 1 / self.size
        follow: dict[tuple[int, ...], dict[int, int]] = defaultdict(dict)
        for (*history, word), count in self.counts[len(gram)].items():
            follow[tuple(history)][word] = count
        after = follow.get(gram[:-1])
        shorter = self.probability(gram[1:])
        if after is None:
            return shorter
        total = sum(after.values())
        kept = max(after.get(gram[-1], 0) - self.discount, 0)
        return (kept + self.discount * len(after) * shorter) / total


def test_a_text_against_dictionaries() -> None:
    random = np.random.default_rng(0)
    text, held = random.integers(0, 5, 200), random.integers(0, 6, 30)
    model, slow = KneserNey([text], 6, order=3), Slow(text.tolist(), 6, 3, 0.75)
    expected = []
    for i in range(1, len(held)):
        expected.append(math.log(slow.probability(tuple(held[max(0, i - 2) : i + 1].tolist()))))
    assert model.log_probabilities(held) == pytest.approx(expected)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_token_but_the_first_is_predicted(order: int) -> None:
    random = np.random.default_rng(1)
    text = random.integers(0, 5, 100)
    model = KneserNey([text], 5, order=order)
    found = model.log_probabilities(text[:20])
    assert found.shape == (19,)
    for i in (1, 2, 3, 10, 19):
        assert found[i - 1] == pytest.approx(
            math.log(model.distribution(text[:i].tolist())[text[i]])
        )


def test_no_ngram_reaches_into_the_next_text() -> None:
    apart = KneserNey([np.array([A, A, A]), np.array([B, B, B])], 3, order=2)
    assert (apart.tables[1].grams == pack(np.array([A, A]), 2, 3)[0]).sum() == 1
    assert pack(np.array([A, B]), 2, 3)[0] not in apart.tables[1].grams


def test_learning_helps_and_longer_histories_help_more() -> None:
    text = np.array([A, B, C, B] * 100)
    losses = [
        -KneserNey([text], 3, order=order).log_probabilities(text[:40]).mean()
        for order in (1, 2, 3)
    ]
    assert math.log(3) > losses[0] > losses[1] > losses[2]
    assert losses[2] < 0.05


@pytest.mark.parametrize(
    ("texts", "size", "order", "discount", "named"),
    [
        ([np.arange(9)], 9, 0, 0.75, "order is 0"),
        ([np.arange(9)], 8449, 5, 0.75, "order is 5"),
        ([np.arange(9)], 9, 2, 1.0, "discount is 1.0"),
        ([np.arange(9)], 8, 2, 0.75, "outside the vocabulary of 8"),
        ([np.arange(2)], 9, 3, 0.75, "no text holds 3 tokens"),
    ],
)
def test_impossible_parameters_are_named(
    texts: list[np.ndarray], size: int, order: int, discount: float, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        KneserNey(texts, size, order, discount)
