"""The laboratory's arms, its settings, and the guided settings that a reader can start from.

An arm is one way to build the block; settings are what a comparison holds fixed. Whatever is not
a setting is a constant of the laboratory and is shown: heads of width 64, two sequences of 64
tokens, ANDREA's vocabulary and context.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from andrea.config import Init, Norm
from andrea.requests import GradientsRequest, TokenSource

HEAD_WIDTH = 64
WIDTHS = (64, 128, 192, 256, 384, 512, 768)
MOST_SEEDS = 8
SWEEP_DEPTHS = (6, 12, 24, 48)
TRAINED_ARM = "trained"

# Norm placement and residual of each arm, in the order in which they are listed.
ARMS: dict[str, tuple[Norm, bool]] = {
    "pre": ("pre", True),
    "post": ("post", True),
    "none": ("none", True),
    "pre-cut": ("pre", False),
    "post-cut": ("post", False),
    "plain": ("none", False),
}
ARM_NAMES = (*ARMS, TRAINED_ARM)


@dataclass(frozen=True)
class LabSettings:
    """A comparison: which arms, and what all of them share.

    Parameters
    ----------
    arms
        Names from ``ARM_NAMES``.
    init, n_layer, d_model, tokens
        As in ``GradientsRequest``; the trained arm takes only ``tokens``.
    n_seeds
        Seeds 0 to ``n_seeds - 1``.
    """

    arms: tuple[str, ...]
    init: Init = "xavier"
    n_layer: int = 12
    d_model: int = 128
    n_seeds: int = 2
    tokens: TokenSource = "random"

    def request(self, arm: str) -> GradientsRequest:
        """Return the request of one arm, all its seeds."""
        seeds = tuple(range(self.n_seeds))
        if arm == TRAINED_ARM:
            return GradientsRequest(tokens=self.tokens, seeds=seeds, trained=True)
        norm, residual = ARMS[arm]
        return GradientsRequest(
            n_layer=self.n_layer,
            d_model=self.d_model,
            n_head=max(1, self.d_model // HEAD_WIDTH),
            norm=norm,
            residual=residual,
            init=self.init,
            tokens=self.tokens,
            seeds=seeds,
        )

    def at_depth(self, n_layer: int) -> LabSettings:
        """Return the same comparison at another depth."""
        return replace(self, n_layer=n_layer)

    @property
    def sweep_arms(self) -> tuple[str, ...]:
        """The arms that a depth sweep can vary: the trained one has the depth it has."""
        return tuple(arm for arm in self.arms if arm != TRAINED_ARM)


# Real text is read in the language of the page. "theorem" is measured at SWEEP_DEPTHS; its n_layer
# is the deepest of them.
GUIDES: dict[str, LabSettings] = {
    "twelve": LabSettings(("pre", "post", "pre-cut", "plain")),
    "hundred": LabSettings(("pre", "post", "none", "pre-cut", "plain"), n_layer=100, n_seeds=1),
    "plain": LabSettings(("pre", "none", "plain"), init="gpt2", n_layer=24),
    "collapse": LabSettings(("pre", "pre-cut", "post-cut"), n_layer=24, d_model=256),
    "theorem": LabSettings(("pre", "post"), n_layer=48, d_model=256, n_seeds=3),
    "full": LabSettings(
        ("pre", "post", "pre-cut", "plain"), init="gpt2", d_model=768, n_seeds=1, tokens="en"
    ),
    "trained": LabSettings(("pre", TRAINED_ARM), init="gpt2", d_model=192, tokens="en"),
}
DEFAULT_GUIDE = "twelve"
SWEEP_GUIDE = "theorem"


def arm_of(request: GradientsRequest) -> str:
    """Return the name of the arm that a request measures."""
    if request.trained:
        return TRAINED_ARM
    return next(
        arm for arm, switches in ARMS.items() if switches == (request.norm, request.residual)
    )


def guide_requests(name: str) -> list[GradientsRequest]:
    """Return everything that a guide shows, as requests; where it shows text, in each language."""
    settings = GUIDES[name]
    depths = SWEEP_DEPTHS if name == SWEEP_GUIDE else (settings.n_layer,)
    sources: tuple[TokenSource, ...] = ("it", "en")
    return [
        replace(settings, n_layer=depth, tokens=tokens).request(arm)
        for tokens in (("random",) if settings.tokens == "random" else sources)
        for depth in depths
        for arm in settings.arms
    ]
