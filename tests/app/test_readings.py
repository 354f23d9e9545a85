import dataclasses
import re

import numpy as np
import pytest

from andrea.requests import ModelRequest
from app import i18n, readings
from app.figures.norms import norms_of
from tests.app.journey import as_if_trained, attended, overflowed, traced


def with_ranks(ranks, probs=None):
    result = traced()
    probs = np.full(5, 0.34, np.float32) if probs is None else probs
    return as_if_trained(
        dataclasses.replace(
            result,
            lens_rank=np.array(ranks),
            lens_answer_prob=probs,
            answer_label=" re",
        )
    )


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        (
            [90, 20, 4, 1, 1],
            "The final answer, “·re”, first enters the top five after block 1, takes first place "
            "for good after the attention of block 2, and ends at 34%. On the way its rank moves "
            "up 3 times, never the other way.",
        ),
        (
            [90, 1, 4, 2, 1],
            "The final answer, “·re”, first enters the top five after the attention of block 1, "
            "takes first place for good after block 2, and ends at 34%. On the way its rank moves "
            "up 3 times and down 1 time.",
        ),
        (
            [90, 95, 80, 70, 1],
            "The final answer, “·re”, jumps straight to first place after block 2, keeps it, and "
            "ends at 34%. On the way its rank moves up 3 times and down 1 time.",
        ),
        (
            [1, 1, 1, 1, 1],
            "The final answer, “·re”, is in first place from the embedding on and ends at 34%.",
        ),
    ],
)
def test_the_lens_is_read_from_the_ranks(ranks, said):
    assert readings.lens_reading(with_ranks(ranks)) == said


def test_the_lens_in_italian():
    with i18n.use_language("it"):
        said = readings.lens_reading(with_ranks([90, 20, 4, 5, 1]))
    assert said == (
        "La risposta finale, «·re», entra per la prima volta fra i primi cinque dopo il blocco 1, "
        "conquista stabilmente il primo posto dopo il blocco 2 e arriva in fondo con probabilità "
        "34\N{NARROW NO-BREAK SPACE}%. Lungo la strada, in classifica, sale 3 volte e scende 1 "
        "volta."
    )


def test_fresh_weights_and_missing_final_norms_are_named():
    assert "The weights are fresh" in readings.lens_reading(traced())
    post = traced("a b", ModelRequest("andrea-12m", n_layer=2, norm="post"))
    assert "no final LayerNorm" in readings.lens_reading(post)
    assert "no final LayerNorm" not in readings.lens_reading(traced())
    assert "In post-norm" in readings.norm_reading(post)


def test_norms_are_read_from_the_vectors():
    result = traced()
    norms = norms_of(result.activations)
    said = readings.norm_reading(result)
    factor = norms.stream[-1] / norms.stream[0]
    assert f"{factor:.1f}-fold" in said
    largest = int(np.argmax(norms.share))
    kind = "MLP" if largest % 2 else "attention"
    assert f"largest correction is that of the {kind} of block {largest // 2 + 1}" in said
    assert i18n.percent(float(norms.share[largest])) in said


def test_without_a_residual_nothing_is_called_a_correction():
    said = readings.norm_reading(traced("a b", ModelRequest("andrea-12m", 0, "pre", False, 2)))
    assert "each branch replaces the stream" in said and "correction" not in said


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_overflow_is_said_in_words(bad, lang):
    with i18n.use_language(lang):
        for said in (
            readings.lens_reading(overflowed(bad)),
            readings.norm_reading(overflowed(bad)),
        ):
            assert re.search(r"(block|blocco) 1\b", said)
            assert not re.search(r"\b(nan|inf)\b", said, re.IGNORECASE)


def test_a_stream_of_zeros_is_said_in_words():
    result = traced()
    zero = {name: np.zeros_like(x) for name, x in result.activations.items()}
    said = readings.norm_reading(dataclasses.replace(result, activations=zero))
    assert "from 0 to 0" in said and "zero throughout" in said


def test_attention_is_read_from_the_pattern():
    result = attended()
    pattern = np.zeros_like(result.pattern)
    pattern[:, 3, :4] = [0.7, 0.1, 0.15, 0.05]
    pattern[0, 3, :4] = [0.1, 0.2, 0.1, 0.6]
    result = dataclasses.replace(result, pattern=pattern, labels=("<bos>", "a", " b", "c", "d"))
    one = readings.attention_reading(result, 3, 1)
    assert one.startswith(
        "In head 2 of block 2, “c” puts 70% of its attention on BOS and, of the others, most on "
        "“·b”: 15%. An even spread over 4 positions would give 25% each."
    )
    itself = readings.attention_reading(result, 3, 0)
    assert "most on itself: 60%" in itself
    mean = readings.attention_reading(result, 3)
    assert f"puts {(11 * 0.7 + 0.1) / 12:.0%} of its attention on BOS" in mean
    assert "Fresh weights have not learned where to look." in mean
    trained = readings.attention_reading(as_if_trained(result), 3, 1)
    assert "not why" in trained and "Fresh" not in trained
    assert "not why" not in readings.attention_reading(as_if_trained(result), 3, 0)


def test_bos_and_broken_attention_have_their_sentence():
    result = attended()
    assert "nothing comes before it" in readings.attention_reading(result, 0, 0)
    broken = dataclasses.replace(result, pattern=np.full_like(result.pattern, np.nan))
    assert "no finite attention weights" in readings.attention_reading(broken, 2)
