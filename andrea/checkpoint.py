"""What a training goes on from: its own checkpoint, or the weights that another run has written.

Both are safetensors files, so reading one never runs anything that it contains.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from andrea.config import ModelConfig
from andrea.model import Andrea
from andrea.sources import WEIGHTS_FILE, file_sha256
from andrea.tokenizer import TextTokenizer

UNREADABLE = (SafetensorError, OSError, KeyError, TypeError, ValueError)


@dataclass(frozen=True)
class Start:
    """Weights that a new run begins from.

    ``weights`` float32, by the model's names; ``origin`` is what the new run's files tell of them:
    ``file``, ``sha256``, the ``step``, ``tokens`` and ``seconds`` of the run that wrote the file
    (``None`` where it does not say), and that run's own ``origin`` if it had one.
    """

    path: Path
    config: ModelConfig
    weights: dict[str, torch.Tensor]
    origin: dict[str, Any]

    def tokenizer(self) -> TextTokenizer:
        """Return the tokenizer beside the weights, the only one whose tokens they know.

        Raises
        ------
        ValueError
            If there is none, or it is another model's.
        """
        path = self.path.with_name("tokenizer.json")
        if not path.exists():
            raise ValueError(
                f"there is no tokenizer.json beside {self.path}: copy there the one that the "
                "weights were trained with"
            )
        tokenizer = TextTokenizer.load(path)
        if tokenizer.vocab_size != self.config.vocab_size:
            raise ValueError(
                f"{path} has {tokenizer.vocab_size} entries, {self.path.name} knows "
                f"{self.config.vocab_size}: put the tokenizer there that the weights were "
                "trained with"
            )
        return tokenizer


def read_start(path: Path) -> Start:
    """Read ``weights.safetensors`` or ``checkpoint.safetensors``; a folder stands for the first.

    Raises
    ------
    ValueError
        If the file is missing, damaged, in parts or no model of ours; the message names it and
        says what to do.
    """
    path = path / WEIGHTS_FILE if path.is_dir() else path
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file; name one that a training has written")
    if path.suffix.startswith(".part"):
        whole = path.with_suffix("").name
        raise ValueError(f"{path} is one part of a file: join them, cat {whole}.part* > {whole}")
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata()
            config = ModelConfig(**json.loads(header["config"]))
            made = dict(json.loads(header["made" if "made" in header else "run"]))
            prefix = "" if "made" in header else "model."
            names = {name for name in file.keys() if name.startswith(prefix)}  # noqa: SIM118
            weights = {n.removeprefix(prefix): file.get_tensor(n).float() for n in names}
    except UNREADABLE as error:
        raise ValueError(
            f"{path} is damaged or no model of ours: name a weights.safetensors or a "
            "checkpoint.safetensors that `python -m andrea train` has written"
        ) from error
    with torch.device("meta"):
        wanted = {name: p.shape for name, p in Andrea(config).named_parameters()}
    for name in sorted(wanted.keys() | weights.keys()):
        if name not in wanted or name not in weights or weights[name].shape != wanted[name]:
            raise ValueError(f"{path} does not fit its own description at {name}: take another")
    origin: dict[str, Any] = {"file": path.name, "sha256": file_sha256(path)}
    origin |= {name: made.get(name) for name in ("step", "tokens", "seconds")}
    origin |= {"origin": made["origin"]} if made.get("origin") else {}
    return Start(path, config, weights, origin)


def read_checkpoint(
    path: Path, device: torch.device
) -> tuple[dict[str, torch.Tensor], dict[str, Any], dict[str, Any]]:
    """Return a checkpoint's tensors, its counters and its model's configuration.

    Raises
    ------
    ValueError
        If the file is damaged or no checkpoint; the message names it and says what to do.
    """
    try:
        with safe_open(path, "pt", device=str(device)) as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            header = file.metadata()
            return tensors, json.loads(header["run"]), json.loads(header["config"])
    except UNREADABLE as error:
        raise ValueError(
            f"{path} is damaged and cannot be continued ({error}); "
            "delete it to start again, or choose another --out folder"
        ) from error
