"""The model: a GPT-style, decoder-only, causal transformer with every switch of the lesson.

Read it from the bottom up: ``Andrea.forward`` is the lesson's six lines, ``Block.forward`` is its
diagram. Vectors are rows, so a linear map is written as the lesson writes it, ``x @ W + b``, with
``W`` of shape [in, out].

Looking inside is an argument, not machinery: ``forward(ids, record)`` fills the dictionary
``record`` with every activation, named as in TransformerLens (``blocks.3.attn.pattern``). Nothing
is copied, so looking costs next to nothing, and gradients can be taken at any recorded tensor.

Shapes below: B batch, T positions, D d_model, H heads, K d_head, M d_mlp, V vocabulary.

Sources: Radford et al. 2019 (GPT-2); Vaswani et al. 2017, arXiv:1706.03762 (attention, post-norm);
Xiong et al. 2020, arXiv:2002.04745 (where the norm stands).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from andrea.config import ModelConfig

Record = dict[str, Tensor]
Keep = Callable[[str, Tensor], None]


def keeper(record: Record | None, prefix: str = "") -> Keep:
    """Return a function that files tensors under ``prefix`` in ``record``, or does nothing."""
    if record is None:
        return lambda name, tensor: None
    return lambda name, tensor: record.__setitem__(prefix + name, tensor)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``x @ weight + bias`` in one fused call; ``weight`` is [in, out]."""
    return F.linear(x, weight.T, bias)


def weight(rows: int, columns: int) -> nn.Parameter:
    """A matrix [in, out], to be filled by ``Andrea.initialise``."""
    return nn.Parameter(torch.empty(rows, columns))


def vector(size: int, wanted: bool) -> nn.Parameter | None:
    """A bias of zeros, or nothing where the configuration wants none."""
    return nn.Parameter(torch.zeros(size)) if wanted else None


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu": F.gelu,
    "relu": F.relu,
}


class LayerNorm(nn.Module):
    """gamma * (x - mean) / sqrt(var + eps) + beta over d_model, each token by itself."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.eps = config.ln_eps
        self.gamma = nn.Parameter(torch.ones(config.d_model)) if config.norm_affine else None
        self.beta = vector(config.d_model, config.norm_affine)

    def forward(self, x: Tensor, keep: Keep | None = None) -> Tensor:
        """Normalise every token's vector: (B, T, D) -> (B, T, D)."""
        if keep is None:
            return F.layer_norm(x, x.shape[-1:], self.gamma, self.beta, self.eps)
        # Recorded in two steps, because a reader wants to see the vector before gamma and beta.
        normalized = F.layer_norm(x, x.shape[-1:], eps=self.eps)
        out = normalized
        if self.gamma is not None and self.beta is not None:
            out = torch.addcmul(self.beta, normalized, self.gamma)
        keep("normalized", normalized)
        keep("out", out)
        return out


class Attention(nn.Module):
    """Causal self-attention: each position reads from itself and from those before it."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d = config.d_model
        self.n_head, self.d_head = config.n_head, config.d_head
        self.W_Q, self.W_K, self.W_V, self.W_O = (weight(d, d) for _ in range(4))
        self.b_Q, self.b_K, self.b_V, self.b_O = (vector(d, config.bias) for _ in range(4))

    def forward(self, x: Tensor, keep: Keep) -> Tensor:
        """Return what attention would add to the stream: (B, T, D) -> (B, T, D)."""
        B, T, D = x.shape
        heads = (B, T, self.n_head, self.d_head)
        q = linear(x, self.W_Q, self.b_Q).view(heads)  # (B, T, H, K)
        k = linear(x, self.W_K, self.b_K).view(heads)
        v = linear(x, self.W_V, self.b_V).view(heads)
        scores = torch.einsum("bqhk,bphk->bhqp", q, k) / math.sqrt(self.d_head)  # (B, H, T, T)
        future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
        pattern = scores.softmax(dim=-1)  # rows sum to 1
        z = torch.einsum("bhqp,bphk->bqhk", pattern.to(v.dtype), v)  # (B, T, H, K)
        for name, tensor in zip("qkv", (q, k, v), strict=True):
            keep(name, tensor)
        keep("scores", scores)
        keep("pattern", pattern)
        keep("z", z)
        return linear(z.reshape(B, T, D), self.W_O, self.b_O)


class MLP(nn.Module):
    """Expand to d_mlp, apply the activation, contract: each position by itself."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.W_1 = weight(config.d_model, config.hidden)
        self.b_1 = vector(config.hidden, config.bias)
        self.W_2 = weight(config.hidden, config.d_model)
        self.b_2 = vector(config.d_model, config.bias)
        self.act = ACTIVATIONS[config.act_fn]

    def forward(self, x: Tensor, keep: Keep) -> Tensor:
        """Return what the MLP would add to the stream: (B, T, D) -> (B, T, D)."""
        pre = linear(x, self.W_1, self.b_1)  # (B, T, M)
        post = self.act(pre)
        keep("pre", pre)
        keep("post", post)
        return linear(post, self.W_2, self.b_2)


class Block(nn.Module):
    """One block: two branches, each added to the stream (or replacing it: ``residual=False``)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm, self.residual = config.norm, config.residual
        if config.norm != "none":
            self.ln1, self.ln2 = LayerNorm(config), LayerNorm(config)
        self.attn, self.mlp = Attention(config), MLP(config)

    def forward(self, x: Tensor, record: Record | None = None, prefix: str = "") -> Tensor:
        """Pass the stream through both branches: (B, T, D) -> (B, T, D)."""
        keep = keeper(record, prefix)
        keep("resid_pre", x)
        x = self.sublayer(x, "attn", "ln1", record, prefix)
        keep("resid_mid", x)
        x = self.sublayer(x, "mlp", "ln2", record, prefix)
        keep("resid_post", x)
        return x

    def sublayer(
        self, x: Tensor, branch: str, norm: str, record: Record | None, prefix: str
    ) -> Tensor:
        """``x + branch(LayerNorm(x))`` under pre-norm, ``LayerNorm(x + branch(x))`` under post."""

        def normalise(y: Tensor) -> Tensor:
            looking = None if record is None else keeper(record, f"{prefix}{norm}.")
            out: Tensor = getattr(self, norm)(y, looking)
            return out

        read = normalise(x) if self.norm == "pre" else x
        delta = getattr(self, branch)(read, keeper(record, f"{prefix}{branch}."))
        keeper(record, prefix)(f"{branch}_out", delta)
        x = x + delta if self.residual else delta
        return normalise(x) if self.norm == "post" else x


class Andrea(nn.Module):
    """Embeddings, ``n_layer`` blocks, a final LayerNorm (pre-norm only), the unembedding.

    Parameters
    ----------
    config
        Shape and switches.
    seed
        Seed of the fresh weights; ``None`` leaves the matrices unfilled (weights are loaded next,
        or the model lives on the meta device and is only counted).
    """

    def __init__(self, config: ModelConfig, seed: int | None = None) -> None:
        super().__init__()
        self.config = config
        self.wte = weight(config.vocab_size, config.d_model)
        self.wpe = weight(config.n_ctx, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.ln_final = LayerNorm(config) if config.norm == "pre" else None
        self.W_U = None if config.tie_embeddings else weight(config.vocab_size, config.d_model)
        if seed is not None:
            self.initialise(seed)

    @torch.no_grad()
    def initialise(self, seed: int, check: Callable[[], object] = lambda: None) -> None:
        """Fill every matrix from one seeded CPU generator, so that all devices start alike.

        ``check`` is called before each matrix: what it raises ends the work.
        """
        random = torch.Generator().manual_seed(seed)
        config = self.config
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:  # biases 0, gamma 1: set when they were made
                continue
            check()
            kind = name.rsplit(".", 1)[-1]
            values = torch.empty(parameter.shape, device="cpu")
            if config.init == "xavier" and kind not in ("wte", "wpe", "W_U"):
                limit = math.sqrt(6 / sum(parameter.shape))
                values.uniform_(-limit, limit, generator=random)
            else:
                std = 0.02 if config.init == "gpt2" else config.d_model**-0.5
                if kind in ("W_O", "W_2"):
                    std /= math.sqrt(2 * config.n_layer)
                values.normal_(0, std, generator=random)
            parameter.copy_(values)

    def embed(self, ids: Tensor, record: Record | None = None) -> Tensor:
        """Token plus position: integer ids (B, T) -> (B, T, D)."""
        T = ids.shape[-1]
        if T > self.config.n_ctx:
            raise ValueError(f"the text has {T} positions; this model reads {self.config.n_ctx}")
        keep = keeper(record)
        token, position = F.embedding(ids, self.wte), self.wpe[:T].expand(*ids.shape, -1)
        keep("embed", token)
        keep("pos_embed", position)
        return token + position

    def unembed(self, x: Tensor, record: Record | None = None) -> Tensor:
        """Final LayerNorm where there is one, then the tied matrix: (B, T, D) -> (B, T, V)."""
        if self.ln_final is not None:
            x = self.ln_final(x, None if record is None else keeper(record, "ln_final."))
        return F.linear(x, self.wte if self.W_U is None else self.W_U)

    def forward(self, ids: Tensor, record: Record | None = None) -> Tensor:
        """Map token ids (B, T) to logits (B, T, V); fill ``record`` with every activation."""
        x = self.embed(ids, record)
        for i, block in enumerate(self.blocks):
            x = block(x, record, f"blocks.{i}.")
        logits = self.unembed(x, record)
        keeper(record)("logits", logits)
        return logits


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    """Mean cross-entropy, in nats, of each next token: logits (B, T, V), ids (B, T) -> scalar."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))  # half is too coarse
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
