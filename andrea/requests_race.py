"""The question of the race: which small models train, side by side on the same batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

from andrea.config import Activation, Init, ModelConfig, Norm
from andrea.errors import InputError, check_seed, check_whole


@dataclass(frozen=True)
class Variant:
    """One way to build the block, and whether its learning rate rises slowly at the start."""

    norm: Norm = "pre"
    residual: bool = True
    act_fn: Activation = "gelu_tanh"
    warmup: bool = False


# In the order in which they are listed.
RACE_ARMS: dict[str, Variant] = {
    "pre": Variant(),
    "post": Variant("post"),
    "post-warmup": Variant("post", warmup=True),
    "pre-cut": Variant(residual=False),
    "none": Variant("none"),
    "pre-warmup": Variant(warmup=True),
    "none-warmup": Variant("none", warmup=True),
    "relu": Variant(act_fn="relu"),
}
DEFAULT_ARMS = ("pre", "post", "post-warmup", "pre-cut", "none")

BYTES = 256  # the vocabulary: every byte is a token
CONTEXT = 64  # bytes that a model reads at a time
BATCH = 8  # windows a step
HEAD_WIDTH = 32
RACE_WIDTHS = (32, 64, 128)
RANGES = {"n_layer": (1, 24), "steps": (20, 1000), "warmup": (1, 1000)}


@dataclass(frozen=True)
class RaceRequest:
    """Small models trained from scratch on the shipped text, byte by byte.

    Parameters
    ----------
    arms
        Names from ``RACE_ARMS``, in the order of that table; all start from the same matrices and
        see the same batches.
    lr
        Adam's learning rate, above 0 and up to 1.
    warmup
        Steps over which the learning rate rises, in the arms that have a warmup.
    n_layer, d_model
        Blocks (1 to 24) and width (one of ``RACE_WIDTHS``; heads of width 32).
    steps
        Batches of ``BATCH`` windows of ``CONTEXT`` bytes, 20 to 1000.
    seed
        Decides the weights at the start and the batches.
    init
        The initialisation, the same for every arm.
    """

    arms: tuple[str, ...] = DEFAULT_ARMS
    lr: float = 3e-3
    warmup: int = 60
    n_layer: int = 12
    d_model: int = 64
    steps: int = 120
    seed: int = 0
    init: Init = "xavier"

    def check(self) -> None:
        """Refuse values that are out of range.

        Raises
        ------
        InputError
            Naming the field, the value and what is allowed.
        """
        unknown = [arm for arm in self.arms if arm not in RACE_ARMS]
        if unknown or not self.arms or len(set(self.arms)) < len(self.arms):
            raise InputError(
                "Choose one or more of {allowed}, each once.", allowed=", ".join(RACE_ARMS)
            )
        for field, (least, most) in RANGES.items():
            check_whole(field, getattr(self, field), least, most)
        for field, allowed in (("d_model", RACE_WIDTHS), ("init", get_args(Init))):
            if getattr(self, field) not in allowed:
                raise InputError(
                    "{field} is {value}: choose one of {allowed}.",
                    field=field,
                    value=getattr(self, field),
                    allowed=", ".join(map(str, allowed)),
                )
        if not (math.isfinite(self.lr) and 0 < self.lr <= 1):
            raise InputError(
                "A learning rate of {lr} is not possible: choose a number above 0, up to 1.",
                lr=self.lr,
            )
        check_seed(self.seed)

    def config(self, arm: str) -> ModelConfig:
        """Return the configuration of one arm."""
        variant = RACE_ARMS[arm]
        return ModelConfig(
            n_layer=self.n_layer,
            d_model=self.d_model,
            n_head=self.d_model // HEAD_WIDTH,
            n_ctx=CONTEXT,
            vocab_size=BYTES,
            norm=variant.norm,
            residual=variant.residual,
            act_fn=variant.act_fn,
            init=self.init,
        )

    def rate(self, arm: str, step: int) -> float:
        """Return an arm's learning rate at ``step``, counted from 0."""
        if not RACE_ARMS[arm].warmup:
            return self.lr
        return self.lr * min(1.0, (step + 1) / self.warmup)


def in_order(arms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arms in the order of ``RACE_ARMS``: the same race has one spelling."""
    return tuple(arm for arm in RACE_ARMS if arm in arms)
