"""One backward pass, written out block by block.

Each block's graph is cut off from the others, so that the chain rule is a plain loop,
dL/dx_l = (dx_{l+1}/dx_l)^T dL/dx_{l+1}. That gives the gradient at every boundary of the stream,
frees each block's memory at once, and lets a visitor who moves a control stop the work between two
blocks. Autograd over the whole graph gives the same numbers (a test).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from andrea.model import Andrea, next_token_loss

Check = Callable[[], object]
Visit = Callable[[str, Tensor], None]


def nothing() -> None:
    """The check of someone who does not want to stop."""


def cut(x: Tensor) -> Tensor:
    """Return ``x`` as the start of a graph of its own."""
    return x.detach().requires_grad_()


def grads(output: Tensor, inputs: dict[str, Tensor], upstream: Tensor | None) -> dict[str, Tensor]:
    """Return the gradient of each named input, given that of ``output`` (``None``: a scalar)."""
    found = torch.autograd.grad(output, list(inputs.values()), upstream)
    return dict(zip(inputs, found, strict=True))


def backpropagate(
    model: Andrea, ids: Tensor, visit: Visit, check: Check = nothing
) -> tuple[Tensor, list[Tensor]]:
    """Run the loss forward and back, calling ``visit(name, gradient)`` for each gradient found.

    Parameters
    ----------
    model
        Its parameters must require gradients; their ``.grad`` stays untouched.
    ids
        int64 (B, T).
    visit
        Gets every gradient once, from the output back: parameters under their names in the
        model, streams under ``boundary.{l}``, l = n_layer .. 0.
    check
        Called between any two blocks; whatever it raises ends the work.

    Returns
    -------
    tuple
        The loss, and the streams x_0 .. x_L, (B, T, D) each.
    """
    with torch.enable_grad():
        embedded = model.embed(ids)
        reads = [cut(embedded)]
        writes = []
        for block in model.blocks:
            check()
            writes.append(block(reads[-1]))
            reads.append(cut(writes[-1]))
        loss = next_token_loss(model.unembed(reads[-1]), ids)
    head = {"x": reads[-1], **head_parameters(model)}
    found = grads(loss, head, None)
    upstream, tied = found.pop("x"), found.pop("wte", None)
    for name, gradient in found.items():
        visit(name, gradient)
    for i in reversed(range(len(writes))):
        check()
        visit(f"boundary.{i + 1}", upstream)
        block = model.blocks[i]
        inputs = {"x": reads[i], **{f"blocks.{i}.{n}": p for n, p in block.named_parameters()}}
        found = grads(writes.pop(), inputs, upstream)
        upstream = found.pop("x")
        for name, gradient in found.items():
            visit(name, gradient)
    visit("boundary.0", upstream)
    found = grads(embedded, {"wte": model.wte, "wpe": model.wpe}, upstream)
    # A tied matrix is used twice, so its gradient is the sum of both uses.
    visit("wte", found["wte"] if tied is None else found["wte"] + tied)
    visit("wpe", found["wpe"])
    return loss.detach(), [x.detach() for x in reads]


def head_parameters(model: Andrea) -> dict[str, Tensor]:
    """Return the parameters that the unembedding uses, by their names in the model."""
    used: dict[str, Tensor] = {}
    if model.ln_final is not None:
        used = {f"ln_final.{name}": p for name, p in model.ln_final.named_parameters()}
    return used | ({"wte": model.wte} if model.W_U is None else {"W_U": model.W_U})
