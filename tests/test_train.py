"""Training, for real but tiny: it learns, stops and resumes, and writes weights that load back."""

import json
import math
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from andrea import __main__ as terminal
from andrea import corpus
from andrea.config import ModelConfig
from andrea.data import passages
from andrea.model import Andrea
from andrea.tokenizer import TextTokenizer, train_tokenizer
from andrea.train import Recipe, held_out_share, summary, vocabulary_for
from andrea.trainer import Trainer

ROOT = Path(__file__).parents[1]
RECIPE = Recipe(
    steps=40, batch=8, context=32, warmup=4, precision="float32", log_every=10, valid_every=20
)
SHAPE = ["--n-layer", "2", "--d-model", "32", "--n-head", "2", "--vocab-size", "280"]
BRIEF = ["--context", "32", "--batch", "4", "--warmup", "2", "--precision", "float32"]


def story(language: str, sentences: int = 500) -> str:
    """Return text with something to learn: a small grammar, drawn from a fixed seed."""
    words = {
        "en": ("The", ["cat", "dog", "king", "river"], ["sees", "likes", "follows"], "the"),
        "it": ("Il", ["gatto", "cane", "re", "fiume"], ["vede", "ama", "segue"], "il"),
    }
    first, nouns, verbs, the = words[language]
    pick = random.Random(language).choice
    lines = (f"{first} {pick(nouns)} {pick(verbs)} {the} {pick(nouns)}." for _ in range(sentences))
    return "\n".join(lines)


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return train_tokenizer([story("en"), story("it")], 300)


@pytest.fixture
def start(tmp_path, tokenizer) -> Callable[..., Trainer]:
    """Return a function that starts a run of two languages in a folder of its own."""
    config = ModelConfig(n_layer=2, d_model=32, n_head=2, n_ctx=32, vocab_size=300)
    pairs = {name: corpus.split_off(story(name), 0.1) for name in ("en", "it")}
    train = [corpus.tokenise(n, pair[0], tokenizer) for n, pair in pairs.items()]
    valid = [corpus.tokenise(n, pair[1], tokenizer) for n, pair in pairs.items()]

    def run(folder: str, recipe: Recipe = RECIPE, config: ModelConfig = config) -> Trainer:
        (tmp_path / folder).mkdir(exist_ok=True)
        return Trainer(config, recipe, train, valid, tmp_path / folder, torch.device("cpu"))

    return run


# -- learning ------------------------------------------------------------------------------------


def test_a_run_learns_and_logs(start):
    trainer = start("run", replace(RECIPE, steps=80, log_every=20, valid_every=40))
    fresh = trainer.validate()
    assert fresh == pytest.approx({"en": math.log(300), "it": math.log(300)}, rel=0.02)
    lines = list(trainer.run())
    assert [line["step"] for line in lines] == [20, 40, 60, 80]
    assert [line["tokens"] for line in lines] == [20 * 8 * 32 * k for k in (1, 2, 3, 4)]
    assert [set(line["valid"]) for line in lines if "valid" in line] == [{"en", "it"}] * 2
    # Better than knowing how frequent each token is, which leaves the order of words to be found.
    learned = trainer.validate()
    for held in trainer.valid:
        share = np.bincount(held.tokens) / len(held.tokens)
        frequencies = -float((share[share > 0] * np.log(share[share > 0])).sum())
        assert learned[held.name] < 0.8 * frequencies < fresh[held.name]
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert all(math.isfinite(line["grad_norm"]) for line in lines)


def test_every_weight_is_trained(start):
    trainer = start("run")
    before = {n: p.detach().clone() for n, p in trainer.model.named_parameters()}
    for _ in range(2):
        trainer.take_step()
    for name, p in trainer.model.named_parameters():
        if not name.endswith("b_K"):  # shifting every score of a row alike changes no attention
            assert not torch.equal(p, before[name]), name


def test_the_same_recipe_gives_the_same_weights_and_another_seed_others(start):
    def weights(folder: str, recipe: Recipe) -> dict[str, torch.Tensor]:
        trainer = start(folder, recipe)
        list(trainer.run())
        return trainer.model.state_dict()

    short = replace(RECIPE, steps=5)
    one, two = weights("one", short), weights("two", short)
    other = weights("three", replace(short, seed=1))
    assert all(torch.equal(one[n], two[n]) for n in one)
    assert not torch.equal(one["wte"], other["wte"])


def test_batches_take_as_many_windows_of_each_text(start, tokenizer):
    """Nine windows of two texts: five of one and four of the other, by turns."""
    trainer = start("run", replace(RECIPE, batch=9))
    english = set(tokenizer.encode("The cat sees the dog"))
    italian = set(tokenizer.encode("Il gatto vede il cane"))
    counts = []
    for trainer.step in range(4):
        batch = trainer.batch()
        assert batch.shape == (9, 33) and batch.dtype == torch.int64
        of_en = sum(len(english & set(w)) > len(italian & set(w)) for w in batch.tolist())
        counts.append(of_en)
    assert sorted(counts) == [4, 4, 5, 5]
    third = trainer.batch()
    assert torch.equal(third, trainer.batch())  # decided by the step alone, hence resumable
    trainer.step = 4
    assert not torch.equal(third, trainer.batch())  # and every step reads other windows


# -- the schedule ----------------------------------------------------------------------------------


def test_the_rate_warms_up_stays_and_falls_to_a_twentieth():
    recipe = Recipe(steps=100, warmup=10, flat=0.3)
    rates = [recipe.rate(step, step / 100) for step in range(101)]
    assert rates[:10] == pytest.approx([k / 10 for k in range(1, 11)])
    assert rates[10:31] == pytest.approx([1.0] * 21)
    assert rates[65] == pytest.approx(0.05 + 0.95 * 0.5)
    assert rates[100] == pytest.approx(0.05)
    assert rates[30:] == sorted(rates[30:], reverse=True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", 0),
        ("batch", -1),
        ("context", 0),
        ("lr", 0.0),
        ("lr", math.nan),
        ("lr_adam", -1.0),
        ("clip", math.inf),
        ("warmup", -1),
        ("flat", 1.5),
        ("minutes", 0.0),
        ("precision", "float8"),
    ],
)
def test_an_impossible_recipe_names_the_field_and_the_value(field, value):
    with pytest.raises(ValueError, match=rf"^{field} is {value!r}"):
        Recipe(**{field: value})


def test_a_time_budget_ends_a_run(start):
    trainer = start("run", replace(RECIPE, steps=10_000, minutes=0.01))
    list(trainer.run())
    assert trainer.seconds >= 0.6
    assert trainer.step < 10_000
    assert trainer.progress() == 1.0


# -- stopping and resuming -----------------------------------------------------------------------


def test_stop_and_resume_equals_never_stopping(start):
    """Weights, optimiser states and counters: exactly, not nearly."""
    whole = start("whole")
    list(whole.run())
    part = start("parts")
    for _ in range(17):
        part.take_step()
    part.save()
    again = start("parts")
    assert again.resume()
    assert (again.step, again.tokens) == (17, 17 * 8 * 32)
    assert again.processor_seconds == part.processor_seconds > 0
    list(again.run())
    for (name, a), b in zip(whole.model.named_parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b), name
    for a, b in zip(whole.optimisers, again.optimisers, strict=True):
        assert a.state_dict()["param_groups"] == b.state_dict()["param_groups"]
        for i, state in a.state_dict()["state"].items():
            for field, value in state.items():
                assert torch.equal(value, b.state_dict()["state"][i][field]), (i, field)


def test_a_checkpoint_from_before_a_counter_goes_on_without_it(start):
    """What was not counted from the beginning is not reported as if it had been."""
    trainer = start("run")
    trainer.take_step()
    trainer.save()
    path = trainer.folder / "checkpoint.safetensors"
    with safe_open(path, "pt") as file:
        header = file.metadata()
    run = json.loads(header["run"])
    del run["processor_seconds"], run["origin"]
    save_file(load_file(path), path, {**header, "run": json.dumps(run)})
    again = start("run")
    assert again.resume()
    again.take_step()
    assert (again.step, again.processor_seconds, again.origin) == (2, None, None)


def test_nothing_to_resume_is_a_fresh_start(start):
    assert not start("empty").resume()


def test_a_checkpoint_is_replaced_whole(start):
    trainer = start("run")
    trainer.take_step()
    trainer.save()
    trainer.save()
    assert [f.name for f in trainer.folder.iterdir()] == ["checkpoint.safetensors"]


def test_a_checkpoint_of_another_model_is_refused(start):
    trainer = start("run")
    trainer.save()
    other = ModelConfig(n_layer=1, d_model=32, n_head=2, n_ctx=32, vocab_size=300)
    with pytest.raises(ValueError, match="holds another model.*--out"):
        start("run", config=other).resume()


@pytest.mark.parametrize("damage", ["cut", "empty", "noise", "text"])
def test_a_damaged_checkpoint_is_named_with_what_to_do(start, damage):
    trainer = start("run")
    trainer.save()
    path = trainer.folder / "checkpoint.safetensors"
    raw = path.read_bytes()
    damaged = {"cut": raw[:-100], "empty": b"", "noise": b"\xff" * 500, "text": b"hello" * 99}
    path.write_bytes(damaged[damage])
    with pytest.raises(ValueError, match=r"checkpoint.safetensors is damaged.*delete it"):
        start("run").resume()


def test_a_loss_that_is_no_number_ends_the_run_in_words(start):
    trainer = start("run")
    with torch.no_grad():
        trainer.model.wte.fill_(math.inf)
    with pytest.raises(ValueError, match="no longer a number at step 1.*--lr"):
        list(trainer.run())


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def text(tmp_path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text(story("en", 1500), encoding="utf-8")
    return path


def train(*arguments: object) -> int:
    return terminal.main(["train", *map(str, arguments)])


def test_the_command_trains_resumes_and_exports(tmp_path, text, capsys):
    out = tmp_path / "out"
    command = ["--text", text, "--out", out, "--log-every", 2, *SHAPE, *BRIEF, "--steps"]
    assert train(*command, 6) == 0
    assert train(*command, 10) == 0  # the same command with more steps goes on
    printed = capsys.readouterr()
    assert "continuing at step 6" in printed.err
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [2, 4, 6, 8, 10]
    made = json.loads(printed.out.splitlines()[-1])
    assert made["step"] == 10 and made["texts"] == ["story.txt"]
    assert made["valid_loss"]["story"] < math.log(280)

    # What was written is the model: its logits, to the precision of float16.
    with safe_open(out / "weights.safetensors", "pt") as file:
        header = file.metadata()
    config = ModelConfig(**json.loads(header["config"]))
    assert json.loads(header["made"])["step"] == 10
    exported = load_file(out / "weights.safetensors")
    assert {t.dtype for t in exported.values()} == {torch.float16}
    checkpoint = load_file(out / "checkpoint.safetensors")
    models = []
    for tensors in (exported, {n.removeprefix("model."): t for n, t in checkpoint.items()}):
        models.append(Andrea(config))
        wanted = models[-1].state_dict()
        models[-1].load_state_dict({n: tensors[n].float() for n in wanted})
    ids = torch.tensor([TextTokenizer.load(out / "tokenizer.json").encode("The cat sees")])
    with torch.no_grad():
        small, full = (model(ids) for model in models)
    assert 0 < (small - full).abs().max() < 2e-2
    assert (small - full).abs().max() < 0.01 * full.abs().max()


def test_export_only_and_parts_that_join_again(tmp_path, text, capsys):
    out = tmp_path / "out"
    command = ["--text", text, "--out", out, *SHAPE, *BRIEF, "--steps", 2]
    assert train(*command) == 0
    whole = (out / "weights.safetensors").read_bytes()
    assert train(*command, "--export-only", "--part-mb", 0.02) == 0
    assert (out / "weights.safetensors").read_bytes()[-1000:] == whole[-1000:]
    parts = sorted(out.glob("weights.safetensors.part*"))
    assert len(parts) > 1 and all(p.stat().st_size <= 20_000 for p in parts)
    joined = b"".join(p.read_bytes() for p in parts)
    assert joined == (out / "weights.safetensors").read_bytes()


def test_ctrl_c_keeps_what_was_learned(tmp_path, text, capsys, monkeypatch):
    take_step, out = Trainer.take_step, tmp_path / "out"

    def interrupted(self: Trainer) -> dict[str, float]:
        if self.step == 3:
            raise KeyboardInterrupt
        return take_step(self)

    monkeypatch.setattr(Trainer, "take_step", interrupted)
    command = ["--text", text, "--out", out, *SHAPE, *BRIEF, "--steps", 6]
    assert train(*command) == 0
    assert "stopped at step 3; the same command continues" in capsys.readouterr().err
    monkeypatch.setattr(Trainer, "take_step", take_step)
    assert train(*command) == 0
    assert "continuing at step 3" in capsys.readouterr().err


def test_a_short_text_gets_a_small_vocabulary_and_a_window_of_held_out_text(tmp_path, capsys):
    out, path = tmp_path / "out", tmp_path / "poem.txt"
    path.write_text("\n\n\n".join(passages("it")), encoding="utf-8")
    size = len(path.read_text(encoding="utf-8"))
    shape = ["--n-layer", "1", "--d-model", "16", "--n-head", "2", "--context", "150"]
    assert train("--text", path, "--out", out, *shape, "--steps", 3, "--warmup", 1) == 0
    printed = capsys.readouterr()
    assert f"vocabulary {257 + size // 80:,}" in printed.err
    assert "on the site: ANDREA_WEIGHTS=" in printed.err
    made = json.loads(printed.out)
    assert made["valid_loss"]["poem"] < math.log(257 + size // 80)
    assert made["device_name"] and made["threads"] == 1

    # The site and the terminal read it: the folder is all that they need.
    command = [sys.executable, "-m", "andrea", "trace", "una parola " * 99, "--json"]
    env = {**os.environ, "ANDREA_WEIGHTS": str(out)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["labels"]) == 129

    # What the folder's tokenizer cannot be is said, not ignored.
    other = refused(capsys, "--text", path, "--out", out, *shape, "--vocab-size", 300)
    assert "--vocab-size is 300" in other and "another --out" in other


def test_how_much_is_held_out():
    assert held_out_share("x" * 10_000_000, 256) == 0.02
    assert held_out_share("x" * 40_000, 256) == 8 * 257 / 40_000
    assert held_out_share("x" * 1000, 256) == 0.2
    assert vocabulary_for(["x" * 10_000_000]) == 8449
    assert vocabulary_for(["x" * 40_000, "y" * 40_000]) == 1257
    assert vocabulary_for(["x" * 79]) == 257


def test_a_text_that_will_be_known_by_heart_is_announced(start):
    assert "by heart" not in summary(start("run", replace(RECIPE, steps=10)))
    lines = summary(start("run", replace(RECIPE, steps=100_000)))
    steps = int(re.search(r"--steps (\d+)", lines).group(1))
    assert "by heart" not in summary(start("run", replace(RECIPE, steps=steps - 5)))


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must be refused and return its one line."""
    capsys.readouterr()
    assert train(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    complaints = [line for line in printed.err.splitlines() if not line.endswith(" ...")]
    assert len(complaints) == 1 and complaints[0].startswith("andrea: ")
    return complaints[0]


def test_bad_input_is_one_line_and_status_2(tmp_path, text, capsys):
    out = tmp_path / "out"

    def complaint(*arguments: object, text: Path = text) -> str:
        return refused(capsys, "--text", text, "--out", out, *SHAPE, *BRIEF, *arguments)

    empty, short = tmp_path / "empty.txt", tmp_path / "short.txt"
    empty.write_text("")
    short.write_text(story("en", 8))
    assert "missing.txt: cannot be read" in complaint(text=tmp_path / "missing.txt")
    assert "empty.txt: is empty" in complaint(text=empty)
    assert not out.exists()  # nothing is made before the text is known to be one
    assert "text gives only" in complaint("--vocab-size", 8449)
    assert "short (held-out part): gives" in complaint(text=short)
    assert "n_head is 5" in complaint("--n-head", 5)
    twin = tmp_path / "twin" / "story.md"
    twin.parent.mkdir(exist_ok=True)
    twin.write_text(story("en"))
    twins = refused(capsys, "--text", text, twin, "--out", out, *SHAPE, *BRIEF)
    assert "two --text files are called story" in twins
    assert "one file for each --text" in complaint("--valid", text, text)
    assert "absent.json" in complaint("--tokenizer", tmp_path / "absent.json")
    assert "absent.tsv" in complaint("--sources", tmp_path / "absent.tsv")
    assert "steps is 0" in complaint("--steps", 0)
    assert "cannot be made" in complaint("--out", text / "inside-a-file")
    assert not (out / "log.jsonl").exists()  # and no step was taken


def test_a_real_process_answers_bad_input_with_status_2(tmp_path):
    command = [sys.executable, "-m", "andrea", "train", "--text", "missing.txt"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "andrea: missing.txt: cannot be read (No such file or directory)"
    ]
