"""On a CUDA device the model is the same model, and the training step stays finite."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from andrea.checkpoint import read_start
from andrea.config import ModelConfig, preset
from andrea.corpus import Stream
from andrea.model import Andrea, next_token_loss
from andrea.sources import save_weights
from andrea.trainer import Recipe, Trainer

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.fixture(autouse=True)
def full_precision() -> Iterator[None]:
    """float32 means float32: TF32 products would differ in the third decimal."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_every_activation_equals_that_of_the_cpu(norm):
    config = preset("andrea-120m").with_(norm=norm)
    ids = torch.randint(config.vocab_size, (1, 64), generator=torch.Generator().manual_seed(0))
    model, there, here = Andrea(config, seed=0), {}, {}
    with torch.no_grad():
        model(ids, here)
        model.cuda()(ids.cuda(), there)
    assert set(there) == set(here)
    for name, tensor in here.items():
        a, b = there[name].cpu(), tensor
        if name.endswith("scores"):  # the future is -inf on both
            assert torch.equal(a.isinf(), b.isinf())
            a, b = a[a.isfinite()], b[b.isfinite()]
        assert (a - b).abs().max() < 1e-4, name


def test_gradients_equal_those_of_the_cpu():
    config = ModelConfig(n_layer=12, d_model=128, n_head=4, vocab_size=500, init="xavier")
    ids = torch.randint(500, (2, 64), generator=torch.Generator().manual_seed(0))
    gradients = []
    for device in ("cpu", "cuda"):
        model = Andrea(config, seed=0).to(device)
        next_token_loss(model(ids.to(device)), ids.to(device)).backward()
        gradients.append({n: p.grad.cpu() for n, p in model.named_parameters()})
    for name, grad in gradients[0].items():
        assert (grad - gradients[1][name]).norm() <= 1e-4 * grad.norm() + 1e-7, name


def test_fresh_weights_are_the_same_on_every_device():
    config = ModelConfig(n_layer=2, d_model=64, n_head=4, vocab_size=500)
    here = Andrea(config, seed=3).state_dict()
    moved = Andrea(config, seed=3).cuda().state_dict()
    with torch.device("cuda"):
        made_there = Andrea(config, seed=3).state_dict()
    for name, tensor in here.items():
        assert torch.equal(tensor, moved[name].cpu()), name
        assert torch.equal(tensor, made_there[name].cpu()), name


CUDA = torch.device("cuda")
SHAPE = ModelConfig(n_layer=4, d_model=64, n_head=4, n_ctx=64, vocab_size=300)
RECIPE = Recipe(steps=40, batch=8, context=64, warmup=4, precision="bfloat16", log_every=1)


def start(folder: Path, recipe: Recipe) -> Trainer:
    """Return a run that learns to count by sevens."""
    tokens = (torch.arange(4000) * 7 % 50).numpy().astype("uint16")
    stream = Stream("counting", tokens, torch.tensor([0, 4000]).numpy(), torch.ones(1).numpy())
    return Trainer(SHAPE, recipe, [stream], [stream], folder, CUDA)


@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_training_steps_are_finite_learn_and_resume(tmp_path, precision):
    recipe = replace(RECIPE, precision=precision)
    trainer = start(tmp_path, recipe)
    lines = list(trainer.run())
    assert all(math.isfinite(x["loss"]) and math.isfinite(x["grad_norm"]) for x in lines)
    assert all(p.isfinite().all() for p in trainer.model.parameters())
    assert lines[0]["loss"] == pytest.approx(math.log(300), rel=0.05)
    assert lines[-1]["loss"] < 0.5 * lines[0]["loss"]
    again = start(tmp_path, replace(recipe, steps=44))
    assert again.resume() and again.step == 40
    for a, b in zip(trainer.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b)
    longer = list(again.run())  # the optimisers' states came back to the device, too
    assert [line["step"] for line in longer] == [41, 42, 43, 44]
    assert max(line["loss"] for line in longer) < 0.5 * lines[0]["loss"]


def test_auto_precision_is_bfloat16_and_a_time_budget_ends_the_run(tmp_path):
    start(tmp_path, RECIPE).take_step()  # the first step of a process loads the kernels
    trainer = start(tmp_path, replace(RECIPE, steps=10**6, minutes=0.05, precision="auto"))
    assert trainer.dtype is (torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32)
    lines = list(trainer.run())
    assert 3 <= trainer.seconds < 10 and trainer.step < 10**6
    assert lines[-1]["rate"] < 0.1  # the rate fell with the time that was left
    assert start(tmp_path, replace(RECIPE, minutes=0.05)).resume()


def test_a_run_begins_from_weights_that_a_cpu_reads(tmp_path):
    first = start(tmp_path, RECIPE)
    list(first.run())
    path = tmp_path / "weights.safetensors"
    save_weights(first.model, path, {"tokens": first.tokens})
    (tmp_path / "next").mkdir()
    trainer = start(tmp_path / "next", RECIPE)
    trainer.begin_from(read_start(path))
    before = first.validate()["counting"]
    assert trainer.validate()["counting"] == pytest.approx(before, abs=0.02)
    assert trainer.step == 0 and trainer.origin["tokens"] == first.tokens
    assert all(p.is_cuda for p in trainer.model.parameters())
    assert math.isfinite(trainer.take_step()["loss"])
