"""Train a model on plain text: the command that made ``andrea-mini``, for a CPU or a CUDA device.

It learns a tokenizer, or takes one, trains (``andrea/trainer.py``), and writes the weights with
what made them. Progress is a bar on stderr and one JSON line a log step in ``log.jsonl``. The
options are in ``andrea/cli_train.py``.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from dataclasses import asdict, fields
from typing import Any

import torch

from andrea import corpus, device, sources
from andrea.checkpoint import Start, read_start
from andrea.config import PRESETS, ModelConfig
from andrea.tokenizer import FIRST_MERGE_ID, VOCAB_SIZE, TextTokenizer, train_tokenizer
from andrea.trainer import Recipe, Trainer

CHARACTERS_AN_ENTRY = 80  # about 25 occurrences of each token: fewer, and it is not learned
HELD_OUT = (0.02, 0.2)  # the share of a text that is held out: of a long one, of a short one
LEARNED_BY_HEART = 40  # readings of the same text after which a fresh model knows it by heart
READ_ENOUGH = 4  # the same for weights that have learned: on 90 kB, held-out loss rose after this


def held_out_share(text: str, context: int) -> float:
    """Return the share of a text to hold out: 2 %, more of a short one, at most a fifth.

    A short text needs more, so that what is held out fills a window (eight characters a token are
    more than enough).
    """
    least, most = HELD_OUT
    return min(most, max(least, 8 * (context + 1) / len(text)))


def vocabulary_for(texts: list[str]) -> int:
    """Return how many entries the texts can teach: 8449, fewer where they are short."""
    return min(VOCAB_SIZE, FIRST_MERGE_ID + sum(map(len, texts)) // CHARACTERS_AN_ENTRY)


def get_tokenizer(args: argparse.Namespace, texts: list[str], start: Start | None) -> TextTokenizer:
    """Load the start's tokenizer, the one that was named or kept in the folder, or learn one."""
    kept = args.out / "tokenizer.json"
    if start:
        tokenizer = start.tokenizer()
        if args.tokenizer and TextTokenizer.load(args.tokenizer).to_json() != tokenizer.to_json():
            raise ValueError(
                f"--tokenizer {args.tokenizer} is not the one that {start.path} was trained with: "
                "leave it out, since the one beside the weights is used"
            )
        return tokenizer
    if args.tokenizer or kept.exists():
        tokenizer = TextTokenizer.load(args.tokenizer or kept)
        if args.vocab_size not in (None, tokenizer.vocab_size):
            raise ValueError(
                f"--vocab-size is {args.vocab_size}, but {(args.tokenizer or kept).name} has "
                f"{tokenizer.vocab_size} entries: leave it out, or choose another --out folder"
            )
        return tokenizer
    print("learning the tokenizer ...", file=sys.stderr)
    paragraphs = (p + "\n\n" for text in texts for p in text.split("\n\n"))
    return train_tokenizer(paragraphs, args.vocab_size or vocabulary_for(texts))


def get_config(
    args: argparse.Namespace, recipe: Recipe, vocab_size: int, start: Start | None
) -> ModelConfig:
    """Return the start's shape, or what was asked for, by default that of ``andrea-mini``.

    Raises
    ------
    ValueError
        If what was asked for is impossible, or is not the start's.
    """
    names = ("n_layer", "d_model", "n_head", "vocab_size")
    asked = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if start is None:
        fixed = {"n_ctx": recipe.context, "vocab_size": vocab_size}
        return PRESETS["andrea-mini"].with_(**{**asked, **fixed})
    for name, value in asked.items():
        held = getattr(start.config, name)
        if value != held:
            raise ValueError(
                f"--{name.replace('_', '-')} is {value}, but {start.path} has {held}: leave it "
                "out, since the file decides the shape"
            )
    if recipe.context > start.config.n_ctx:
        raise ValueError(
            f"--context is {recipe.context}, but {start.path} reads at most "
            f"{start.config.n_ctx} tokens: choose at most so many"
        )
    return start.config


def load_streams(
    args: argparse.Namespace, tokenizer: TextTokenizer, texts: list[str], context: int
) -> tuple[list[corpus.Stream], list[corpus.Stream]]:
    """Tokenise the training and validation text, named by language or file."""
    train: list[corpus.Stream] = []
    valid: list[corpus.Stream] = []
    if args.valid and len(args.valid) != len(args.text):
        raise ValueError("--valid needs one file for each --text file, in the same order")
    for i, (path, text) in enumerate(zip(args.text, texts, strict=True)):
        name = path.name.split(".")[0]
        if name in (stream.name for stream in train):
            raise ValueError(f"two --text files are called {name}: rename one of them")
        weights = corpus.tier_weights(args.sources, name) if args.sources else None
        if args.valid:
            held = corpus.read_text(args.valid[i])
        else:
            text, held = corpus.split_off(text, held_out_share(text, context))
        print(f"tokenising {path.name} ...", file=sys.stderr)
        train.append(corpus.tokenise(name, text, tokenizer, weights))
        valid.append(corpus.tokenise(name, held, tokenizer))
    return train, valid


def main(args: argparse.Namespace) -> None:
    """Run ``python -m andrea train`` with parsed arguments."""
    from tqdm import tqdm

    start = get_start(args)
    chosen = {f.name: getattr(args, f.name) for f in fields(Recipe)}
    if args.context is None:
        chosen["context"] = start.config.n_ctx if start else Recipe.context
    recipe = Recipe(**chosen)
    texts = [corpus.read_text(path) for path in args.text]
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{args.out}: cannot be made ({error.strerror})") from error
    tokenizer = get_tokenizer(args, texts, start)
    config = get_config(args, recipe, tokenizer.vocab_size, start)
    train, valid = load_streams(args, tokenizer, texts, recipe.context)
    torch.set_num_threads(device.threads())
    place = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    trainer = Trainer(config, recipe, train, valid, args.out, place)
    begin(trainer, start, args.export_only)
    tokenizer.save(args.out / "tokenizer.json")  # not before the text has proved long enough
    print(summary(trainer), file=sys.stderr)
    if not args.export_only:
        log_and_run(trainer, tqdm(total=100, unit="%", disable=not sys.stderr.isatty()))
    export(trainer, args)


def get_start(args: argparse.Namespace) -> Start | None:
    """Read what ``--start-from`` names, and refuse what would write over it."""
    if args.part_mb is not None and not 0 < args.part_mb < math.inf:
        raise ValueError(f"--part-mb is {args.part_mb}: it must be above 0, 15 for example")
    if args.start_from is None:
        return None
    start = read_start(args.start_from)
    if start.path.parent.resolve() == args.out.resolve():
        raise ValueError(
            f"--out {args.out} is the folder of --start-from, which would be overwritten: choose "
            "another (to continue a run, repeat the command that began it)"
        )
    return start


def begin(trainer: Trainer, start: Start | None, must_exist: bool) -> None:
    """Continue the folder's checkpoint where there is one, else begin from the start's weights.

    Raises
    ------
    ValueError
        If the checkpoint's run began from something else, or there must be one and is none.
    """
    if trainer.resume():
        began = trainer.origin["sha256"] if trainer.origin else None
        if start and start.origin["sha256"] != began:
            raise ValueError(
                f"the run in {trainer.folder} did not begin from {start.path}: leave --start-from "
                "out to continue it, or choose another --out folder"
            )
        print(f"continuing at step {trainer.step}", file=sys.stderr)
    elif must_exist:
        raise ValueError(f"there is no checkpoint in {trainer.folder} to write the weights of")
    elif start:
        trainer.begin_from(start)


def summary(trainer: Trainer) -> str:
    """Say in a few lines what will be trained on what, and how often the text will be read."""
    learned, held = (sum(len(s.tokens) for s in part) for part in (trainer.train, trainer.valid))
    config, recipe = trainer.model.config, trainer.recipe
    size = sum(p.numel() for p in trainer.model.parameters())
    readings = recipe.steps * recipe.batch * recipe.context / learned
    lines = [
        f"text      {learned:,} tokens to learn from, {held:,} held out",
        f"model     {size:,} parameters, {config.n_layer} blocks, width {config.d_model}, "
        f"vocabulary {config.vocab_size:,}",
        f"run       {recipe.steps:,} steps read the text {readings:,.1f} times",
    ]
    if trainer.origin:
        seen = trainer.origin["tokens"]
        so_far = f", which have seen {seen:,} tokens" if seen else ""
        lines.insert(2, f"from      the weights of {trainer.origin['file']}{so_far}")
    most = READ_ENOUGH if trainer.origin else LEARNED_BY_HEART
    if readings > most and recipe.minutes is None:
        enough = max(1, round(recipe.steps * most / readings))
        lines.append(
            f"          that often, it will be learned by heart: --steps {enough} may be enough"
        )
    return "\n".join(lines)


def log_and_run(trainer: Trainer, bar: Any) -> None:
    """Train, writing the log and moving the bar; Ctrl-C keeps what was learned."""
    try:
        with (trainer.folder / "log.jsonl").open("a", encoding="utf-8") as log:
            for line in trainer.run():
                log.write(json.dumps(line) + "\n")
                log.flush()
                bar.n = round(100 * trainer.progress(), 1)
                bar.set_postfix_str(f"loss {line['loss']:.3f}")
    except KeyboardInterrupt:
        trainer.save()
        print(f"\nstopped at step {trainer.step}; the same command continues", file=sys.stderr)
    finally:
        bar.close()


def export(trainer: Trainer, args: argparse.Namespace) -> None:
    """Write ``weights.safetensors`` (float16) with what made it in its header."""
    same = trainer.device.type == device.device().type
    made = {
        "recipe": asdict(trainer.recipe),
        "origin": trainer.origin,
        "step": trainer.step,
        "tokens": trainer.tokens,
        "seconds": round(trainer.seconds),
        "processor_seconds": trainer.processor_seconds and round(trainer.processor_seconds),
        "device": trainer.device.type,
        "device_name": device.name() if same else platform.processor(),
        "threads": device.threads(),
        "precision": str(trainer.dtype).removeprefix("torch."),
        "date": time.strftime("%Y-%m-%d"),
        "texts": [path.name for path in args.text],
        "valid_loss": trainer.validate(None),
    }
    path = args.out / sources.WEIGHTS_FILE
    sources.save_weights(trainer.model, path, made, part_mb=args.part_mb)
    written = {"written": str(path), "sha256": sources.file_sha256(path)}
    print(json.dumps({**written, **made}))
    print(f"on the site: ANDREA_WEIGHTS={args.out} make run", file=sys.stderr)
