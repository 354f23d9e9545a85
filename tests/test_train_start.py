"""A run that begins from weights: the same model to start with, its own counters from there on."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from andrea import __main__ as terminal
from andrea import sources
from andrea.checkpoint import read_start
from andrea.config import ModelConfig
from andrea.corpus import Stream, tokenise
from andrea.model import Andrea
from andrea.requests import ModelRequest
from andrea.tokenizer import TextTokenizer, train_tokenizer
from andrea.train import summary
from andrea.trainer import Recipe, Trainer

SHAPE = ["--n-layer", "2", "--d-model", "32", "--n-head", "2", "--vocab-size", "280"]
BRIEF = ["--batch", "4", "--warmup", "2", "--precision", "float32", "--log-every", "1"]
RECIPE = Recipe(steps=12, batch=4, context=32, warmup=2, precision="float32", log_every=1)


def story(nouns: str, seed: int) -> str:
    pick = random.Random(seed).choice
    lines = (f"The {pick(nouns.split())} sees the {pick(nouns.split())}." for _ in range(900))
    return "\n".join(lines)


def train(*arguments: object) -> int:
    return terminal.main(["train", *map(str, arguments)])


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of 12 steps: weights, checkpoint, tokenizer."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "old.txt").write_text(story("cat dog king river", 0), encoding="utf-8")
    (folder / "new.txt").write_text(story("moon dog road river", 1), encoding="utf-8")
    command = ["--text", folder / "old.txt", "--out", folder / "run", "--context", 32, *SHAPE]
    assert train(*command, *BRIEF, "--steps", 12) == 0
    return folder


@pytest.fixture
def begin(source: Path, tmp_path: Path) -> Any:
    """Return a function that begins a run from a file of the source, in a folder of its own."""
    start = read_start(source / "run")
    stream: Stream = tokenise("new", (source / "new.txt").read_text(), start.tokenizer())

    def run(folder: str, file: str) -> Trainer:
        chosen = read_start(source / "run" / file)
        (tmp_path / folder).mkdir(exist_ok=True)
        place = tmp_path / folder
        trainer = Trainer(chosen.config, RECIPE, [stream], [stream], place, torch.device("cpu"))
        if not trainer.resume():
            trainer.begin_from(chosen)
        return trainer

    return run


def header(path: Path) -> dict[str, Any]:
    return sources.read_header(path)[1]


def logged(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


# -- the first loss is the source's ----------------------------------------------------------------


def test_the_first_loss_is_that_of_the_weights(source, begin, monkeypatch) -> None:
    """The same batch, read by the model as the site loads it: no weight lost on the way."""
    trainer = begin("run", "weights.safetensors")
    batch = trainer.batch()
    monkeypatch.setenv("ANDREA_WEIGHTS", str(source / "run"))
    loaded = sources.load(ModelRequest())
    with torch.no_grad():
        logits = loaded.model(batch[:, :-1])
    expected = float(F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten()))
    first = trainer.take_step()
    assert first["loss"] == pytest.approx(expected, rel=1e-5)
    fresh = Trainer(
        trainer.model.config, RECIPE, trainer.train, [], trainer.folder, torch.device("cpu")
    )
    assert fresh.take_step()["loss"] > expected + 0.5  # what weights that know nothing lose


def test_a_checkpoint_is_begun_from_in_full_precision(source, begin) -> None:
    start = read_start(source / "run" / "checkpoint.safetensors")
    trainer = begin("run", "checkpoint.safetensors")
    for name, parameter in trainer.model.named_parameters():
        assert torch.equal(parameter, start.weights[name]), name
    exported = read_start(source / "run" / "weights.safetensors")
    assert any(not torch.equal(start.weights[n], w) for n, w in exported.weights.items())  # halves
    for name, weight in exported.weights.items():
        assert torch.equal(start.weights[name].half().float(), weight), name


def test_optimisers_and_counters_are_fresh(source, begin) -> None:
    trainer = begin("run", "checkpoint.safetensors")
    assert (trainer.step, trainer.tokens, trainer.seconds) == (0, 0, 0.0)
    assert all(not optimiser.state for optimiser in trainer.optimisers)
    assert trainer.take_step()["rate"] == 0.5  # the first of two steps of warmup


def test_stopping_and_resuming_goes_on_and_does_not_begin_again(begin) -> None:
    whole = begin("whole", "weights.safetensors")
    list(whole.run())
    part = begin("parts", "weights.safetensors")
    for _ in range(5):
        part.take_step()
    part.save()
    again = begin("parts", "weights.safetensors")
    assert (again.step, again.origin) == (5, part.origin)
    list(again.run())
    for (name, a), b in zip(whole.model.named_parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b), name


def test_weights_that_have_learned_are_said_to_need_few_readings(begin) -> None:
    trainer = begin("run", "weights.safetensors")
    a_reading = len(trainer.train[0].tokens) / (RECIPE.batch * RECIPE.context)  # in steps
    for readings, said in ((3, False), (5, True), (41, True)):
        trainer.recipe = replace(RECIPE, steps=round(readings * a_reading))
        assert ("by heart" in summary(trainer)) is said
    steps = int(re.search(r"--steps (\d+)", summary(trainer)).group(1))  # type: ignore[union-attr]
    assert steps == pytest.approx(4 * a_reading, abs=1)
    trainer.origin, trainer.recipe = None, replace(RECIPE, steps=round(39 * a_reading))
    assert "by heart" not in summary(trainer)  # a fresh model may read it that often


# -- the command -----------------------------------------------------------------------------------


def test_the_command_keeps_where_the_weights_come_from(source, tmp_path, capsys) -> None:
    out, file = tmp_path / "out", source / "run" / "weights.safetensors"
    command = ["--text", source / "new.txt", "--out", out, "--start-from", file, *BRIEF]
    assert train(*command, "--steps", 3) == 0
    assert train(*command, "--steps", 5) == 0  # the same command goes on
    printed = capsys.readouterr().err
    assert "weights.safetensors, which have seen 1,536 tokens" in printed
    assert "continuing at step 3" in printed
    assert [line["step"] for line in logged(out)] == [1, 2, 3, 4, 5]
    made = header(out / "weights.safetensors")
    assert (made["step"], made["tokens"], made["recipe"]["context"]) == (5, 5 * 4 * 32, 32)
    origin = made["origin"]
    assert origin["sha256"] == sources.file_sha256(file)
    assert (origin["file"], origin["step"], origin["tokens"]) == (file.name, 12, 12 * 4 * 32)
    kept, beside = out / "tokenizer.json", source / "run" / "tokenizer.json"
    assert kept.read_bytes() == beside.read_bytes()

    # A run from that run keeps the whole descent; a folder stands for its weights.
    third = tmp_path / "third"
    begun = ["--text", source / "old.txt", "--out", third, "--start-from", out, *BRIEF]
    assert train(*begun, "--steps", 1, "--tokenizer", beside, "--d-model", 32) == 0
    assert header(third / "weights.safetensors")["origin"]["origin"] == origin


def test_the_first_loss_of_the_command_is_low(source, tmp_path) -> None:
    """On its own text again: what was learned is there from the first step on."""
    out = tmp_path / "out"
    command = ["--text", source / "old.txt", "--out", out, *BRIEF, "--steps", 1]
    assert train(*command, "--start-from", source / "run" / "checkpoint.safetensors") == 0
    before = logged(source / "run")
    assert logged(out)[0]["loss"] < before[0]["loss"] - 1
    assert logged(out)[0]["loss"] == pytest.approx(before[-1]["loss"], abs=0.5)


# -- what is refused -------------------------------------------------------------------------------


@pytest.fixture
def refused(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs a command which must be refused, and returns its one line."""

    def run(start: Path, *arguments: object, out: Path = tmp_path / "out") -> str:
        capsys.readouterr()
        command = ["--text", source / "new.txt", "--out", out, *BRIEF, "--steps", 1]
        assert train(*command, "--start-from", start, *arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == "" and not (tmp_path / "out" / "weights.safetensors").exists()
        complaints = [line for line in printed.err.splitlines() if not line.endswith(" ...")]
        assert len(complaints) == 1 and complaints[0].startswith("andrea: ")
        return complaints[0]

    return run


@pytest.mark.parametrize(
    ("flag", "value", "held"),
    [("--n-layer", 6, 2), ("--d-model", 64, 32), ("--n-head", 4, 2), ("--vocab-size", 300, 280)],
)
def test_another_shape_is_refused(source, refused, flag, value, held) -> None:
    said = refused(source / "run", flag, value)
    assert f"{flag} is {value}, but" in said and f"has {held}: leave it out" in said


def test_more_context_than_the_weights_read_is_refused(source, refused) -> None:
    said = refused(source / "run", "--context", 64)
    assert "--context is 64" in said and "at most 32 tokens" in said


def test_the_tokenizer_must_be_the_one_of_the_weights(source, tmp_path, refused) -> None:
    other = tmp_path / "other.json"
    train_tokenizer([story("moon road", 2)], 270).save(other)
    assert "is not the one that" in refused(source / "run", "--tokenizer", other)
    assert "absent.json" in refused(source / "run", "--tokenizer", tmp_path / "absent.json")
    alone = tmp_path / "alone"
    alone.mkdir()
    weights = (source / "run" / "weights.safetensors").read_bytes()
    (alone / "weights.safetensors").write_bytes(weights)
    assert "no tokenizer.json beside" in refused(alone)
    TextTokenizer.load(other).save(alone / "tokenizer.json")
    said = refused(alone)
    assert "has 270 entries" in said and "knows 280" in said


@pytest.mark.parametrize(
    "damage", ["cut", "empty", "noise", "pickle", "foreign", "lacking", "misshapen"]
)
def test_a_wrong_file_is_named_with_what_to_do(source, tmp_path, refused, damage) -> None:
    path, whole = tmp_path / "mine.safetensors", source / "run" / "weights.safetensors"
    raw = whole.read_bytes()
    start = read_start(whole)
    described = {"config": json.dumps(start.config.as_dict()), "made": "{}"}
    if damage == "pickle":
        torch.save(start.weights, path)
    elif damage == "foreign":
        save_file(start.weights, path, {"format": "pt"})
    elif damage == "lacking":
        save_file({n: w for n, w in start.weights.items() if n != "wpe"}, path, described)
    elif damage == "misshapen":
        wpe = torch.zeros(16, 32)
        save_file({**start.weights, "wpe": wpe}, path, described)
    else:
        path.write_bytes({"cut": raw[:-100], "empty": b"", "noise": b"\xff" * 500}[damage])
    said = refused(path)
    assert "mine.safetensors" in said
    asked = "at wpe: take another" if damage in ("lacking", "misshapen") else "name a weights."
    assert asked in said


def test_what_is_no_file_or_only_a_part_of_one(source, tmp_path, refused) -> None:
    assert "no such file" in refused(tmp_path / "absent.safetensors")
    assert "weights.safetensors: there is no such file" in refused(tmp_path)
    part = tmp_path / "weights.safetensors.part00"
    part.write_bytes(b"x")
    assert "cat weights.safetensors.part* > weights.safetensors" in refused(part)


def test_the_source_is_not_written_over(source, refused) -> None:
    before = sources.file_sha256(source / "run" / "weights.safetensors")
    assert "choose another" in refused(source / "run", out=source / "run")
    assert sources.file_sha256(source / "run" / "weights.safetensors") == before


def test_a_run_that_began_from_something_else_is_not_mixed_in(source, tmp_path, refused) -> None:
    """The checkpoint and its export are two files: a run began from one or from the other."""
    out, run = tmp_path / "begun", source / "run"
    command = ["--text", source / "new.txt", "--out", out, *BRIEF, "--steps", 1, "--start-from"]
    assert train(*command, run / "checkpoint.safetensors") == 0
    said = refused(run / "weights.safetensors", out=out)
    assert "did not begin from" in said and "another --out" in said


def test_there_is_nothing_to_export_before_the_first_checkpoint(source, refused) -> None:
    assert "no checkpoint in" in refused(source / "run", "--export-only")


# -- in parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("megabytes", [0.001, 0.02, 15])
def test_parts_join_to_the_file_that_loads(tmp_path, megabytes, monkeypatch, capsys) -> None:
    model = Andrea(ModelConfig(n_layer=3, d_model=64, n_head=2, n_ctx=160, vocab_size=400), seed=1)
    path = tmp_path / "weights.safetensors"
    shipped = TextTokenizer.load(sources.SHIPPED / "tokenizer.json")
    shipped.truncated(400).save(tmp_path / "tokenizer.json")
    sources.save_weights(model, path, {"tokens": 1}, part_mb=0.0008)  # more parts, to be replaced
    sources.save_weights(model, path, {"tokens": 2}, part_mb=megabytes)
    sha256, size = sources.file_sha256(path), path.stat().st_size
    parts = sorted(tmp_path.glob("weights.safetensors.part*"))  # the order of `cat part*`
    assert len(parts) == -(-size // int(megabytes * 1e6))
    assert all(part.stat().st_size <= megabytes * 1e6 for part in parts)

    # Without the whole file the loader says how to make it; with it, it is the same model.
    path.unlink()
    monkeypatch.setenv("ANDREA_WEIGHTS", str(tmp_path))
    assert terminal.main(["trace", "ciao"]) == 2
    said = capsys.readouterr().err
    assert "in parts" in said and "cat weights.safetensors.part* > weights.safetensors" in said
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    assert sources.file_sha256(path) == sha256
    loaded = sources.load(ModelRequest())
    assert loaded.made == {"tokens": 2}
    for name, parameter in loaded.model.named_parameters():
        assert torch.equal(parameter, model.get_parameter(name).detach().half().float()), name


@pytest.mark.parametrize("megabytes", [0, -1, "nan"])
def test_an_impossible_size_of_parts_is_refused(source, refused, megabytes) -> None:
    assert "--part-mb is" in refused(source / "run", "--part-mb", megabytes)
