"""The questions one can ask: frozen, complete, hashable. One request, one result.

A request holds everything that decides the answer, so that a class shares one computation, a link
reproduces it and a terminal repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass

from andrea.config import PRESETS, ModelConfig, Norm
from andrea.errors import InputError

MAX_FRESH_LAYERS = 96
TRAINED = "andrea-mini"


@dataclass(frozen=True)
class ModelRequest:
    """Which model answers, under which switches.

    Parameters
    ----------
    model
        A preset's name. ``andrea-mini`` carries trained weights, the others start fresh.
    seed
        Seed of fresh weights (ignored by trained ones).
    norm, residual
        The block's switches.
    n_layer
        Blocks; ``None`` means the preset's own depth. Trained weights run their first ``n_layer``.
    """

    model: str = TRAINED
    seed: int = 0
    norm: Norm = "pre"
    residual: bool = True
    n_layer: int | None = None

    @property
    def trained(self) -> bool:
        """Whether the weights are trained ones."""
        return self.model == TRAINED

    def config(self, base: ModelConfig | None = None) -> ModelConfig:
        """Return the configuration asked for; ``base`` is that of the stored weights, if any.

        Raises
        ------
        InputError
            Naming the value and what is allowed.
        """
        if self.model not in PRESETS:
            raise InputError(
                "There is no model called {model}: choose one of {known}.",
                model=self.model,
                known=", ".join(PRESETS),
            )
        base = base or PRESETS[self.model]
        most = base.n_layer if self.trained else MAX_FRESH_LAYERS
        depth = base.n_layer if self.n_layer is None else self.n_layer
        if not 1 <= depth <= most:
            raise InputError(
                "Depth {depth} is not possible here: choose 1 to {most} blocks.",
                depth=depth,
                most=most,
            )
        if not 0 <= self.seed < 2**31:
            raise InputError("Seed {seed} is not possible: choose 0 to 2147483647.", seed=self.seed)
        try:
            return base.with_(n_layer=depth, norm=self.norm, residual=self.residual)
        except ValueError as error:
            raise InputError("{reason}", reason=str(error)) from error


@dataclass(frozen=True)
class TraceRequest:
    """Follow the token at ``position`` of ``text`` through every block.

    Position 0 is BOS, 1 the text's first token; negative positions count from the end.
    """

    text: str
    model: ModelRequest = ModelRequest()
    position: int = -1


@dataclass(frozen=True)
class AttentionRequest:
    """All heads of one layer (0 is the first): who reads from whom."""

    text: str
    model: ModelRequest = ModelRequest()
    layer: int = 0


@dataclass(frozen=True)
class LensMapRequest:
    """The logit lens' first guess at every token, after every block."""

    text: str
    model: ModelRequest = ModelRequest()


Request = TraceRequest | AttentionRequest | LensMapRequest
