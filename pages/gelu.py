"""GELU and ReLU: on the curve, and inside the model.

Sources: Hendrycks and Gimpel 2016, arXiv:1606.08415 (GELU); Nair and Hinton 2010 (ReLU); Radford
et al. 2019 (GPT-2, with the tanh form).
"""

from __future__ import annotations

import streamlit as st

from andrea.measures.activation_error import approximation
from andrea.requests import ModelRequest
from app import activation_files, activation_race, activation_view, controls, layout
from app import readings_activation as say
from app.chosen_token import chosen_token
from app.components import point
from app.i18n import _

layout.page_header(
    _("GELU and ReLU"),
    _(
        "The curve is in every textbook. Here is where the numbers of a real model fall on it, "
        "what they would lose with ReLU, and what the fast form of GELU costs."
    ),
)

guess = layout.predict(
    "gelu",
    _("What share of the numbers that a trained model's activations read is negative?"),
    say.guesses(),
)
if guess is not None:
    trained = activation_view.survey(ModelRequest())
    layout.reading(say.prediction_reading(trained))

layout.section(_("On the curve"))
st.write(
    _(
        "GELU multiplies x by Φ(x), the share of a normal distribution that lies below x. Move the "
        "slider under the curves and read the formulas."
    )
)
point.point("curves")
st.write(
    _(
        "ReLU has a kink: its slope jumps from 0 to 1. GELU's slope is smooth, falls below 0 left "
        "of the minimum and rises above 1 before it settles."
    )
)

layout.section(_("The fast form"))
st.write(
    _(
        "GPT-2 and ANDREA put ½ (1 + tanh(√(2/π) (x + 0.044715 x³))) in place of Φ(x). How much "
        "is lost?"
    )
)
activation_view.approximation(approximation())

layout.section(_("Inside the model"))
text = controls.text_control()
model = controls.model_controls()
traced = chosen_token(text, model)
layout.switched_notice(traced.provenance)
layer, over = activation_view.place(model)
seed = activation_view.fresh_seed(model)
every = activation_view.survey(model, seed)
read = activation_view.read(text, model, layer, traced.request.position)
activation_view.inside(read, every, over)

layout.section(_("What lies below zero"))
activation_view.blocks(every, layer)

layout.section(_("Another activation in the trained model"))
st.write(
    _(
        "The same weights with another activation, measured on the shipped passages. Nothing is "
        "retrained: the weights expect GELU."
    )
)
act_fn = activation_view.act_control()
swapped = activation_view.swapped(act_fn)
activation_view.swap(swapped)

layout.section(_("The race: GELU and ReLU from the start"))
races = activation_race.results()
activation_race.show(races)

layout.section(_("Try this"))
layout.steps(
    [
        _("Move the point to −0.8 and to −3: at which of the two does GELU lower the output more?"),
        _("Go from block 1 to the last: where are most numbers negative, and where fewest?"),
        _("Choose the token alone: does it reach further above zero or below?"),
        _("Put in exact GELU: is the change of the loss larger than its rounding?"),
    ]
)

layout.section(_("What this cannot show"))
st.write(
    _(
        "A model with ReLU put in afterwards is not a model trained with ReLU: that one would have "
        "other weights, and may do as well. A unit that is silent on these texts may fire on "
        "others. And no single number here says why GELU is the usual choice."
    )
)

layout.section(_("Sources"))
st.markdown(
    _(
        "GELU: Hendrycks and Gimpel 2016, [arXiv:1606.08415](https://arxiv.org/abs/1606.08415). "
        "ReLU: Nair and Hinton 2010, “Rectified Linear Units Improve Restricted Boltzmann "
        "Machines”. The tanh form in a language model: Radford and others 2019 (GPT-2)."
    )
)

activation_files.take_away(read, every, over, swapped, races)
