"""Follow a token: what happens to one token's vector, station by station, in a real model.

Every number on this page is an activation that the model recorded for the text in the box. Names
are TransformerLens'; the logit lens is nostalgebraist's (2020), with the final LayerNorm applied
anew at each depth.
"""

from __future__ import annotations

import streamlit as st

from app import compute, controls, export, layout, readings_trace, state, trace_view
from app.chosen_token import chosen_token
from app.components.walk import walk
from app.i18n import _

layout.page_header(
    _("Follow a token"),
    _(
        "Write a sentence, choose one of its tokens and walk with it through every block. Each "
        "number you meet was recorded from the model that answers below."
    ),
)

text = controls.text_control()
model = controls.model_controls()
result = chosen_token(text, model)
for sentence in (readings_trace.fold_notice(result), readings_trace.cut_notice(result)):
    if sentence:
        layout.notice(sentence)
layout.switched_notice(result.provenance)

guess = layout.predict(
    "trace",
    _(
        "A block is about to work on the vector of “{token}”. What will each of its two branches "
        "do?"
    ).format(token=result.labels[result.position].strip()),
    [_("Replace the vector"), _("Add a small correction"), _("Add one as large as the vector")],
)
if guess is not None:
    layout.reading(readings_trace.prediction_reading(result))

walk(
    result,
    station=state.station(),
    key="walk",
    on_take=lambda token_id, added: trace_view.take(result, added),
    jump=state.jumps(),
    packet=compute.packet(result.request),
)
layout.provenance(result.provenance)

layout.section(_("The journey"))
trace_view.journey(result)

layout.section(_("Try this"))
layout.steps(
    [
        _(
            "Switch the residual off and go to the last block: does the model still know which "
            "word comes next?"
        ),
        _(
            "Follow the same token with post-norm: where does the LayerNorm stand now, and what "
            "does it do to the length of the stream?"
        ),
        _(
            "Choose a fresh model instead of the trained one: which of its corrections are still "
            "aimed at something?"
        ),
    ]
)

layout.section(_("What this cannot show"))
st.write(
    _(
        "This is a small model that read a few million words, most of them in novels from "
        "before 1930, and its guesses show it. The lens reads an unfinished stream as if it were "
        "finished, so an early guess is a hint, not a thought of the model. What an attention "
        "head reads tells where it looks, not why."
    )
)

layout.take_away(
    state.share_link(text=text, pos=result.position, **controls.written(model)),
    export.command(result.request),
    trace_view.downloads(result),
)
