"""What the laboratory's guided settings are for, in words, and where the theory stands."""

from __future__ import annotations

from andrea import lab, saved
from app.i18n import _
from app.readings_gradients import Results


def commentary(name: str) -> str:
    """Return what to look for in a guided setting."""
    return {
        "twelve": _(
            "The lesson says that twelve layers without residuals lose the gradient long before "
            "the embeddings. Four stacks of twelve put it to the test: ANDREA's block, the same "
            "without its residual, the block of 2017, and a plain stack without either. The "
            "lesson is right about the plain stack. With LayerNorm kept it is another story: "
            "compare the left figure with the right one."
        ),
        "hundred": _(
            "“Usable through hundreds of layers”, the lesson says of residuals. With pre-norm that "
            "holds. Watch the two others that have a residual as well: without LayerNorm the "
            "stream grows from block to block until float32 cannot hold it, and under post-norm "
            "the gradient keeps its size but the tokens become one."
        ),
        "plain": _(
            "ANDREA's own initialisation is small, deviation 0.02, and without a residual every "
            "block shrinks what it gets. Here even the stream itself fades to exact zeros, and "
            "with it the gradient: zero is a result and is drawn at the edge of the axis. A "
            "residual alone, without any LayerNorm, is enough to keep both."
        ),
        "collapse": _(
            "The usual picture says: no residual, no gradient. With LayerNorm that is false. At "
            "every block LayerNorm restores the size, so the gradient arrives as large as it set "
            "out, or larger. What is lost is the content: attention averages, nothing reminds a "
            "token of what it was, and after some blocks all positions carry practically the same "
            "vector (Dong et al. 2021)."
        ),
        "theorem": _(
            "Xiong et al. (2020) compute how large the gradient of the last block's W₂ is at the "
            "start: constant in depth under post-norm, falling as 1/√L under pre-norm. So near "
            "the output post-norm's gradients are the large ones, and they conclude that it needs "
            "a warm-up. That they explode in the early layers, as the lesson has it, is not what "
            "the theorem says, nor what is measured. Here at 6, 12, 24 and 48 blocks."
        ),
        "full": _(
            "No toy: 92,331,264 parameters, twelve blocks of width 768, real text, a full "
            "backward pass on this machine. With ANDREA's own small initialisation the plain "
            "stack loses its gradient far more thoroughly than with Xavier's."
        ),
        "trained": _(
            "After training the gradient is no longer what the initialisation made it. Compare "
            "the trained andrea-mini with a fresh model of its size on the same text: where are "
            "its gradients larger, and do its tokens stay apart?"
        ),
    }[name]


def lesson() -> Results:
    """Return the saved results of the default setting, which answer the prediction."""
    settings = lab.GUIDES[lab.DEFAULT_GUIDE]
    found = {arm: saved.find(settings.request(arm)) for arm in settings.arms}
    return {arm: result for arm, result in found.items() if result is not None}


def sources() -> str:
    """Return the papers behind this page, as Markdown."""
    papers = (
        ("2002.04745", "Xiong et al. 2020, On Layer Normalization in the Transformer Architecture",
         _("pre-norm and post-norm at initialisation: the theorem")),
        ("2103.03404", "Dong, Cordonnier, Loukas 2021, Attention is not all you need",
         _("without skip connections all tokens become one")),
        ("2206.00330", "Takase et al. 2022, On Layer Normalizations and Residual Connections",
         _("why deep post-norm fails: its lower layers get too little")),
        ("2110.09456", "Shleifer, Weston, Ott 2021, NormFormer",
         _("under pre-norm the early layers have the larger gradients")),
        ("1706.03762", "Vaswani et al. 2017, Attention Is All You Need",
         _("the post-norm block that everything started from")),
    )  # fmt: skip
    return "\n".join(
        f"- [{title}](https://arxiv.org/abs/{number}): {what}" for number, title, what in papers
    )
