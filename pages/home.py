"""Home: what a block is, what one can do here, and which model answers on which machine."""

from __future__ import annotations

import streamlit as st

from andrea.errors import InputError
from andrea.measures.trace import TraceResult
from andrea.requests import TRAINED, TraceRequest
from app import compute, controls, layout, theme
from app.i18n import _, integer, ngettext
from app.picture import CELLS, block_svg
from app.registry import PAGES


def middle(result: TraceResult) -> int:
    """Return the block that is drawn, half-way up: the sixth of twelve, counted from 0."""
    return int(result.provenance.config["n_layer"] - 1) // 2


def drawn() -> TraceResult | None:
    """Return the recorded way of the default sentence's last token, if the weights are there."""
    try:
        return compute.answer(TraceRequest(controls.default_text()))
    except InputError as error:
        layout.show_refusal(error)
        return None


def caption(result: TraceResult) -> str:
    """Say whose numbers colour the picture."""
    return _(
        "The colours are real: the first {cells} of {width} numbers of the token “{token}” in "
        "block {block} of {model}, recorded from the sentence “{text}”. Orange is negative, blue "
        "positive, and all strips share one scale."
    ).format(
        cells=CELLS,
        width=result.provenance.config["d_model"],
        token=result.labels[result.position].strip(),
        block=middle(result) + 1,
        model=result.provenance.model,
        text=result.request.text,
    )


result = drawn()
names = ("resid_pre", "attn_out", "mlp_out", "resid_post")
words, drawing = st.columns([11, 9], gap="large", vertical_alignment="top")
with words:
    layout.page_header(
        _("Inside one block of a transformer"),
        _(
            "ANDREA is a small language model made of one part, repeated. Here you can open that "
            "part, put your own sentence in, and read every number it computes."
        ),
    )
    layout.steps(
        [
            _(
                "A block is one step of a transformer: it takes a vector for each token and "
                "hands on a vector of the same length."
            ),
            _(
                "One line runs straight through it, the residual stream: the block erases "
                "nothing there, it only adds."
            ),
            _(
                "The first branch is attention: it lets each token read from itself and the "
                "tokens before it, and adds what it found."
            ),
            _(
                "The second branch is the MLP: it treats each token by itself, spreads its "
                "vector over four times as many numbers, passes them through GELU, comes back to "
                "the first length and adds the result."
            ),
            _(
                "At the start of each branch a LayerNorm brings the numbers to a common scale; "
                "ANDREA is a stack of such blocks, and what the last one leaves in the stream "
                "decides the next token."
            ),
        ]
    )
with drawing:
    svg = block_svg(
        {
            "attention": _("Attention"),
            "mlp": _("MLP: ×4, GELU, ÷4"),
            "layernorm": _("LayerNorm"),
            "stream": _("residual stream"),
            "in": _("in"),
            "out": _("out"),
        },
        _(
            "Diagram of a block: a thick line, the residual stream, runs from bottom to top. Two "
            "branches leave it and are added back to it: LayerNorm and attention, then LayerNorm "
            "and MLP."
        ),
        theme.current(),
        {name: result.activations[f"blocks.{middle(result)}.{name}"] for name in names}
        if result
        else None,
    )
    layout.picture(svg, caption(result) if result else "", key="block")

others = [entry for entry in PAGES if not entry.default]
if others:
    layout.section(_("What you can do here"))
    layout.cards(others)

if result is not None:
    house = compute.house()
    layout.section(_("Who answers here"))
    layout.facts(
        [
            (
                _("Model"),
                _("{model}, trained").format(model=TRAINED),
                _("{blocks} blocks of width {width}, {n} parameters").format(
                    blocks=house.config.n_layer,
                    width=house.config.d_model,
                    n=integer(house.n_parameters),
                ),
            ),
            (
                _("Training so far"),
                _("{n} steps").format(n=integer(house.made["step"])),
                _("{n} tokens of text read").format(n=integer(house.made["tokens"])),
            ),
            (
                _("Machine"),
                house.device_name,
                ngettext(
                    "{n} thread for a request", "{n} threads for a request", house.threads
                ).format(n=house.threads),
            ),
        ]
    )
