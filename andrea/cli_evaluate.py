"""``python -m andrea evaluate`` and ``card``: measure a trained model, and write its card."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from andrea import card, corpus, device, evaluate, sources
from andrea.errors import InputError
from andrea.requests import ModelRequest
from andrea.tokenizer import TextTokenizer

Texts = dict[str, tuple[corpus.Stream, str]]


def add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``evaluate``."""
    add = parser.add_argument
    add("--valid", nargs="+", type=Path, required=True, metavar="FILE", help="held-out texts")
    add("--train", nargs="+", type=Path, required=True, metavar="FILE", help="their training texts")
    add("--out", type=Path, default=Path("runs/evaluation"), help="folder (%(default)s)")
    add("--log", type=Path, metavar="JSONL", help="the training's log, for the picture of losses")
    add("--study", nargs="*", type=Path, default=[], metavar="FOLDER", help="runs to compare")
    add("--hardware", default="", metavar="TEXT", help="what the model was trained on, in words")
    add("--positions", type=int, default=200, help="held-out positions of the lens (%(default)s)")


def named(paths: list[Path], tokenizer: TextTokenizer) -> Texts:
    """Read and tokenise texts; ``en-valid.txt.xz`` and ``en.txt`` are both called ``en``."""
    found: Texts = {}
    for path in paths:
        name = path.name.split(".")[0].removesuffix("-valid")
        if name in found:
            raise InputError("There are two texts called {name}: rename one.", name=name)
        print(f"reading {path.name} ...", file=sys.stderr)
        text = corpus.read_text(path)
        found[name] = (corpus.tokenise(name, text, tokenizer), text)
    return found


def study_row(folder: Path) -> dict[str, Any]:
    """Return what a finished run says of itself: shape, recipe, losses."""
    config, made = sources.read_header(folder / "weights.safetensors")
    return {"name": folder.name, "config": config.as_dict(), "made": made}


def run_evaluate(args: argparse.Namespace) -> None:
    """Measure the trained model and write ``evaluation.json``."""
    started = time.perf_counter()
    if args.positions < 1:
        raise InputError(
            "{value} positions are not possible: choose 1 or more.", value=args.positions
        )
    loaded = sources.load(ModelRequest())
    valid, train = (named(paths, loaded.tokenizer) for paths in (args.valid, args.train))
    for name in valid:
        if name not in train:
            raise InputError(
                "There is no training text for {name}: add it after --train.", name=name
            )
    folder = sources.weights_folder()
    document: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "weights_sha256": loaded.sha256,
        "weights_bytes": (folder / "weights.safetensors").stat().st_size,
        "tokenizer_sha256": sources.file_sha256(folder / "tokenizer.json"),
        "config": loaded.model.config.as_dict(),
        "n_parameters": sources.n_parameters(loaded.model.config),
        "made": loaded.made,
        "hardware": args.hardware,
        "train_tokens": {name: len(stream.tokens) for name, (stream, _) in train.items()},
        "settings": evaluate.SETTINGS,
    }
    with device.job():
        document["lens"] = asdict(
            evaluate.lens_test(loaded, [stream for stream, _ in valid.values()], args.positions)
        )
        document["languages"] = {}
        for name, (held, _) in valid.items():
            print(f"measuring {name} ...", file=sys.stderr)
            report = evaluate.language_report(loaded, name, held, train)
            document["languages"][name] = asdict(report)
    document["curve"] = evaluate.curve(evaluate.read_log(args.log) if args.log else [])
    document["study"] = [study_row(folder) for folder in args.study]
    document["device_name"], document["seconds"] = device.name(), time.perf_counter() - started
    write(args.out, {"evaluation.json": json.dumps(document, ensure_ascii=False, indent=1) + "\n"})
    for name, report in document["languages"].items():
        bar = report["kneser_ney"]["4"]
        print(f"{name}: {report['loss']:.3f} nats a token; Kneser-Ney 4-gram {bar:.3f}")
    print(f"written: {args.out / 'evaluation.json'}")


def write(folder: Path, files: dict[str, str]) -> None:
    """Write text files into a folder, made if need be.

    Raises
    ------
    InputError
        Naming the folder, if it cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(
            "The folder {folder} cannot be written to ({reason}).",
            folder=folder.name,
            reason=error.strerror,
        ) from error


def add_card(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``card``."""
    add = parser.add_argument
    add("--evaluation", type=Path, required=True, metavar="JSON", help="what evaluate wrote")
    add("--sources", type=Path, required=True, metavar="TSV", help="the table of the texts")
    add("--out", type=Path, default=sources.SHIPPED, help="folder (default: the shipped weights')")


def run_card(args: argparse.Namespace) -> None:
    """Write the card, its pictures, the list of texts, and beside them what was measured."""
    try:
        text = args.evaluation.read_text(encoding="utf-8")
        evaluation = json.loads(text)
    except (OSError, ValueError) as error:
        raise InputError(
            "The file {file} cannot be read: make it with `python -m andrea evaluate`.",
            file=args.evaluation.name,
        ) from error
    notes = args.out / "notes.md"
    written = notes.read_text(encoding="utf-8").strip() if notes.exists() else ""
    files = card.files(evaluation, card.read_sources(args.sources), written)
    files["evaluation.json"] = text
    write(args.out, files)
    print("written: " + ", ".join(files))
