"""Where weights come from: the shipped model, a trained folder, a fresh initialisation.

``ANDREA_WEIGHTS`` names the folder with ``weights.safetensors`` and ``tokenizer.json`` (default:
the shipped one). Only the host sets it; a visitor cannot make the server open a path.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from andrea import device
from andrea.config import ModelConfig
from andrea.errors import InputError
from andrea.model import Andrea
from andrea.requests import ModelRequest
from andrea.tokenizer import TextTokenizer

SHIPPED = Path(__file__).parent / "weights"
WEIGHTS_FILE = "weights.safetensors"


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to answer, with its tokenizer and where its weights come from.

    ``sha256`` is the file's for trained weights, that of all values in order for fresh ones;
    ``made`` is what the weights file says of its own training (empty for fresh weights);
    ``as_trained`` tells whether the switches are those that the weights were trained with (fresh
    weights were trained with none, so they always are as they should be).
    """

    model: Andrea
    tokenizer: TextTokenizer
    sha256: str
    made: dict[str, Any]
    as_trained: bool = True


def weights_folder() -> Path:
    """Return the folder with the trained weights."""
    return Path(os.environ.get("ANDREA_WEIGHTS", SHIPPED))


def save_weights(
    model: Andrea, path: Path, made: dict[str, Any], part_mb: float | None = None
) -> None:
    """Write a model's weights in float16, with its configuration and history in the header.

    The file is written whole or not at all. ``part_mb`` also writes ``<name>.partNN`` files of at
    most so many megabytes (``write_parts``).
    """
    tensors = {n: p.detach().half().contiguous().cpu() for n, p in model.named_parameters()}
    header = {"config": json.dumps(model.config.as_dict()), "made": json.dumps(made)}
    fresh = path.with_name(f"{path.name}.new")
    save_file(tensors, fresh, header)
    os.replace(fresh, path)
    if part_mb is not None:
        write_parts(path, part_mb)


def write_parts(path: Path, megabytes: float) -> None:
    """Write ``<name>.partNN`` files beside a file, for carrying it through a narrow door.

    ``cat`` joins them again: their names sort in order, and no part of an earlier, longer file
    stays among them.
    """
    for old in path.parent.glob(f"{path.name}.part*"):
        old.unlink()
    raw, size = path.read_bytes(), max(1, int(megabytes * 1e6))
    starts = range(0, len(raw), size)
    digits = max(2, len(str(len(starts) - 1)))
    for i, start in enumerate(starts):
        path.with_name(f"{path.name}.part{i:0{digits}d}").write_bytes(raw[start : start + size])


def file_sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def values_sha256(model: Andrea, check: Callable[[], object] = lambda: None) -> str:
    """Return the hexadecimal SHA-256 of all weights, as float32 bytes in order.

    ``check`` is called before each of them: what it raises ends the work.
    """
    digest = hashlib.sha256()
    for parameter in model.parameters():
        check()
        digest.update(parameter.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()


def read_header(path: Path) -> tuple[ModelConfig, dict[str, Any]]:
    """Return the configuration and the history in a weights file's header.

    Raises
    ------
    InputError
        Naming the file and what to do, if it is missing, damaged or of another kind.
    """
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
        config = ModelConfig(**json.loads(header["config"]))
        return config, json.loads(header["made"])
    except FileNotFoundError as error:
        if any(path.parent.glob(f"{path.name}.part*")):
            raise InputError(
                "The weights file {file} is here in parts: join them in their folder with "
                "`cat {file}.part* > {file}`.",
                file=path.name,
            ) from error
        raise InputError(
            "The weights file {file} is missing: restore it from the repository, or train one "
            "with `make train`.",
            file=path.name,
        ) from error
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            "The weights file {file} is damaged or is not ours: restore it from the repository, "
            "or train one with `make train`.",
            file=path.name,
        ) from error


def base_config(request: ModelRequest) -> ModelConfig:
    """Return the configuration that the switches start from: the stored weights', or the preset."""
    if request.trained:
        return read_header(weights_folder() / WEIGHTS_FILE)[0]
    return request.config()


def load_trained(request: ModelRequest) -> LoadedModel:
    """Load the trained weights into the model that ``request`` asks for."""
    path = weights_folder() / WEIGHTS_FILE
    stored, made = read_header(path)
    config = request.config(stored)
    model = Andrea(config)
    wanted = dict(model.named_parameters())
    try:
        with safe_open(path, "pt") as file:
            names = set(file.keys())
            missing = [name for name in wanted if name not in names]
            if missing:
                raise InputError(
                    "The weights file {file} lacks {name}: restore it from the repository.",
                    file=path.name,
                    name=missing[0],
                )
            with torch.no_grad():
                for name, parameter in wanted.items():
                    parameter.copy_(file.get_tensor(name))
    except (SafetensorError, RuntimeError) as error:
        raise InputError(
            "The weights file {file} is damaged or is not ours: restore it from the repository, "
            "or train one with `make train`.",
            file=path.name,
        ) from error
    try:
        tokenizer = TextTokenizer.load(path.with_name("tokenizer.json"))
    except ValueError as error:
        raise InputError(
            "The file {file} is missing or damaged: restore it from the repository.",
            file="tokenizer.json",
        ) from error
    return LoadedModel(model, tokenizer, file_sha256(path), made, as_trained=config == stored)


def load_fresh(request: ModelRequest) -> LoadedModel:
    """Initialise a preset from its seed; it reads text with the shipped tokenizer."""
    model = Andrea(request.config(), seed=request.seed)
    tokenizer = TextTokenizer.load(SHIPPED / "tokenizer.json")
    return LoadedModel(
        model, tokenizer.truncated(model.config.vocab_size), values_sha256(model), {}
    )


def n_parameters(config: ModelConfig) -> int:
    """Count the parameters of a configuration on the meta device, without memory."""
    with torch.device("meta"):
        return sum(p.numel() for p in Andrea(config).parameters())


def load(request: ModelRequest) -> LoadedModel:
    """Return the model that ``request`` asks for, on the device, in evaluation mode.

    Raises
    ------
    InputError
        If the request is impossible, the weights file is damaged, or the model does not fit the
        host's memory limit (the message names the nearest depth that does).
    """
    config = request.config(base_config(request))
    need, limit = 4 * n_parameters(config), device.memory_limit()
    if need > limit:
        one = 4 * n_parameters(config.with_(n_layer=1))
        block = (need - one) / max(1, config.n_layer - 1)
        raise InputError(
            "{model} with {depth} blocks needs {need} GB, this host allows {limit} GB: choose at "
            "most {most} blocks.",
            model=request.model,
            depth=config.n_layer,
            need=f"{need / 1e9:.1f}",
            limit=f"{limit / 1e9:.1f}",
            most=max(1, int(1 + (limit - one) / block)) if block else 1,
        )
    loaded = load_trained(request) if request.trained else load_fresh(request)
    loaded.model.to(device.device()).eval().requires_grad_(False)
    return loaded
