"""Residuals and gradients: why skip connections and pre-norm won, measured by real backward passes.

Sources: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture",
arXiv:2002.04745; Dong et al. 2021, "Attention is not all you need", arXiv:2103.03404; Takase et al.
2022, arXiv:2206.00330.
"""

from __future__ import annotations

import streamlit as st

from andrea import lab
from app import gradients_view, lab_controls, lab_guides, layout, readings_gradients
from app.i18n import _

layout.page_header(
    _("Residuals and gradients"),
    _(
        "Learning sends the loss back through every block. Build the block in six ways, send a "
        "real gradient back through a real stack, and see what reaches the embeddings."
    ),
)

guess = layout.predict(
    "gradients",
    _("Stacks of twelve blocks: in which one does the gradient get lost on its way back?"),
    [readings_gradients.arm_label(arm) for arm in lab.GUIDES[lab.DEFAULT_GUIDE].arms],
)
if guess is not None:
    layout.reading(readings_gradients.prediction_reading(lab_guides.lesson()))

guide = lab_controls.guide()
chosen = lab_controls.settings(guide)
if lab_controls.untouched(guide, chosen):
    st.write(lab_guides.commentary(guide))

if not chosen.arms:
    layout.notice(_("Choose at least one variant."))
    st.stop()

layout.section(_("What the backward pass shows"))
results = gradients_view.show(guide, chosen)
gradients_view.provenance(results)

layout.section(_("Try this"))
layout.steps(
    [
        _("Take the plain stack and double its blocks: does the gradient halve, or is it squared?"),
        _(
            "Keep the LayerNorm and drop the residual: after how many blocks are all tokens one? "
            "Does more width help?"
        ),
        _(
            "Switch the initialisation: which variants change their picture altogether, and which "
            "hardly at all?"
        ),
    ]
)

layout.section(_("What this cannot show"))
st.write(
    _(
        "This is the first step of training, not training: a gradient of usable size is needed to "
        "learn and does not suffice. Two sequences of 64 tokens are a small sample; the seeds' "
        "spread shows how much that matters. Adam rescales each weight's gradient, so a uniformly "
        "small one is no obstacle as such; one that float32 cannot hold, or whose content is "
        "gone, is."
    )
)

layout.section(_("Sources"))
st.markdown(lab_guides.sources())

layout.take_away(
    lab_controls.link(guide, chosen),
    gradients_view.commands(chosen, guide),
    gradients_view.downloads(results, guide),
)
