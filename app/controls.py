"""The controls that pages share: which model answers, under which switches, on which text."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from andrea.config import PRESETS, Norm
from andrea.requests import MAX_FRESH_LAYERS, TRAINED, ModelRequest
from app import compute, state
from app.i18n import _, ngettext

MODELS = tuple(name for name in PRESETS if name != "gpt2")
NORMS = get_args(Norm)
MAX_SEED = 2**31 - 1


def default_text() -> str:
    """Return the sentence that a page starts with, in the language in force."""
    return _("Once upon a time there was a king who had")


def text_control(default: str | None = None) -> str:
    """Show the text box; return the text, at most ``state.MAX_CHARS`` characters of it.

    Longer texts are cut in memory and in the address, and a notice says so.
    """
    default = default_text() if default is None else default
    state.follow_default("text", default)
    text = st.text_input(
        _("Sentence"),
        value=default,
        key="text",
        bind="query-params",
        on_change=state.capped,
        args=("text",),
    )
    return state.capped_from_address("text", text or "")


def most_blocks(model: str) -> int:
    """Return the greatest depth of a model: its own if trained, the laboratory's if fresh."""
    own = compute.base_config(ModelRequest(model)).n_layer
    return own if model == TRAINED else MAX_FRESH_LAYERS


def _depth(model: str) -> int:
    """Return how many blocks are asked for: a depth belongs to its model, which has one of its own.

    The slider is not bound to the address as the other controls are: one with other ends is
    another widget to Streamlit and would start from the last model's depth.
    """
    own, most = compute.base_config(ModelRequest(model)).n_layer, most_blocks(model)
    return state.get("depth", own, of=model, allowed=lambda depth: 1 <= depth <= most)


def _depth_control(model: str) -> int:
    depth, most = _depth(model), most_blocks(model)
    if most > 1:
        key = f"depth.{model}"
        st.slider(
            _("Blocks"),
            1,
            most,
            depth,
            step=1,
            key=key,
            width=260,
            on_change=lambda: state.put("depth", state.peek(key), of=model),
        )
    return depth


def model_label(request: ModelRequest) -> str:
    """Return the model's name with where its weights come from, in words."""
    if request.trained:
        return _("{model}, trained").format(model=request.model)
    return _("{model}, freshly initialised, seed {seed}").format(
        model=request.model, seed=request.seed
    )


def summary(request: ModelRequest) -> str:
    """Return one line that says which model answers under which switches."""
    depth = request.n_layer or compute.base_config(request).n_layer
    norm = {"pre": _("pre-norm"), "post": _("post-norm"), "none": _("no LayerNorm")}[request.norm]
    residual = _("with residual") if request.residual else _("without residual")
    blocks = ngettext("{n} block", "{n} blocks", depth).format(n=depth)
    return " · ".join((model_label(request), blocks, norm, residual))


def written(request: ModelRequest) -> dict[str, object]:
    """Return what the address says of a model: every control's value by its key."""
    return {
        "model": request.model,
        "seed": request.seed,
        "norm": request.norm,
        "residual": request.residual,
        "depth": request.n_layer,
    }


def _headline() -> str:
    """Return what the folded controls say: the choice as it stands."""
    model = state.preview("model", TRAINED, {name: name for name in MODELS}.get)
    seed = state.preview("seed", 0)
    request = ModelRequest(
        model,
        seed if seed <= MAX_SEED else 0,
        state.preview("norm", "pre", {norm: norm for norm in NORMS}.get),
        state.preview("residual", True, {"true": True, "false": False}.get),
        _depth(model),
    )
    return _("Model and switches: {summary}").format(summary=summary(request))


def _seed_control(model: str) -> int:
    if model == TRAINED:
        return 0
    seed = st.number_input(
        _("Seed"),
        min_value=0,
        max_value=MAX_SEED,
        value=0,
        step=1,
        key="seed",
        bind="query-params",
        width=120,
        help=_("Fresh weights are drawn at random: the same seed gives the same weights."),
    )
    return state.checked("seed", int(seed))


def _switches(model: str) -> ModelRequest:
    chosen = st.segmented_control(
        _("LayerNorm"),
        options=list(NORMS),
        default="pre",
        required=True,
        key="norm",
        bind="query-params",
        help=_(
            "pre: at the start of each branch, as in ANDREA. post: on the stream after each "
            "addition, as in 2017. none: nowhere."
        ),
    )
    norm: Norm = state.checked("norm", chosen or "pre")
    with st.container(width="content"):
        st.caption(_("Residual"))
        residual = st.toggle(
            _("add to the stream"),
            value=True,
            key="residual",
            bind="query-params",
            help=_("Off: each branch replaces the stream instead of adding to it."),
        )
    residual = state.checked("residual", bool(residual))
    return ModelRequest(model, 0, norm, residual, _depth_control(model))


def model_controls() -> ModelRequest:
    """Show the model and its switches in one row that wraps; return what they ask for.

    The trained model offers its own blocks, fresh ones 1 to 96; a change of model brings its own
    depth along, so that every value stays possible.

    Raises
    ------
    InputError
        If the weights file is missing or damaged.
    """
    with st.expander(_headline(), key="model_controls"):
        with st.container(horizontal=True, gap="medium", vertical_alignment="top"):
            model = st.selectbox(
                _("Model"),
                options=list(MODELS),
                key="model",
                bind="query-params",
                on_change=state.forget_notice,
                args=("model",),
                width=180,
            )
            model = state.checked("model", model)
            seed = _seed_control(model)
            switches = _switches(model)
    return ModelRequest(model, seed, switches.norm, switches.residual, switches.n_layer)
