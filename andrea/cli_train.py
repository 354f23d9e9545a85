"""The options of ``python -m andrea train``, in words for someone who trains for the first time."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from andrea.config import PRESETS
from andrea.tokenizer import VOCAB_SIZE
from andrea.trainer import Recipe

DESCRIPTION = """\
Train a small model on your own text, and show it on the site.

  python -m andrea train --text story.txt --minutes 60

The text is plain UTF-8, the more the better: a megabyte is a start. Blank lines part paragraphs,
two blank lines part documents. Nothing else has to be chosen. Ctrl-C stops at any time; the same
command goes on where it stopped. Then

  ANDREA_WEIGHTS=runs/mine make run          shows your model on the site
  ANDREA_WEIGHTS=runs/mine make sample       lets it write

To go on from a model that has already learned, the one that ships for example,

  python -m andrea train --text story.txt --start-from andrea/weights --steps 50 \\
                         --lr 0.005 --lr-adam 0.00075

A short text is then enough. The model keeps its shape and its tokenizer; what it learned before
fades as it learns yours. With 90 kB of text, four readings at a quarter of the learning rates did
best; after more it knew the text by heart. The training says how many steps four readings are.

With one CPU core the default model learns from about 1,500 tokens a second (ANDREA_THREADS=2 uses
two cores); a smaller one is quicker: --n-layer 6 --d-model 128 --n-head 4. A CUDA device is used
where there is one.
"""

# What each field of the recipe means, for --help: those that a beginner may want, then the rest.
RUN_HELP = {
    "steps": "steps to take; each learns from BATCH windows of CONTEXT tokens",
    "minutes": "stop after so many minutes of training, if the steps are not done before",
    "batch": "windows of text a step",
    "context": "tokens in a window: how far back the model can read",
    "seed": "the same seed, text and machine give the same model",
}
RECIPE_HELP = {
    "lr": "learning rate of the blocks' matrices (Muon)",
    "lr_adam": "learning rate of everything else (AdamW)",
    "warmup": "steps over which the learning rates rise",
    "flat": "share of the run with the full learning rates; then they fall to 5 %%",
    "clip": "largest norm of a gradient",
    "precision": "float32, bfloat16, or auto: what is quicker here",
    "checkpoint_minutes": "minutes between checkpoints",
    "log_every": "steps between lines of log.jsonl",
    "valid_every": "steps between measurements on held-out text",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m andrea train``."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = DESCRIPTION
    add = parser.add_argument_group("the text").add_argument
    add("--text", nargs="+", type=Path, required=True, metavar="FILE", help="text to learn from")
    held = "held-out text, one for each --text file (default: the end of each text)"
    add("--valid", nargs="+", type=Path, metavar="FILE", help=held)
    add(
        "--out",
        type=Path,
        default=Path("runs/mine"),
        metavar="FOLDER",
        help="folder of the run (%(default)s)",
    )
    start = "begin with these weights: a weights.safetensors, a checkpoint.safetensors or a folder"
    add("--start-from", type=Path, metavar="FILE", help=start)
    add_shape(parser.add_argument_group("the model (not with --start-from)"))
    add_recipe(parser)
    add = parser.add_argument_group("special").add_argument
    add("--tokenizer", type=Path, metavar="JSON", help="use this tokenizer, do not learn one")
    add("--sources", type=Path, metavar="TSV", help="table that weights the documents by tier")
    add("--export-only", action="store_true", help="write the weights of the checkpoint and stop")
    parts = "also write the weights in parts of at most MB megabytes; `cat` joins them again"
    add("--part-mb", type=float, metavar="MB", help=parts)


def add_shape(group: argparse._ArgumentGroup) -> None:
    """Add the options of the model's shape; what is not named stays ``None``."""
    mini = PRESETS["andrea-mini"]
    for name, help_text in (
        ("n_layer", "blocks"),
        ("d_model", "width of the stream"),
        ("n_head", "heads; they divide the width"),
    ):
        flag, shown = "--" + name.replace("_", "-"), getattr(mini, name)
        group.add_argument(flag, type=int, metavar="N", help=f"{help_text} ({shown})")
    size = f"vocabulary (default: {VOCAB_SIZE}, fewer for a short text)"
    group.add_argument("--vocab-size", type=int, metavar="N", help=size)


def add_recipe(parser: argparse.ArgumentParser) -> None:
    """Add the options of the run and its recipe, with the defaults of ``Recipe``."""
    groups = (("the run", RUN_HELP), ("the recipe (leave it, unless you know why)", RECIPE_HELP))
    defaults = {field.name: field.default for field in fields(Recipe)}
    for title, helps in groups:
        group = parser.add_argument_group(title)
        for name, help_text in helps.items():
            default = defaults[name]
            kind = {"minutes": float, "precision": str}.get(name, type(default))
            shown = "no limit" if default is None else default
            group.add_argument(
                "--" + name.replace("_", "-"),
                type=kind,
                default=None if name == "context" else default,  # a start has its own
                metavar="WORD" if kind is str else "N",
                help=f"{help_text} ({shown})",
            )
