"""Parameters: where 92 million numbers sit, and why the lesson's sum does not reach 120.

The count asks the model's own tensors; the formulas know only the configuration; both are shown.
Sources: Kaplan et al. 2020, arXiv:2001.08361 (FLOPs a token); Shazeer 2020, arXiv:2002.05202 (the
two thirds of a gated MLP); Press and Wolf 2017, arXiv:1608.05859 (tied embeddings).
"""

from __future__ import annotations

import streamlit as st

from andrea.requests import ParametersRequest
from app import compute, layout, parameters_view
from app import parameters_controls as controls
from app import parameters_text as text
from app.i18n import _

layout.page_header(
    _("Where the parameters sit"),
    _(
        "A model of this kind is a handful of matrices, repeated. Count them to the last number, "
        "change the sizes yourself, and see which of the lesson's sums come out right."
    ),
)

guess = layout.predict(
    "parameters",
    _("What share of ANDREA-120M's parameters is in its embeddings?"),
    text.guesses(),
)
if guess is not None:
    two = (compute.parameters(ParametersRequest(preset)) for preset in ("andrea-120m", "gpt2"))
    layout.reading(text.prediction_reading(*two))

request, second = controls.both()
result = compute.parameters(request)

layout.reading(text.total_reading(result))
parameters_view.picture(result)
st.caption(parameters_view.provenance_line(result))
layout.reading(text.tying_reading(result))

if second is not None:
    layout.section(_("Two side by side"))
    parameters_view.comparison(result, compute.parameters(second))

layout.section(_("The table that adds up"))
parameters_view.count_table(result)
layout.reading(text.swiglu_reading(result))

layout.section(_("The lesson's sum, checked"))
st.write(
    _(
        "What the lesson and the model cards state about ANDREA, beside the count. The verdicts "
        "follow from the numbers; each says under which reading the statement would hold."
    )
)
parameters_view.lesson(result)

layout.section(_("What it costs"))
parameters_view.costs(result)
parameters_view.measured(request)

layout.section(_("Try this"))
layout.steps(
    [
        _(
            "Switch off biases, tying, γ and β: you find the 98.7 million that the model card "
            "publishes."
        ),
        _(
            "Double the width, then double the number of blocks instead: which of the two makes "
            "the model grow fourfold, and why?"
        ),
        _(
            "Change the number of heads: no count moves. What do the heads share out, if not "
            "parameters?"
        ),
        _("Give ANDREA-120M the vocabulary of GPT-2: which of the lesson's statements come true?"),
    ]
)

layout.section(_("What this cannot show"))
st.write(
    _(
        "A count says how much a model stores, not what it is able to do. The operations leave "
        "out LayerNorm, softmax and GELU, less than a hundredth of the work. What training keeps "
        "of the activations is not in the bytes: it grows with the batch and the context. int8 "
        "also needs its scales, less than a hundredth more."
    )
)

layout.section(_("Sources"))
st.markdown(
    _(
        "Operations a token: Kaplan and others 2020, [arXiv:2001.08361](https://arxiv.org/abs/"
        "2001.08361). Tied embeddings: Press and Wolf 2017, [arXiv:1608.05859](https://arxiv.org/"
        "abs/1608.05859). Gated MLPs: Shazeer 2020, [arXiv:2002.05202](https://arxiv.org/abs/"
        "2002.05202). AdamW: Loshchilov and Hutter 2019, [arXiv:1711.05101](https://arxiv.org/"
        "abs/1711.05101). Float32 copies: Micikevicius and others 2018, [arXiv:1710.03740]"
        "(https://arxiv.org/abs/1710.03740). The cache: Pope and others 2022, [arXiv:2211.05102]"
        "(https://arxiv.org/abs/2211.05102)."
    )
)

layout.take_away(
    controls.link(request, second),
    parameters_view.commands(request, second),
    parameters_view.downloads(result, controls.command(request)),
)
