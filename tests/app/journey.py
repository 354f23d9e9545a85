"""Results that the tests of figures, readings and downloads share: small models, made once."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

from andrea import engine
from andrea.requests import AttentionRequest, LensMapRequest, ModelRequest, TraceRequest

NASTY = "<b>x</b> $a$ &lt; 🤗 =1"
LIGHT = {
    "bg": "#fbfaf7", "ink": "#1d2129", "mute": "#656b76", "line": "#d9d5cb", "card": "#ffffff",
    "acc": "#0b5fa5", "acc2": "#4a4f5a", "soft": "#eef3f8", "neg": "#b35806", "pos": "#2166ac",
    "mid": "#f4f2ee",
}  # fmt: skip
DARK = {
    "bg": "#15171b", "ink": "#e9e7e1", "mute": "#9aa0ab", "line": "#343941", "card": "#1c1f25",
    "acc": "#7db8ee", "acc2": "#c9ced8", "soft": "#222b36", "neg": "#e08214", "pos": "#5aa5e0",
    "mid": "#24272d",
}  # fmt: skip
FRESH = ModelRequest("andrea-12m", seed=3, n_layer=2)


@cache
def traced(text: str = NASTY, model: ModelRequest = FRESH, position: int = -1):
    """Return a trace; the same one each time."""
    return engine.run(TraceRequest(text, model, position))


@cache
def attended(text: str = NASTY, model: ModelRequest = FRESH, layer: int = 1):
    """Return a layer's attention."""
    return engine.run(AttentionRequest(text, model, layer))


@cache
def mapped(text: str = NASTY, model: ModelRequest = FRESH):
    """Return a lens map."""
    return engine.run(LensMapRequest(text, model))


def as_if_trained(result):
    """Return the result with a provenance that says its weights are trained."""
    return dataclasses.replace(
        result, provenance=dataclasses.replace(result.provenance, trained=True)
    )


def overflowed(value: float = np.nan):
    """Return a trace whose stream is not finite from the MLP of block 1 on."""
    result = traced()
    activations = dict(result.activations)
    for name in ("blocks.0.resid_post", "blocks.1.resid_mid", "blocks.1.resid_post"):
        activations[name] = np.full_like(activations[name], value)
    probs = result.lens_answer_prob.copy()
    probs[2:] = np.nan
    return dataclasses.replace(result, activations=activations, lens_answer_prob=probs)
