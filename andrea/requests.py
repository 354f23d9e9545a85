"""The questions one can ask: frozen, complete, hashable. One request, one result.

A request holds everything that decides the answer, so that a class shares one computation, a link
reproduces it and a terminal repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from andrea.config import MAX_LAYERS, PRESETS, Init, ModelConfig, Norm
from andrea.errors import InputError, check_seed, check_whole

MAX_FRESH_LAYERS = 96
TRAINED = "andrea-mini"
WhichNorm = Literal["ln1", "ln2", "ln_final"]


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
        check_seed(self.seed)
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


@dataclass(frozen=True)
class NormRequest:
    """What a LayerNorm reads and makes of one token; positions as in ``TraceRequest``.

    ``layer`` 0 is the first; ``ln`` is ``"ln1"`` (attention's), ``"ln2"`` (MLP's), ``"ln_final"``.
    """

    text: str
    model: ModelRequest = ModelRequest()
    position: int = -1
    layer: int = 0
    ln: WhichNorm = "ln1"


@dataclass(frozen=True)
class StreamNormsRequest:
    """How long the stream's vectors are through depth, under every norm placement and residual.

    ``model`` names preset, seed and depth; its switches are of no account.
    """

    text: str
    model: ModelRequest = ModelRequest()


# Widest sizes that the parameter count takes: beyond any published model, far below what overflows.
MOST_SIZE = {
    "n_layer": MAX_LAYERS,
    "d_model": 32_768,
    "n_head": 512,
    "d_mlp": 262_144,
    "vocab_size": 1_000_000,
    "n_ctx": 1_000_000,
}


@dataclass(frozen=True)
class ParametersRequest:
    """Where the parameters of a model of this shape sit, and what they cost.

    Parameters
    ----------
    preset
        The configuration to start from.
    n_layer, d_model, n_head, d_mlp, vocab_size, n_ctx
        Sizes that replace the preset's; ``None`` keeps it (``d_mlp`` keeps its ratio to
        ``d_model``).
    norm, bias, norm_affine, tie_embeddings
        The switches that decide which tensors there are.
    measure_flops
        Whether to run a forward pass of ``n_ctx`` tokens, without data, and count its operations.
    """

    preset: str = "andrea-120m"
    n_layer: int | None = None
    d_model: int | None = None
    n_head: int | None = None
    d_mlp: int | None = None
    vocab_size: int | None = None
    n_ctx: int | None = None
    norm: Norm = "pre"
    bias: bool = True
    norm_affine: bool = True
    tie_embeddings: bool = True
    measure_flops: bool = False

    def config(self) -> ModelConfig:
        """Return the configuration asked for.

        Raises
        ------
        InputError
            Naming the value and what is allowed.
        """
        if self.preset not in PRESETS:
            raise InputError(
                "There is no model called {model}: choose one of {known}.",
                model=self.preset,
                known=", ".join(PRESETS),
            )
        sizes = {name: getattr(self, name) for name in MOST_SIZE}
        sizes = {name: value for name, value in sizes.items() if value is not None}
        for name, value in sizes.items():
            if not 1 <= value <= MOST_SIZE[name]:
                raise InputError(
                    "{field} is {value}: choose a whole number from 1 to {most}.",
                    field=name,
                    value=value,
                    most=MOST_SIZE[name],
                )
        base = PRESETS[self.preset]
        width, heads = sizes.get("d_model", base.d_model), sizes.get("n_head", base.n_head)
        if width % heads:
            raise InputError(
                "{n_head} heads do not divide a width of {d_model}: choose one of {allowed}.",
                n_head=heads,
                d_model=width,
                allowed=", ".join(str(h) for h in range(1, 65) if width % h == 0),
            )
        switches = ("norm", "bias", "norm_affine", "tie_embeddings")
        try:
            return base.with_(**sizes, **{name: getattr(self, name) for name in switches})
        except ValueError as error:
            raise InputError("{reason}", reason=str(error)) from error


# The laboratory's fixed sizes: ANDREA's vocabulary and context, so that 12 x 768 is ANDREA-120M.
LAB_VOCAB = 8449
LAB_CONTEXT = 1024
NARROW = 128  # up to this width the laboratory goes down to MAX_LAYERS blocks
TokenSource = Literal["random", "it", "en"]


def most_layers(d_model: int) -> int:
    """Return how many blocks the laboratory allows at this width."""
    return MAX_LAYERS if d_model <= NARROW else MAX_FRESH_LAYERS


@dataclass(frozen=True)
class GradientsRequest:
    """One arm of the laboratory: how the gradient of the loss travels back through a stack.

    Parameters
    ----------
    n_layer, d_model, n_head
        Blocks (1 to 96, to 192 for widths up to 128), width (64 to 768), heads.
    norm, residual, init
        The switches of the arm.
    tokens
        ``"random"`` ids, or the shipped passages in Italian (``"it"``) or English (``"en"``).
    batch, n_tokens
        Sequences (1 to 8) and positions in each (8 to 128).
    seeds
        1 to 8 seeds; each fills its own weights and chooses its own tokens.
    trained
        Measure the trained andrea-mini as it is: shape, switches and init are then its own, and
        ``seeds`` choose the tokens only.
    """

    n_layer: int = 12
    d_model: int = 256
    n_head: int = 4
    norm: Norm = "pre"
    residual: bool = True
    init: Init = "xavier"
    tokens: TokenSource = "random"
    batch: int = 2
    n_tokens: int = 64
    seeds: tuple[int, ...] = (0,)
    trained: bool = False

    def check(self) -> None:
        """Refuse values that are out of range.

        Raises
        ------
        InputError
            Naming the field, the value and what is allowed.
        """
        ranges = {"batch": (1, 8), "n_tokens": (8, 128)}
        if not self.trained:
            ranges |= {"d_model": (64, 768), "n_layer": (1, most_layers(self.d_model))}
        for field, (least, most) in ranges.items():
            check_whole(field, getattr(self, field), least, most)
        if self.tokens not in get_args(TokenSource):
            raise InputError(
                "tokens is {value}: choose one of {allowed}.",
                value=self.tokens,
                allowed=", ".join(get_args(TokenSource)),
            )
        if not 1 <= len(self.seeds) <= 8 or len(set(self.seeds)) < len(self.seeds):
            raise InputError("Choose 1 to 8 different seeds.")
        for seed in self.seeds:
            check_seed(seed)

    def config(self) -> ModelConfig:
        """Return the configuration of a fresh arm.

        Raises
        ------
        InputError
            Naming the value and what is allowed.
        """
        self.check()
        if self.n_head < 1 or self.d_model % self.n_head:
            raise InputError(
                "{n_head} heads do not divide a width of {d_model}: choose one of {allowed}.",
                n_head=self.n_head,
                d_model=self.d_model,
                allowed=", ".join(str(h) for h in range(1, 65) if self.d_model % h == 0),
            )
        try:
            return ModelConfig(
                n_layer=self.n_layer,
                d_model=self.d_model,
                n_head=self.n_head,
                n_ctx=LAB_CONTEXT,
                vocab_size=LAB_VOCAB,
                norm=self.norm,
                residual=self.residual,
                init=self.init,
            )
        except ValueError as error:
            raise InputError("{reason}", reason=str(error)) from error


Request = TraceRequest | AttentionRequest | LensMapRequest | NormRequest | StreamNormsRequest
