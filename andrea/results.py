"""What every result carries, and how a result becomes JSON."""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from andrea import device
from andrea.config import ModelConfig
from andrea.requests import Request
from andrea.requests_activation import ActivationQuestion
from andrea.requests_depth import DepthQuestion
from andrea.sources import LoadedModel

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Provenance:
    """Where a number comes from: enough to make it again.

    ``seconds`` is the time the device worked on it; ``as_trained`` is false where trained weights
    ran under a switch that they were not trained with.
    """

    model: str
    trained: bool
    as_trained: bool
    config: dict[str, Any]
    n_parameters: int
    seed: int
    weights_sha256: str
    device: str
    device_name: str
    threads: int
    seconds: float
    date: str


def here_and_now(started: float) -> dict[str, Any]:
    """Return the part of a ``Provenance`` that says which machine answered, when and how fast.

    ``started`` is ``time.perf_counter()`` at the beginning of the work.
    """
    return {
        "device": device.device().type,
        "device_name": device.name(),
        "threads": device.threads(),
        "seconds": time.perf_counter() - started,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def provenance(
    request: Request | DepthQuestion | ActivationQuestion, loaded: LoadedModel, started: float
) -> Provenance:
    """Return the provenance of a result whose work began at ``time.perf_counter() == started``."""
    config: ModelConfig = loaded.model.config
    return Provenance(
        model=request.model.model,
        trained=request.model.trained,
        as_trained=loaded.as_trained,
        config=config.as_dict(),
        n_parameters=sum(p.numel() for p in loaded.model.parameters()),
        seed=request.model.seed,
        weights_sha256=loaded.sha256,
        **here_and_now(started),
    )


def read_only(tensor: torch.Tensor) -> Floats:
    """Copy a tensor to a float32 NumPy array that nobody can write to."""
    array = tensor.detach().to("cpu", torch.float32, copy=True).contiguous().numpy()
    array.setflags(write=False)
    return array


def read_only_ints(tensor: torch.Tensor) -> Ints:
    """Copy a tensor of whole numbers to an int64 NumPy array that nobody can write to."""
    array = tensor.detach().to("cpu", torch.int64, copy=True).contiguous().numpy()
    array.setflags(write=False)
    return array


def jsonable(value: Any) -> Any:
    """Turn a result into what JSON can hold: arrays to lists, non-finite numbers to strings.

    JSON has no infinity and no NaN, and a vanished or overflowed number is a result: it is written
    as "Infinity", "-Infinity" or "NaN".
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist())
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, bytes):
        return value.hex(" ")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value
