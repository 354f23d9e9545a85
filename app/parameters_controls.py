"""The controls of Parameters: a preset, its sizes and switches; a second set for comparing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from andrea.config import PRESETS, ModelConfig
from andrea.requests import MAX_FRESH_LAYERS, ParametersRequest
from app import state
from app.i18n import _

DEFAULT, SECOND = "andrea-120m", "gpt2"
WIDTHS = (48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1536, 1600, 2048, 3072, 4096)
VOCABULARIES = (257, 512, 1024, 2305, 4353, 8449, 16_384, 32_000, 50_257, 100_277)
CONTEXTS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
EXPANSIONS = ("1", "2", "8/3", "3", "4", "6", "8")
SWITCHES = ("bias", "tied", "affine")
KEYS = ("preset", "n_layer", "d_model", "n_head", "expansion", "vocab_size", "n_ctx", *SWITCHES)
MOST_HEADS = 64


def hidden(expansion: str, d_model: int) -> int:
    """Return ``d_mlp``; the 8/3 of gated MLPs is rounded to a whole number."""
    return round(8 * d_model / 3) if expansion == "8/3" else int(expansion) * d_model


def heads(d_model: int) -> list[int]:
    """Return the possible numbers of heads: the divisors of the width."""
    return [n for n in range(1, MOST_HEADS + 1) if d_model % n == 0]


def nearest(options: Sequence[int], wanted: int) -> int:
    """Return the option closest to ``wanted``."""
    return min(options, key=lambda n: abs(n - wanted))


def values(config: ModelConfig) -> dict[str, Any]:
    """Return the value of every control for a configuration."""
    return {
        "n_layer": config.n_layer,
        "d_model": config.d_model,
        "n_head": config.n_head,
        "expansion": str(config.hidden // config.d_model),
        "vocab_size": config.vocab_size,
        "n_ctx": config.n_ctx,
        "bias": config.bias,
        "tied": config.tie_embeddings,
        "affine": config.norm_affine,
    }


def _preset_changed(prefix: str, default: str) -> None:
    """Give every control the preset's value (a callback)."""
    for key, value in values(PRESETS[state.peek(f"{prefix}preset", default)]).items():
        state.assign(prefix + key, value)
        state.forget_notice(prefix + key)


def _width_changed(prefix: str) -> None:
    """Keep the number of heads possible (a callback)."""
    options = heads(int(state.peek(f"{prefix}d_model", 768)))
    state.assign(f"{prefix}n_head", nearest(options, int(state.peek(f"{prefix}n_head", 12))))


def _choice(label: str, prefix: str, key: str, options: Sequence, value: Any, **more: Any) -> Any:
    """Show a slider over fixed values; return the chosen one, or the default if it fits none."""
    name = prefix + key
    chosen = st.select_slider(
        label, options, value, key=name, bind="query-params", width=215, **more
    )
    return state.checked(name, chosen)


def _switch(label: str, prefix: str, key: str, value: object, note: str) -> bool:
    name = prefix + key
    on = st.toggle(label, bool(value), key=name, bind="query-params", help=note)
    return bool(state.checked(name, bool(on)))


def configuration(prefix: str = "", default: str = DEFAULT) -> ParametersRequest:
    """Show one set of controls; return the request. ``prefix`` tells the second set's keys."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="top"):
        preset = st.selectbox(
            _("Start from"),
            list(PRESETS),
            index=list(PRESETS).index(default),
            key=f"{prefix}preset",
            bind="query-params",
            on_change=_preset_changed,
            args=(prefix, default),
            width=215,
        )
        preset = state.checked(f"{prefix}preset", preset)
        start = values(PRESETS[preset])
        layers = st.slider(
            _("Blocks"), 1, MAX_FRESH_LAYERS, PRESETS[preset].n_layer, key=f"{prefix}n_layer",
            bind="query-params", width=215,
        )  # fmt: skip
        layers = state.checked(f"{prefix}n_layer", int(layers))
        width = _choice(_("Width"), prefix, "d_model", WIDTHS, start["d_model"],
                        on_change=_width_changed, args=(prefix,))  # fmt: skip
        fits = heads(width)
        n_head = _choice(_("Heads"), prefix, "n_head", fits,
                         nearest(fits, PRESETS[preset].n_head))  # fmt: skip
        expansion = _choice(_("Expansion of the MLP"), prefix, "expansion", EXPANSIONS,
                            start["expansion"])  # fmt: skip
        vocabulary = _choice(_("Vocabulary"), prefix, "vocab_size", VOCABULARIES,
                             start["vocab_size"])  # fmt: skip
        context = _choice(_("Context"), prefix, "n_ctx", CONTEXTS, start["n_ctx"])
    with st.container(horizontal=True, gap="medium"):
        bias = _switch(_("biases"), prefix, "bias", start["bias"],
                       _("A vector added after each matrix of attention and MLP."))  # fmt: skip
        tied = _switch(_("tied embeddings"), prefix, "tied", start["tied"],
                       _("One matrix for reading tokens and for writing them."))  # fmt: skip
        affine = _switch(_("γ and β in the LayerNorms"), prefix, "affine", start["affine"],
                         _("Two learned vectors in each LayerNorm."))  # fmt: skip
    return ParametersRequest(
        preset,
        n_layer=layers,
        d_model=width,
        n_head=n_head,
        d_mlp=hidden(expansion, width),
        vocab_size=vocabulary,
        n_ctx=context,
        bias=bias,
        norm_affine=affine,
        tie_embeddings=tied,
    )


def both() -> tuple[ParametersRequest, ParametersRequest | None]:
    """Show the controls, and a second set beside them if the visitor wants to compare."""
    two = st.toggle(_("compare two configurations"), key="compare", bind="query-params")
    if not state.checked("compare", bool(two)):
        with st.container(border=True, key="card_a"):
            return configuration(), None
    left, right = st.columns(2)
    with left, st.container(border=True, key="card_a"):
        a = configuration()
    with right, st.container(border=True, key="card_b"):
        b = configuration("b.", SECOND)
    return a, b


def written(request: ParametersRequest, prefix: str = "") -> dict[str, object]:
    """Return every control's value as a shared link writes it."""
    config = request.config()
    ratio = config.hidden / config.d_model
    whole = values(config) | {"expansion": str(int(ratio)) if ratio == int(ratio) else "8/3"}
    return {prefix + key: value for key, value in ({"preset": request.preset} | whole).items()}


def link(a: ParametersRequest, b: ParametersRequest | None) -> str:
    """Return the page's address with every value written out."""
    second = written(b, "b.") if b else {}
    into = state.get("into", "model")
    return state.share_link(**written(a), compare=b is not None, into=into, **second)


def command(a: ParametersRequest, b: ParametersRequest | None = None) -> str:
    """Return the terminal command that gives the same numbers."""
    base, config = PRESETS[a.preset], a.config()
    parts = [f"python -m andrea parameters --preset {a.preset}"]
    for name in ("n_layer", "d_model", "n_head", "d_mlp", "vocab_size", "n_ctx"):
        follows = name == "d_mlp" and config.hidden == 4 * config.d_model
        if getattr(config, name) != getattr(base, name) and not follows:
            parts.append(f"--{name.replace('_', '-')} {getattr(config, name)}")
    parts += ["--no-bias"] * (not a.bias) + ["--untied"] * (not a.tie_embeddings)
    parts += ["--no-norm-affine"] * (not a.norm_affine) + ["--measure-flops"] * a.measure_flops
    if b is not None and b.config() == PRESETS[b.preset]:
        parts.append(f"--compare {b.preset}")
    return " ".join([*parts, "--json"])
