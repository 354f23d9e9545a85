"""Normalisation: what a LayerNorm does to one token, which numbers it averages, where it stands.

Sources: Ba, Kiros and Hinton 2016, arXiv:1607.06450 (LayerNorm); Zhang and Sennrich 2019,
arXiv:1910.07467 (RMSNorm); Vaswani et al. 2017, arXiv:1706.03762 (post-norm); Xiong et al. 2020,
arXiv:2002.04745 (pre and post).
"""

from __future__ import annotations

import streamlit as st

from andrea.requests import NormRequest
from app import (
    compute,
    controls,
    layout,
    norm_controls,
    norm_files,
    norm_race,
    norm_view,
    race_view,
)
from app import readings_norm as say
from app.chosen_token import chosen_token
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
position = chosen_token(text, model).request.position
layer, which = norm_controls.place(model)
result = compute.answer(NormRequest(text, model, position, layer, which))
layout.switched_notice(result.provenance)

guess = layout.predict(
    "norm",
    _(
        "Two tokens have vectors of very different length. Do the lengths still differ after "
        "LayerNorm?"
    ),
    say.guesses(),
)
if guess is not None:
    layout.reading(say.prediction_reading(result))

layout.section(_("One vector, before and after"))
st.write(say.where_reading(result))
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
disturbed = norm_view.axis(result, made)
layout.readings([s for s in (say.later_reading(result),) if s])

layout.section(_("Before the branch, or after the addition"))
norm_view.placements(model.residual)
layout.reading(say.count_reading(result))
lengths = norm_view.streams(text, model)

layout.section(_("After training"))
races = race_view.default()
norm_race.show(races)

layout.section(_("LayerNorm and RMSNorm"))
norm_view.rms(result, made)
layout.reading(say.rms_reading(made))

layout.section(_("Try this"))
layout.steps(
    [
        _("Raise ε until the lower histogram narrows: with which variance does it begin to count?"),
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

norm_files.take_away(result, chosen, disturbed, lengths, races)
