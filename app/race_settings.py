"""The race's controls: a guided setting to start from, the variants, what they all share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from andrea import saved_race
from andrea.requests_race import (
    BATCH,
    CONTEXT,
    DEFAULT_ARMS,
    HEAD_WIDTH,
    RACE_ARMS,
    RACE_WIDTHS,
    RANGES,
    RaceRequest,
    in_order,
)
from app import layout, state
from app.controls import MAX_SEED
from app.i18n import _, integer, ngettext
from app.readings_race import arm_label, rate

RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
STEP, WARMUP_STEP, MOST_WARMUP = 20, 10, 500
# What the address calls the fields of a ``RaceRequest``. Variants and rate are no bound widgets:
# they are written in the visitor's language, and the address has none.
FIELDS = {
    "arms": "race.arms",
    "lr": "race.lr",
    "warmup": "race.warmup",
    "n_layer": "race.blocks",
    "d_model": "race.width",
    "steps": "race.steps",
    "seed": "race.seed",
}
DEFAULT = RaceRequest()

GUIDES: dict[str, RaceRequest] = {
    "lesson": DEFAULT,
    "break": RaceRequest(lr=1e-2, seed=1),  # with seed 0 the race ends just before it breaks
    "shallow": RaceRequest(n_layer=2),
    "warmup": RaceRequest(("post", "post-warmup"), lr=1e-2, n_layer=2),
    "activation": saved_race.ACTIVATIONS,
}


def guide_title(name: str) -> str:
    """Return what a guided setting is called."""
    return {
        "lesson": _("The lesson's race"),
        "break": _("Break it"),
        "shallow": _("Shallow: two blocks"),
        "warmup": _("Warmup at a high rate"),
        "activation": _("GELU and ReLU"),
    }[name]


def commentary(name: str) -> str:
    """Return what a guided setting is for."""
    return {
        "lesson": _(
            "Twelve blocks, a learning rate of 0.003: the claims of the lesson about pre-norm, "
            "post-norm, warmup, residual and LayerNorm, all in one race."
        ),
        "break": _(
            "The same race with more than three times the learning rate. Nothing is clipped and "
            "nothing is rescued: which variant reaches numbers that are no longer numbers?"
        ),
        "shallow": _(
            "Two blocks instead of twelve, all else equal. Does post-norm still need help?"
        ),
        "warmup": _(
            "Post-norm only, in two blocks, at a rate of 0.01: does it help if the rate rises "
            "slowly over the first 60 steps?"
        ),
        "activation": _(
            "Two models that differ in nothing but the activation of the MLP: same weights at the "
            "start, same batches, the same number of parameters."
        ),
    }[name]


def _put(request: RaceRequest) -> None:
    """Give every control the value that ``request`` has (in a callback)."""
    state.put(FIELDS["arms"], ",".join(request.arms))
    state.put(FIELDS["lr"], request.lr)
    for field in ("warmup", "n_layer", "d_model", "steps", "seed"):
        state.assign(FIELDS[field], getattr(request, field))
        state.forget_notice(FIELDS[field])


def _guided() -> None:
    name = state.peek("race.guides")
    if name in GUIDES:
        _put(GUIDES[name])


def _guides(place: object, chosen: RaceRequest) -> None:
    """Show the guided settings; the one that the controls stand at is marked."""
    name = next((name for name, request in GUIDES.items() if request == chosen), None)
    state.assign("race.guides", name)
    with place:  # type: ignore[attr-defined]
        st.pills(
            _("Guided settings"),
            list(GUIDES),
            format_func=guide_title,
            key="race.guides",
            on_change=_guided,
        )
        if name is not None:
            st.write(commentary(name))


def _possible(arms: str) -> bool:
    names = arms.split(",")
    return arms == "" or (set(names) <= set(RACE_ARMS) and len(set(names)) == len(names))


def _arms() -> tuple[str, ...]:
    said = state.get(FIELDS["arms"], ",".join(DEFAULT_ARMS), allowed=_possible)
    arms = in_order(tuple(said.split(",")))
    state.assign("race.variants", list(arms))
    st.pills(
        _("Variants"),
        list(RACE_ARMS),
        selection_mode="multi",
        format_func=arm_label,
        key="race.variants",
        on_change=lambda: state.put(
            FIELDS["arms"], ",".join(in_order(tuple(state.peek("race.variants", ()))))
        ),
        help=_(
            "“Warmup”: the learning rate rises evenly over the first steps instead of starting at "
            "its full value. All variants with a residual add each branch to the stream."
        ),
    )
    return arms


def _rate() -> float:
    lr = state.get(FIELDS["lr"], DEFAULT.lr, allowed=RATES.__contains__)
    state.assign("race.rate", lr)
    st.select_slider(
        _("Learning rate"),
        RATES,
        format_func=rate,
        key="race.rate",
        on_change=lambda: state.put(FIELDS["lr"], state.peek("race.rate")),
        width=185,
    )
    return lr


def _slider(field: str, name: str, ends: tuple[int, int], step: int = 1, **more: object) -> int:
    """Show a slider bound to the address; a value between its steps is moved to the next."""
    key, usual = FIELDS[field], getattr(DEFAULT, field)

    def snapped(n: int) -> int:
        return max(ends[0], round(n / step) * step)

    asked = state.preview(key, usual)
    if ends[0] <= asked <= ends[1]:
        state.rewrite(key, snapped(asked))
    show: Callable[..., int] = st.slider
    value = int(show(name, *ends, usual, step, key=key, bind="query-params", **more))
    kept = state.checked(key, snapped(value))
    if kept != value:  # Streamlit has read the address before it was rewritten
        state.correct(key, kept)
    return kept


def _shared(arms: tuple[str, ...]) -> RaceRequest:
    lr = _rate()
    rises = any(RACE_ARMS[arm].warmup for arm in arms)
    warmup = _slider(
        "warmup",
        _("Warmup steps"),
        (WARMUP_STEP, MOST_WARMUP),
        WARMUP_STEP,
        disabled=not rises,
        width=150,
        help=_(
            "Over so many steps the learning rate rises to its full value, in the variants with "
            "a warmup. Without such a variant it changes nothing."
        ),
    )
    n_layer = _slider("n_layer", _("Blocks"), RANGES["n_layer"], width=150)
    steps = _slider("steps", _("Steps"), RANGES["steps"], STEP, width=185)
    d_model = st.segmented_control(
        _("Width"), list(RACE_WIDTHS), default=DEFAULT.d_model, required=True,
        key=FIELDS["d_model"], bind="query-params",
    )  # fmt: skip
    d_model = state.checked(FIELDS["d_model"], int(d_model or DEFAULT.d_model))
    seed = st.number_input(
        _("Seed"), 0, MAX_SEED, DEFAULT.seed, 1, key=FIELDS["seed"], bind="query-params",
        width=110, help=_("Decides the weights at the start and the order of the text."),
    )  # fmt: skip
    seed = state.checked(FIELDS["seed"], int(seed))
    # A warmup that nobody has does not make it another race.
    asked = RaceRequest(arms, lr, warmup if rises else DEFAULT.warmup, n_layer, d_model, steps)
    return replace(asked, seed=seed)


def controls() -> RaceRequest:
    """Show guided settings and controls; return what they ask for (perhaps without any variant)."""
    guides = st.container()
    with st.expander(_("Variants and settings"), expanded=True, key="race_controls"):
        arms = _arms()
        with st.container(horizontal=True, gap="medium", vertical_alignment="top"):
            asked = _shared(arms)
        if any(RACE_ARMS[arm].warmup for arm in arms) and asked.warmup > asked.steps:
            layout.notice(
                _(
                    "The warmup of {warmup} steps is longer than the race of {steps}: the "
                    "learning rate does not reach its full value."
                ).format(warmup=integer(asked.warmup), steps=integer(asked.steps))
            )
        st.caption(fixed(asked))
    _guides(guides, asked)
    return asked


def fixed(request: RaceRequest) -> str:
    """Say what is not a control."""
    heads = request.d_model // HEAD_WIDTH
    return ngettext(
        "Fixed: {n} head of width {width}, batches of {batch} passages of {context} bytes, Adam "
        "with β = (0.9, 0.98), Xavier's initialisation, no gradient clipped.",
        "Fixed: {n} heads of width {width}, batches of {batch} passages of {context} bytes, Adam "
        "with β = (0.9, 0.98), Xavier's initialisation, no gradient clipped.",
        heads,
    ).format(n=integer(heads), width=HEAD_WIDTH, batch=integer(BATCH), context=integer(CONTEXT))


def link(request: RaceRequest) -> str:
    """Return the address of this place, every value written out."""
    values = {key: getattr(request, field) for field, key in FIELDS.items()}
    values[FIELDS["arms"]] = ",".join(request.arms)
    return state.share_link(**values)
