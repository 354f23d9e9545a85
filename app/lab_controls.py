"""The laboratory's controls: a guided setting to start from, the arms, what all arms share."""

from __future__ import annotations

import streamlit as st

from andrea import lab
from andrea.requests import LAB_VOCAB, GradientsRequest, TokenSource, most_layers
from app import i18n, state
from app.i18n import _, integer, ngettext

KEYS = ("init", "layers", "width", "seeds", "words")


def guide_title(name: str) -> str:
    """Return what a guided setting is called."""
    return {
        "twelve": _("The lesson's twelve blocks"),
        "hundred": _("A hundred blocks"),
        "plain": _("The plain stack"),
        "collapse": _("LayerNorm saves the size, not the content"),
        "theorem": _("The theorem"),
        "full": _("ANDREA-120M, full size"),
        "trained": _("Trained andrea-mini"),
    }[name]


def values(name: str) -> dict[str, object]:
    """Return the value of every control under a guided setting."""
    chosen = lab.GUIDES[name]
    shared: dict[str, object] = {
        "init": chosen.init,
        "layers": chosen.n_layer,
        "width": chosen.d_model,
        "seeds": chosen.n_seeds,
        "words": chosen.tokens != "random",
    }
    return shared | {f"arm.{arm}": arm in chosen.arms for arm in lab.ARM_NAMES}


def _chosen() -> None:
    """Give every control the guided setting's value (a callback)."""
    name = state.peek("guides") or lab.DEFAULT_GUIDE
    state.put("guide", name)
    for key, value in values(name).items():
        state.assign(key, value)
        state.forget_notice(key)


def guide() -> str:
    """Show the guided settings; return the one that the controls started from."""
    name = state.get("guide", lab.DEFAULT_GUIDE, allowed=lab.GUIDES.__contains__)
    state.assign("guides", name)
    st.pills(
        _("Guided settings"),
        list(lab.GUIDES),
        format_func=guide_title,
        key="guides",
        required=True,
        on_change=_chosen,
    )
    return name


def _arms(start: lab.LabSettings, sweep: bool) -> tuple[str, ...]:
    """Show the arms as the table they are: residual by LayerNorm, and the trained model."""
    norms = {"pre": _("pre-norm"), "post": _("post-norm"), "none": _("no LayerNorm")}
    chosen = []
    rows = ((_("With residual"), ("pre", "post", "none")),
            (_("Without residual"), ("pre-cut", "post-cut", "plain")),
            (_("Trained"), (lab.TRAINED_ARM,)))  # fmt: skip
    for column, (heading, arms) in zip(st.columns(3), rows, strict=True):
        with column:
            st.caption(heading)
            for arm in arms:
                key = f"arm.{arm}"
                label = norms[lab.ARMS[arm][0]] if arm in lab.ARMS else "andrea-mini"
                on = st.checkbox(
                    label,
                    value=arm in start.arms,
                    key=key,
                    bind="query-params",
                    disabled=sweep and arm == lab.TRAINED_ARM,  # it has the depth it has
                )
                if state.checked(key, bool(on)):
                    chosen.append(arm)
    return tuple(arm for arm in lab.ARM_NAMES if arm in chosen)


def _width_changed() -> None:
    """Keep the depth possible: only narrow stacks go down to 192 blocks (a callback)."""
    most = most_layers(int(state.peek("width", 128)))
    if int(state.peek("layers", 1)) > most:
        state.assign("layers", most)


def _shared(start: lab.LabSettings, sweep: bool) -> lab.LabSettings:
    init = st.segmented_control(
        _("Initialisation"),
        ["xavier", "gpt2"],
        default=start.init,
        required=True,
        key="init",
        bind="query-params",
        help=_(
            "xavier: uniform, per matrix, as in Xiong et al. gpt2: normal with deviation 0.02, "
            "branch outputs scaled by 1/√(2L), as in ANDREA. The same for every variant: the "
            "results depend on it."
        ),
    )
    width = st.select_slider(
        _("Width"), lab.WIDTHS, start.d_model, key="width", bind="query-params",
        on_change=_width_changed, width=220,
    )  # fmt: skip
    width = state.checked("width", int(width))
    layers = st.slider(
        _("Blocks"), 1, most_layers(width), start.n_layer, key="layers",
        bind="query-params", width=260, disabled=sweep,
    )  # fmt: skip
    seeds = st.slider(
        _("Seeds"), 1, lab.MOST_SEEDS, start.n_seeds, key="seeds", bind="query-params",
        width=160,
    )  # fmt: skip
    words = st.toggle(
        _("real text"), start.tokens != "random", key="words", bind="query-params",
        help=_("On: passages in the language of the page. Off: random tokens."),
    )  # fmt: skip
    text: TokenSource = "it" if i18n.current() == "it" else "en"
    return lab.LabSettings(
        arms=(),
        init=state.checked("init", "gpt2" if init == "gpt2" else "xavier"),
        n_layer=state.checked("layers", int(layers)),
        d_model=width,
        n_seeds=state.checked("seeds", int(seeds)),
        tokens=text if state.checked("words", bool(words)) else "random",
    )


def settings(name: str) -> lab.LabSettings:
    """Show all controls, starting from guided setting ``name``; return what they ask for."""
    start = lab.GUIDES[name]
    with st.expander(_("Variants and settings"), expanded=True, key="lab_controls"):
        arms = _arms(start, name == lab.SWEEP_GUIDE)
        with st.container(horizontal=True, gap="medium", vertical_alignment="top"):
            shared = _shared(start, name == lab.SWEEP_GUIDE)
        st.caption(fixed(shared))
    return lab.LabSettings(
        arms, shared.init, shared.n_layer, shared.d_model, shared.n_seeds, shared.tokens
    )


def fixed(shared: lab.LabSettings) -> str:
    """Say what is not a control."""
    request = GradientsRequest()
    heads = max(1, shared.d_model // lab.HEAD_WIDTH)
    return ngettext(
        "Fixed: {n} head of width {width}, {batch} sequences of {tokens} tokens, a vocabulary of "
        "{vocabulary}.",
        "Fixed: {n} heads of width {width}, {batch} sequences of {tokens} tokens, a vocabulary of "
        "{vocabulary}.",
        heads,
    ).format(
        n=heads,
        width=lab.HEAD_WIDTH,
        batch=request.batch,
        tokens=request.n_tokens,
        vocabulary=integer(LAB_VOCAB),
    )


def untouched(name: str, chosen: lab.LabSettings) -> bool:
    """Whether the controls still stand as guided setting ``name`` put them."""
    start = lab.GUIDES[name]
    text = start.tokens != "random"
    return (chosen.tokens != "random") == text and chosen == lab.LabSettings(
        start.arms, start.init, start.n_layer, start.d_model, start.n_seeds, chosen.tokens
    )


def link(name: str, chosen: lab.LabSettings) -> str:
    """Return the address of this place, every value written out."""
    written: dict[str, object] = {
        "guide": name,
        "init": chosen.init,
        "layers": chosen.n_layer,
        "width": chosen.d_model,
        "seeds": chosen.n_seeds,
        "words": chosen.tokens != "random",
    }
    arms = {f"arm.{arm}": arm in chosen.arms for arm in lab.ARM_NAMES}
    return state.share_link(**written, **arms)
