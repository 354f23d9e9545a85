"""Direct logit attribution: what each sublayer adds by itself to the logit of the answer.

Under a residual stream with pre-norm (or no norm) the final stream is a sum: embedding, position
and the 2 L outputs of the sublayers. The final LayerNorm is linear once its scale is held, so that
each part has a share of the logit and beta has one of its own:

    logit(a) - mean logit = sum_i ((d_i - mean d_i) * gamma / sigma) . u + beta . u,
    u = W_U[a] - mean over the vocabulary of W_U

Only the direct path is counted: what a block does *through* later blocks belongs to those.

Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; nostalgebraist
2020, "interpreting GPT: the logit lens".
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import Tensor

from andrea.errors import InputError
from andrea.measures.trace import Kept, additivity_error, labels_of, tokenise
from andrea.model import Andrea
from andrea.requests_depth import WaterfallRequest
from andrea.results import Floats, Provenance, provenance, read_only
from andrea.sources import LoadedModel


@dataclass(frozen=True)
class WaterfallResult:
    """The centred logit of the answer at the text's last token, part by part. L blocks.

    Attributes
    ----------
    labels
        What to print for each token of the text, BOS first.
    answer_id, answer_label
        The likeliest next token.
    names
        The parts: ``embed``, ``pos_embed``, ``blocks.0.attn_out``, ``blocks.0.mlp_out`` and so on,
        ``ln_final.beta`` last (absent without a final LayerNorm).
    contributions
        float32 [2 L + 3] (or 2 L + 2), in logits.
    logit
        The model's own logit of the answer less the mean of all logits.
    error
        |sum of the contributions - logit|.
    additivity_error
        Largest |embedding + sublayer outputs - final stream| over the components.
    scale
        1 / sqrt(var + eps) of the final LayerNorm, held; 1 without one.
    """

    request: WaterfallRequest
    labels: tuple[str, ...]
    answer_id: int
    answer_label: str
    names: tuple[str, ...]
    contributions: Floats
    logit: float
    error: float
    additivity_error: float
    scale: float
    provenance: Provenance


def part_names(n_layer: int) -> list[str]:
    """Return the names of the stream's parts, in the order in which they are added."""
    blocks = [f"blocks.{i}.{branch}_out" for i in range(n_layer) for branch in ("attn", "mlp")]
    return ["embed", "pos_embed", *blocks]


def contributions(
    model: Andrea, parts: Tensor, final: Tensor, answer: int
) -> tuple[Tensor, Tensor | None, float]:
    """Return each part's share of the centred logit, beta's share, and the scale that was held.

    Parameters
    ----------
    parts, final
        (n, D) what was added to the stream, and (D,) the stream that the model ends with.
    answer
        The id whose logit is taken apart.

    Returns
    -------
    tuple
        float64 (n,); beta's share, float64 (), or ``None`` without a final LayerNorm; the scale.
    """
    unembedding = (model.wte if model.W_U is None else model.W_U).double()
    direction = unembedding[answer] - unembedding.mean(0)
    wide, norm = parts.double(), model.ln_final
    if norm is None:
        return wide @ direction, None, 1.0
    scale = float((final.double().var(unbiased=False) + norm.eps).rsqrt())
    if norm.gamma is None or norm.beta is None:
        gamma, beta = torch.ones_like(direction), torch.zeros_like(direction)
    else:
        gamma, beta = norm.gamma.double(), norm.beta.double()
    centred = wide - wide.mean(-1, keepdim=True)
    return (centred * gamma * scale) @ direction, beta @ direction, scale


@torch.no_grad()
def waterfall(request: WaterfallRequest, loaded: LoadedModel) -> WaterfallResult:
    """Answer a ``WaterfallRequest``.

    Raises
    ------
    InputError
        If the text is empty, or the stream of this model is no sum (post-norm, no residual).
    """
    started = time.perf_counter()
    model, tokens = loaded.model, tokenise(request.text, loaded)
    names, record = part_names(model.config.n_layer), Kept(len(tokens.pieces) - 1)
    logits = model(torch.tensor([tokens.ids], device=model.wte.device), record)[0, -1]
    off_by = additivity_error(model, record)
    if off_by is None:
        raise InputError(
            "Under post-norm or without the residual the stream is no sum of what the blocks add, "
            "so it cannot be taken apart: choose pre-norm or none, with the residual."
        )
    answer = int(logits.argmax())
    parts = torch.stack([record[name] for name in names])
    final = record[f"blocks.{model.config.n_layer - 1}.resid_post"]
    shares, beta, scale = contributions(model, parts, final, answer)
    if beta is not None:
        names, shares = [*names, "ln_final.beta"], torch.cat([shares, beta[None]])
    wide = logits.double()
    logit = float(wide[answer] - wide.mean())
    return WaterfallResult(
        request=request,
        labels=tuple(piece.label for piece in tokens.pieces),
        answer_id=answer,
        answer_label=labels_of(logits.argmax()[None], loaded)[0],
        names=tuple(names),
        contributions=read_only(shares),
        logit=logit,
        error=abs(float(shares.sum()) - logit),
        additivity_error=off_by,
        scale=scale,
        provenance=provenance(request, loaded, started),
    )
