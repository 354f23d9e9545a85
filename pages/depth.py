"""Depth: what twelve blocks do, each by itself and one after the other.

Sources: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits" (the stream as a
sum); Veit et al. 2016, arXiv:1605.06431 (leave out and swap); Xiao et al. 2023, arXiv:2309.17453
(the first token); Tenney et al. 2019, arXiv:1905.05950 (syntax early, meaning late).
"""

from __future__ import annotations

import streamlit as st

from andrea.requests_depth import WaterfallRequest
from app import compute, controls, depth_csv, depth_view, layout, readings_depth, state
from app.i18n import _

layout.page_header(
    _("Depth: what twelve blocks do"),
    _(
        "Each block adds to the stream, and the answer is read off the sum. See what each adds, "
        "how the answer comes about from block to block, and what is lost when one is missing."
    ),
)

guess = layout.predict(
    "depth",
    _("Which block can the trained model least do without?"),
    [_("The first"), _("One in the middle"), _("The last"), _("All about the same")],
)
if guess is not None:
    layout.reading(readings_depth.prediction_reading(depth_view.changes("block")))

text = controls.text_control()
depth_view.text_notices(text)
drop = compute.blocks(WaterfallRequest(text))

layout.section(_("The answer is a sum"))
depth_view.waterfall(drop)

layout.section(_("How large each step is"))
survey = depth_view.survey()
depth_view.sizes(survey)

layout.section(_("How the right word rises"))
depth_view.lens(survey)

layout.section(_("Leave out, swap, cut"))
change, block = depth_view.controls()
changed = depth_view.changes(change)
block = depth_view.snapped(changed, block)
depth_view.change(changed, depth_view.answers(text, change), block)

layout.section(_("Where attention goes"))
depth_view.heads(survey)

layout.section(_("Early syntax, late meaning?"))
st.write(
    _(
        "The saying comes from probes: classifiers trained on the inner states of BERT, a much "
        "larger model, with sentences whose grammar and meaning people had labelled. What you see "
        "here has no labels. The lens says how early the right word comes up, the missing block "
        "what its absence costs; neither says whether a block works on grammar or on meaning. "
        "And twelve narrow blocks that read a few million words may share their work otherwise "
        "than a large model does. For this model the question stays open."
    )
)

layout.section(_("Try this"))
layout.steps(
    [
        _("Leave out the attention of block 1, then its MLP: which of the two costs the loss?"),
        _("Swap two neighbours in the middle, then the first two: does the order matter?"),
        _("Run only the first six blocks: how much of the way has the right word come?"),
        _("Write another sentence: do the same sublayers carry the answer?"),
    ]
)

layout.section(_("What this cannot show"))
st.write(
    _(
        "The bars count the direct path only: what a block does through later blocks stands in "
        "their bars. A block left out also gives all later ones an input that they never met in "
        "training, so its cost is not its contribution alone. The passages are few and written "
        "in one style."
    )
)

layout.section(_("Sources"))
st.markdown(
    _(
        "The stream as a sum: Elhage and others 2021, “A Mathematical Framework for Transformer "
        "Circuits”. Leaving out and swapping: Veit and others 2016, [arXiv:1605.06431]"
        "(https://arxiv.org/abs/1605.06431). The first token: Xiao and others 2023, "
        "[arXiv:2309.17453](https://arxiv.org/abs/2309.17453). Syntax and meaning: Tenney and "
        "others 2019, [arXiv:1905.05950](https://arxiv.org/abs/1905.05950)."
    )
)

layout.take_away(
    state.share_link(text=text, change=change, block=block),
    depth_csv.command(text, change),
    depth_view.downloads(drop, survey, changed),
)
