"""What a model of a given shape costs: bytes to keep and to train, operations to run.

Conventions: 1 GB = 10^9 bytes. A multiplication and an addition are two floating-point operations
(FLOPs). Only matrix products are counted, as ``torch.utils.flop_counter`` does: LayerNorm, softmax,
GELU and additions are left out (below a hundredth of ANDREA-120M's work), and an embedding is a
look-up.
Attention is counted as this model computes it: the full square of scores, masked half included.
Activations that training keeps are not in the bytes: they grow with the batch, not with the shape.

Sources: Kaplan et al. 2020, arXiv:2001.08361, section 2.1 (FLOPs, backward = 2 forward);
Loshchilov and Hutter 2019, arXiv:1711.05101 (AdamW: two moments a parameter);
Micikevicius et al. 2018, arXiv:1710.03740 (a float32 master copy beside 16-bit weights);
Pope et al. 2022, arXiv:2211.05102, section 2 (the key and value cache).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from andrea import device
from andrea.config import ModelConfig
from andrea.measures.formula import Formula, formula
from andrea.measures.tensors import lay_out, sizes

# Bytes a parameter, in words that a reader can check: weights + gradients + moments (+ master).
BYTES: dict[str, str] = {
    "weights_float32": "4 × parameters",
    "weights_bfloat16": "2 × parameters",
    "weights_int8": "1 × parameters",
    "adam_moments": "(4 + 4) × parameters",
    "training_float32": "(4 + 4 + 4 + 4) × parameters",
    "training_mixed": "(2 + 2 + 4 + 4 + 4) × parameters",
    "kv_cache_float32": "4 × 2 × n_layer × n_ctx × d_model",
    "kv_cache_bfloat16": "2 × 2 × n_layer × n_ctx × d_model",
}

MATRICES = "2 × (n_layer × (4 × d_model² + 2 × d_model × d_mlp) + vocab_size × d_model)"
ATTENTION = "n_layer × 4 × n_ctx × d_model"
FLOPS: dict[str, str] = {
    "forward_matrices": MATRICES,
    "forward_attention": ATTENTION,
    "forward": f"{MATRICES} + {ATTENTION}",
    "training": f"3 × ({MATRICES} + {ATTENTION})",
}


@dataclass(frozen=True)
class Cost:
    """One cost: a name of ``BYTES`` or ``FLOPS``, its formula and its value."""

    name: str
    formula: Formula

    @property
    def value(self) -> int:
        """Bytes, or FLOPs a token."""
        return self.formula.value


@dataclass(frozen=True)
class Costs:
    """The costs of one configuration.

    Parameters
    ----------
    bytes
        Weights in three formats; Adam's two moments; all that training keeps a parameter (weights,
        gradients, moments: float32, or bfloat16 with a float32 master copy); the cache of keys and
        values of one text of ``n_ctx`` tokens.
    flops
        A token, at full context ``n_ctx``: the matrices, the scores and their weighted sums, both;
        training (forward and backward).
    flops_measured
        The same forward pass run without data and counted operation by operation, a token; ``None``
        where it was not asked for.
    memory_total, memory_limit
        This machine's memory, and what one model may take of it here. Bytes.
    """

    bytes: tuple[Cost, ...]
    flops: tuple[Cost, ...]
    flops_measured: float | None
    memory_total: int
    memory_limit: int

    def lines(self) -> tuple[Cost, ...]:
        """Return all costs in order."""
        return self.bytes + self.flops


def measured_flops(config: ModelConfig, tokens: int) -> float:
    """Run one text of ``tokens`` tokens on the meta device; return the FLOPs counted a token."""
    model = lay_out(config)
    ids = torch.zeros(1, tokens, dtype=torch.int64, device="meta")
    with device.job(), FlopCounterMode(display=False) as counter, torch.no_grad():
        model(ids)
    return float(counter.get_total_flops()) / tokens


def memory_total() -> int:
    """Return the memory of the device that answers, in bytes (0 where the system does not say)."""
    if device.device().type == "cuda":
        return torch.cuda.get_device_properties(device.device()).total_memory
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def costs(config: ModelConfig, parameters: int, measure: bool = False) -> Costs:
    """Return the costs of a configuration with ``parameters`` parameters."""
    names = sizes(config) | {"parameters": parameters}
    return Costs(
        bytes=tuple(Cost(name, formula(text, names)) for name, text in BYTES.items()),
        flops=tuple(Cost(name, formula(text, names)) for name, text in FLOPS.items()),
        flops_measured=measured_flops(config, config.n_ctx) if measure else None,
        memory_total=memory_total(),
        memory_limit=device.memory_limit(),
    )
