"""What a model is made of: every switch the site can turn, the presets, and what is allowed.

Sources: the presets follow the public model cards of ANDREA-12M and ANDREA-120M and the lesson
"Grow a Language Model"; ``gpt2`` follows Radford et al. 2019.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

Norm = Literal["pre", "post", "none"]
Activation = Literal["gelu_tanh", "gelu", "relu"]
Init = Literal["gpt2", "xavier"]

MAX_LAYERS = 192  # the laboratory's deepest stack
MAX_TOKENS = 128  # tokens of a visitor's text that a trace follows, BOS not counted


@dataclass(frozen=True)
class ModelConfig:
    """The shape and the switches of one decoder-only, causal transformer.

    Parameters
    ----------
    n_layer, d_model, n_head, n_ctx, vocab_size
        Blocks, width of the stream, attention heads, longest context, vocabulary entries.
    d_mlp
        Width of the MLP's hidden layer; ``None`` means ``4 * d_model``.
    norm
        ``"pre"``: LayerNorm at the start of each branch and once at the end. ``"post"``: LayerNorm
        on the stream after each addition, none at the end (Vaswani et al. 2017). ``"none"``.
    residual
        Whether a branch is *added* to the stream or replaces it.
    act_fn
        ``"gelu_tanh"`` (ANDREA, GPT-2), exact ``"gelu"`` or ``"relu"``.
    bias, norm_affine, tie_embeddings
        Biases in the linear maps; gamma and beta in the LayerNorms; unembedding = ``wte``.
    init
        ``"gpt2"`` (normal, 0.02, branch outputs scaled by 1/sqrt(2 n_layer)) or ``"xavier"``.

    Raises
    ------
    ValueError
        Naming the field, the value and what is allowed.
    """

    n_layer: int = 12
    d_model: int = 768
    n_head: int = 12
    d_mlp: int | None = None
    n_ctx: int = 1024
    vocab_size: int = 8449
    norm: Norm = "pre"
    residual: bool = True
    act_fn: Activation = "gelu_tanh"
    bias: bool = True
    norm_affine: bool = True
    tie_embeddings: bool = True
    init: Init = "gpt2"
    ln_eps: float = 1e-5

    def __post_init__(self) -> None:
        if self.d_mlp is None and isinstance(self.d_model, int):
            object.__setattr__(self, "d_mlp", 4 * self.d_model)
        for field in ("n_layer", "d_model", "n_head", "d_mlp", "n_ctx", "vocab_size"):
            value = getattr(self, field)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{field} is {value!r}: it must be a whole number from 1 up")
        if self.n_layer > MAX_LAYERS:
            raise ValueError(f"n_layer is {self.n_layer}: at most {MAX_LAYERS} blocks are allowed")
        if self.d_model % self.n_head:
            fits = [h for h in range(1, self.d_model + 1) if self.d_model % h == 0 and h <= 64]
            raise ValueError(
                f"n_head is {self.n_head}: it must divide d_model={self.d_model}; allowed: {fits}"
            )
        for field, allowed in (("norm", Norm), ("act_fn", Activation), ("init", Init)):
            if getattr(self, field) not in get_args(allowed):
                known = ", ".join(get_args(allowed))
                raise ValueError(f"{field} is {getattr(self, field)!r}: allowed are {known}")
        for field in ("residual", "bias", "norm_affine", "tie_embeddings"):
            if not isinstance(getattr(self, field), bool):
                raise ValueError(f"{field} is {getattr(self, field)!r}: it must be true or false")
        if not (isinstance(self.ln_eps, float) and 0 < self.ln_eps < 1):
            raise ValueError(f"ln_eps is {self.ln_eps!r}: it must lie between 0 and 1")

    @property
    def d_head(self) -> int:
        """Width of one attention head."""
        return self.d_model // self.n_head

    @property
    def hidden(self) -> int:
        """``d_mlp`` as a plain int, after the default has been filled in."""
        assert self.d_mlp is not None
        return self.d_mlp

    def with_(self, **changes: Any) -> ModelConfig:
        """Return the same configuration with some fields changed (validated again)."""
        if "d_model" in changes and "d_mlp" not in changes and self.d_mlp == 4 * self.d_model:
            changes["d_mlp"] = None
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary, for JSON."""
        return asdict(self)


# The 12M model's card says 4353 entries; an earlier card says 2305.
PRESETS: dict[str, ModelConfig] = {
    "andrea-mini": ModelConfig(n_layer=12, d_model=192, n_head=6, n_ctx=256),
    "andrea-12m": ModelConfig(n_layer=6, d_model=384, n_head=12, vocab_size=4353),
    "andrea-120m": ModelConfig(),
    "andrea-480m": ModelConfig(n_layer=16, d_model=1536, n_head=24),
    "gpt2": ModelConfig(vocab_size=50257),
}


def preset(name: str) -> ModelConfig:
    """Return a named configuration.

    Raises
    ------
    ValueError
        If the name is unknown; the message lists the known ones.
    """
    if name not in PRESETS:
        raise ValueError(f"model is {name!r}: known models are {', '.join(PRESETS)}")
    return PRESETS[name]
