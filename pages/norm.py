"""Normalisation: what a LayerNorm does to one token, which numbers it averages, where it stands.

Sources: Ba, Kiros and Hinton 2016, arXiv:1607.06450 (LayerNorm); Zhang and Sennrich 2019,
arXiv:1910.07467 (RMSNorm); Vaswani et al. 2017, arXiv:1706.03762 (post-norm); Xiong et al. 2020,
arXiv:2002.04745 (pre and post).
"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from andrea.requests import NormRequest, StreamNormsRequest, TraceRequest
from app import (
    compute,
    controls,
    layout,
    norm_controls,
    norm_race,
    norm_view,
    race_view,
    readings_norm,
    state,
)
from app.components.chips import chips
from app.i18n import _

layout.page_header(
    _("Normalisation"),
    _(
        "LayerNorm is one line of code that is easily copied without being seen. Here is what it "
        "does to the vector of one real token, which numbers it averages, and what changes when it "
        "stands elsewhere."
    ),
)

text = controls.text_control()
model = controls.model_controls()
last = len(compute.tokens(text, model).pieces) - 1
position = state.get("pos", -1, of=text, allowed=lambda p: -1 <= p <= last)
traced = compute.answer(TraceRequest(text, model, position))
chips(traced, key="chips", on_choose=lambda p: state.put("pos", p, of=text))
layer, which = norm_controls.place(model)

request = NormRequest(text, model, position, layer, which)
result = compute.answer(request)
layout.switched_notice(result.provenance)

guess = layout.predict(
    "norm",
    _(
        "Two tokens have vectors of very different length. Do the lengths still differ after "
        "LayerNorm?"
    ),
    readings_norm.guesses(),
)
if guess is not None:
    layout.reading(readings_norm.prediction_reading(result))

layout.section(_("One vector, before and after"))
st.write(readings_norm.where_reading(result))
chosen = norm_controls.settings()
made = chosen.applied(result)
norm_view.vector(result, made)
layout.provenance(result.provenance)

layout.section(_("Which numbers are averaged"))
st.write(
    _(
        "Each token is a row. LayerNorm takes mean and variance along the row, over the features "
        "of one token, and never over the other tokens or the other texts of a batch. Change "
        "another row and see what moves."
    )
)
factor = norm_view.axis(result, made)
layout.readings([s for s in (readings_norm.later_reading(result),) if s])

layout.section(_("Before the branch, or after the addition"))
norm_view.placements(model.residual)
layout.reading(readings_norm.count_reading(result))
seed = norm_view.fresh_seed(model)
lengths = compute.answer(StreamNormsRequest(text, replace(model, seed=seed)))
norm_view.streams(lengths)

layout.section(_("After training"))
races = race_view.default()
norm_race.show(races)

layout.section(_("LayerNorm and RMSNorm"))
norm_view.rms(result, made)
layout.reading(readings_norm.rms_reading(made))

layout.section(_("Try this"))
layout.steps(
    [
        _("Raise ε until the histogram below narrows: with which variance does it begin to count?"),
        _("Multiply another token by 100: why does even its own row hardly move?"),
        _(
            "Choose a fresh model without the residual and post-norm, block 1: the variance after "
            "the division is far from 1. Why?"
        ),
        _(
            "Go to the last block of the trained model: how long is the vector there, and how long "
            "after the LayerNorm?"
        ),
    ]
)

layout.section(_("What this cannot show"))
st.write(
    _(
        "A vector's length says nothing about what it means to the model. At the start of training "
        "the stream's length follows from the initialisation; whether a placement trains well is "
        "for the gradients and for a race to show. RMSNorm is computed beside the model here; a "
        "model trained with it would have other vectors."
    )
)

layout.section(_("Sources"))
st.markdown(
    _(
        "LayerNorm: Ba, Kiros and Hinton 2016, [arXiv:1607.06450](https://arxiv.org/abs/1607.06450)."
        " RMSNorm: Zhang and Sennrich 2019, [arXiv:1910.07467](https://arxiv.org/abs/1910.07467). "
        "Post-norm: Vaswani and others 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762). "
        "Pre and post: Xiong and others 2020, [arXiv:2002.04745](https://arxiv.org/abs/2002.04745)."
    )
)

asked = replace(request, position=result.position)
command = norm_controls.command(asked, chosen)
layout.take_away(
    norm_controls.link(request, result.position, chosen, factor),
    command,
    norm_view.downloads(result, made, lengths, command) + norm_race.downloads(races),
)
