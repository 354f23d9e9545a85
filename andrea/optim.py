"""Muon: momentum whose update is made orthogonal, so that no direction of a matrix dominates.

For the matrices of the blocks; everything else is trained by AdamW. The matrices of one shape are
orthogonalised together in one batched product, which is what makes it cheap on a CPU.

Source: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks" (momentum,
the quintic Newton-Schulz iteration and its coefficients).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonalise(matrices: Tensor, steps: int = 5) -> Tensor:
    """Return matrices [n, rows, columns] with their singular values moved close to 1."""
    wide = matrices if matrices.shape[-2] <= matrices.shape[-1] else matrices.transpose(-2, -1)
    x: Tensor = wide / (wide.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(steps):
        gram = x @ x.transpose(-2, -1)
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x if matrices.shape[-2] <= matrices.shape[-1] else x.transpose(-2, -1)


class Muon(torch.optim.Optimizer):
    """Muon for matrices [in, out], scaled by sqrt(out / in), with decoupled weight decay.

    Parameters
    ----------
    params
        Matrices only.
    lr, momentum, weight_decay
        Step size, Nesterov momentum, decay (multiplied by ``lr``).
    dtype
        In what precision to orthogonalise: bfloat16 where the machine is quick at it.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.05,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Take one step from the gradients in place."""
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for p in group["params"]:
                if p.grad is not None:
                    by_shape[p.shape].append(p)
            for shape, params in by_shape.items():
                updates = torch.stack([self._momentum(p, group["momentum"]) for p in params])
                updates = orthogonalise(updates.to(self.dtype)).to(params[0].dtype)
                scale = group["lr"] * (shape[1] / shape[0]) ** 0.5
                for p, update in zip(params, updates, strict=True):
                    p.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-scale)

    def _momentum(self, p: Tensor, momentum: float) -> Tensor:
        assert p.grad is not None
        state = self.state[p]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(p)
        state["momentum"].lerp_(p.grad, 1 - momentum)
        return p.grad.lerp(state["momentum"], momentum)
