"""The race: which way to build the block trains, which stands still, which breaks; live, on text.

Sources: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture",
arXiv:2002.04745; Vaswani et al. 2017, "Attention Is All You Need", arXiv:1706.03762.
"""

from __future__ import annotations

import streamlit as st

from andrea.requests_race import DEFAULT_ARMS
from app import layout, race_drawing, race_live, race_settings, race_start, race_sweep, race_view
from app import readings_race as say
from app.i18n import _

layout.page_header(
    _("The race"),
    _(
        "Small models, built in different ways, learn to read side by side: the same weights at "
        "the start, the same text, batch by batch. Watch who learns, who stands still and who "
        "breaks; then change the conditions and run a race of your own."
    ),
)

guess = layout.predict(
    "race",
    _(
        "Five ways to build twelve blocks, 120 steps on the same text: who learns, who stands "
        "still, who breaks? Choose the one that you expect to get furthest."
    ),
    [say.arm_label(arm) for arm in DEFAULT_ARMS],
)
saved = race_view.default()
if guess is not None and saved:
    layout.reading(say.prediction_reading(race_drawing.drawing_of(saved)))

layout.section(_("A race that was run"))
race_view.opening()

layout.section(_("Run your own"))
wanted = race_settings.controls()
race_start.offer(wanted)
own = race_live.show(wanted)

layout.section(_("Warmup and depth"))
st.write(
    _(
        "“Post-norm trains badly without warmup”, says the lesson. Whether it does depends on the "
        "learning rate and on the depth, so here are both, with three seeds each. Blue: better "
        "than knowing how frequent letters are. Orange: worse."
    )
)
race_sweep.show()

layout.section(_("Try this"))
layout.steps(
    [
        _(
            "Two blocks, then four, then six: at which depth does post-norm stop learning? Does a "
            "smaller learning rate bring it back?"
        ),
        _(
            "Give the variant without LayerNorm a warmup and a rate of 0.0001: does it learn "
            "now, and how far does it get beside pre-norm?"
        ),
        _(
            "Change nothing but the seed. Which differences between the variants are larger than "
            "those between the seeds?"
        ),
    ]
)

layout.section(_("What this cannot show"))
st.write(
    _(
        "These are very small models that read bytes, not words, for some hundred steps, on one "
        "text of 68 KB, from one kind of initialisation, without the gradient clipping and the "
        "falling learning rate of a real training. Standing still for 120 steps is not never "
        "learning: more steps may free a variant that is stuck here. That pre-norm wins this race "
        "does not mean that it wins everywhere: trained with care, post-norm models have done as "
        "well or better. And the loss of a batch is noisy; the held-out loss at the end is the "
        "number to compare."
    )
)

layout.section(_("Sources"))
st.markdown(
    "- [Xiong et al. 2020, On Layer Normalization in the Transformer Architecture]"
    "(https://arxiv.org/abs/2002.04745): "
    + _("why post-norm needs a warmup and pre-norm does not")
    + "\n- [Takase et al. 2022, On Layer Normalizations and Residual Connections]"
    "(https://arxiv.org/abs/2206.00330): "
    + _("up to six blocks or so post-norm often ends better; deeper, it often fails to train")
    + "\n- [Vaswani et al. 2017, Attention Is All You Need](https://arxiv.org/abs/1706.03762): "
    + _("the post-norm block, trained with Adam and a warmup of 4,000 steps")
)

layout.take_away(
    race_settings.link(wanted),
    race_view.commands(wanted),
    [*race_view.downloads(own), *race_sweep.downloads()],
)
