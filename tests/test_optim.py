"""Muon: its orthogonalisation, and one matrix's steps against the recipe written out plainly."""

import pytest
import torch
from torch import Tensor

from andrea.optim import Muon, orthogonalise


def matrix(rows: int, columns: int, seed: int = 0) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(rows, columns, generator=random, dtype=torch.float64)


@pytest.mark.parametrize("shape", [(16, 16), (12, 40), (40, 12), (1, 7), (7, 1)])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e3])
def test_singular_values_come_close_to_one(shape, scale):
    x = matrix(*shape) * scale
    y = orthogonalise(x[None])[0]
    assert y.shape == x.shape
    values = torch.linalg.svdvals(y)
    assert float(values.min()) > 0.6 and float(values.max()) < 1.25


@pytest.mark.parametrize("shape", [(12, 40), (40, 12)])
def test_singular_vectors_stay(shape):
    """U S V' becomes U S' V': nothing but the singular values moves."""
    x = matrix(*shape)
    u, _, v = torch.linalg.svd(x, full_matrices=False)
    core = u.T @ orthogonalise(x[None])[0] @ v.T
    assert (core - torch.diag(core.diagonal())).abs().max() < 1e-9


def test_a_transposed_matrix_gives_the_transposed_result():
    x = matrix(6, 15)
    assert torch.allclose(orthogonalise(x.T[None])[0], orthogonalise(x[None])[0].T, atol=1e-12)


def test_a_batch_is_its_matrices_one_by_one():
    stack = torch.stack([matrix(8, 20, seed) * 10**seed for seed in range(3)])
    alone = torch.stack([orthogonalise(x[None])[0] for x in stack])
    assert torch.allclose(orthogonalise(stack), alone, atol=1e-12)


def test_no_gradient_is_no_update_and_no_nan():
    assert (orthogonalise(torch.zeros(1, 4, 9)) == 0).all()


def plain_muon(
    p: Tensor, gradients: list[Tensor], lr: float, momentum: float, decay: float
) -> Tensor:
    """Do what the recipe says, for one matrix [in, out], with nothing batched."""
    buffer = torch.zeros_like(p)
    for g in gradients:
        buffer = momentum * buffer + (1 - momentum) * g
        nesterov = (1 - momentum) * g + momentum * buffer
        tall = p.shape[0] > p.shape[1]
        x = nesterov.T if tall else nesterov
        x = x / (x.square().sum().sqrt() + 1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
        x = x.T if tall else x
        p = p * (1 - lr * decay) - lr * (p.shape[1] / p.shape[0]) ** 0.5 * x
    return p


@pytest.mark.parametrize("shape", [(6, 6), (6, 24), (24, 6)])
def test_steps_equal_the_recipe_written_out(shape):
    start, gradients = matrix(*shape), [matrix(*shape, seed) for seed in range(1, 5)]
    p = torch.nn.Parameter(start.clone())
    muon = Muon([p], lr=0.1, momentum=0.9, weight_decay=0.2)
    muon.dtype = torch.float64
    for g in gradients:
        p.grad = g.clone()
        muon.step()
    expected = plain_muon(start, gradients, 0.1, 0.9, 0.2)
    assert torch.allclose(p, expected, rtol=1e-10, atol=1e-12)
    assert not torch.allclose(p, start, atol=0.1)


def test_matrices_of_several_shapes_do_not_mix():
    """Grouping by shape is a matter of speed only."""
    shapes = [(6, 6), (6, 24), (6, 6), (24, 6), (6, 24)]
    starts = [matrix(*s, seed=i) for i, s in enumerate(shapes)]
    gradients = [matrix(*s, seed=10 + i) for i, s in enumerate(shapes)]
    params = [torch.nn.Parameter(s.clone()) for s in starts]
    for p, g in zip(params, gradients, strict=True):
        p.grad = g.clone()
    muon = Muon(params, dtype=torch.float64)
    muon.step()
    for p, start, g in zip(params, starts, gradients, strict=True):
        assert torch.allclose(p, plain_muon(start, [g], 0.02, 0.95, 0.05), rtol=1e-10)


def test_a_parameter_without_a_gradient_is_left_alone():
    used, unused = (torch.nn.Parameter(matrix(4, 4)) for _ in range(2))
    used.grad = matrix(4, 4, 1)
    Muon([used, unused]).step()
    assert torch.equal(unused, matrix(4, 4))
    assert not torch.equal(used, matrix(4, 4))


def test_bfloat16_is_close_to_float32():
    p = {}
    for dtype in (torch.float32, torch.bfloat16):
        p[dtype] = torch.nn.Parameter(matrix(16, 48).float())
        p[dtype].grad = matrix(16, 48, 1).float()
        Muon([p[dtype]], lr=1.0, dtype=dtype).step()
        assert p[dtype].dtype == torch.float32
    assert (p[torch.float32] - p[torch.bfloat16]).abs().max() < 0.05
