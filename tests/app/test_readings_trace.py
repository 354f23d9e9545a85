"""The sentences of Follow a token, against the numbers that they are made of."""

from __future__ import annotations

import re

import numpy as np
import pytest

from andrea import engine, sources
from andrea.config import ModelConfig
from andrea.measures.trace import TraceResult
from andrea.model import Andrea
from andrea.requests import TraceRequest
from andrea.sources import LoadedModel
from andrea.tokenizer import TextTokenizer
from app import readings_trace
from app.i18n import use_language

TOKENIZER = TextTokenizer.load(sources.SHIPPED / "tokenizer.json")


def traced(text: str = "Un re", residual: bool = True, empty: bool = False) -> TraceResult:
    config = ModelConfig(n_layer=2, d_model=16, n_head=2, n_ctx=160, residual=residual)
    model = Andrea(config, seed=1).requires_grad_(False)
    if empty:
        model.wte.zero_()
        model.wpe.zero_()
    loaded = LoadedModel(model, TOKENIZER, "0" * 64, {})
    return engine.run(TraceRequest(text), lambda _: loaded)


def test_corrections_are_norm_ratios_and_angles():
    result = traced()
    found = readings_trace.corrections(result)
    assert len(found) == 4
    x, d, y = (result.activations[f"blocks.1.{n}"] for n in ("resid_mid", "mlp_out", "resid_post"))
    assert found[3][0] == pytest.approx(np.linalg.norm(d) / np.linalg.norm(x), rel=1e-5)
    cosine = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
    assert np.cos(np.radians(found[3][1])) == pytest.approx(cosine, abs=1e-5)


def test_the_prediction_is_answered_with_the_median():
    result = traced()
    shares = [share for share, _ in readings_trace.corrections(result)]
    with use_language("en"):
        said = readings_trace.prediction_reading(result)
    assert said.startswith("It adds to it.")
    assert f"{100 * np.median(shares):.0f}%" in said
    assert f"{100 * max(shares):.0f}%" in said
    with use_language("it"):
        assert readings_trace.prediction_reading(result).startswith("Aggiunge.")


def test_without_the_residual_it_replaces():
    result = traced(residual=False)
    angle = readings_trace.corrections(result)[0][1]
    with use_language("en"):
        said = readings_trace.prediction_reading(result)
    assert "replaces" in said
    assert f"{angle:.0f}°" in said


def test_a_stream_of_zeros_is_said_and_does_not_fail():
    result = traced(empty=True)
    with use_language("en"):
        assert "zero or no longer finite" in readings_trace.prediction_reading(result)


def test_what_folding_changed_is_listed():
    assert readings_trace.fold_notice(traced("Un re")) is None
    said = readings_trace.fold_notice(traced("l\u2019uomo \u00abdice\u00bb l\u2019altro"))
    assert said is not None
    assert "\u2019 → ' (2×)" in said
    assert '\u00ab → " (1×)' in said


def test_what_was_cut_is_quoted():
    assert readings_trace.cut_notice(traced("Un re")) is None
    text = "una casa e " * 100 + "fine"
    result = traced(text)
    with use_language("en"):
        said = readings_trace.cut_notice(result)
    assert said is not None
    assert re.search(r"the first 128 are followed", said)
    quoted = said.split("“")[1].rstrip("”").rstrip("…")
    assert text[result.tokens.n_chars_used :].strip().startswith(quoted)
