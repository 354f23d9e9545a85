"""What the card's numbers are made of: losses, ranks, samples and the log, each by another way."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from andrea import evaluate, sources
from andrea.__main__ import main
from andrea.config import ModelConfig
from andrea.corpus import Stream, tokenise
from andrea.data import passages
from andrea.kneser_ney import KneserNey
from andrea.model import Andrea
from andrea.sources import LoadedModel
from andrea.tokenizer import BOS_ID, TextTokenizer

TINY = ModelConfig(n_layer=3, d_model=16, n_head=2, n_ctx=12, vocab_size=400, init="xavier")


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    tokenizer = TextTokenizer.load(sources.SHIPPED / "tokenizer.json").truncated(TINY.vocab_size)
    return LoadedModel(Andrea(TINY, seed=3).eval().requires_grad_(False), tokenizer, "", {})


def stream(name: str, n: int, seed: int = 0) -> Stream:
    tokens = np.random.default_rng(seed).integers(0, 400, n).astype(np.uint16)
    tokens[0] = BOS_ID
    return Stream(name, tokens, np.array([0, n]), np.ones(1))


@pytest.mark.parametrize("n", [2, 12, 13, 14, 31, 130])
def test_the_loss_predicts_every_token_but_the_first_once(loaded: LoadedModel, n: int) -> None:
    tokens = stream("x", n).tokens.astype(np.int64)
    losses = []
    for position in range(1, n):
        start = (position - 1) // TINY.n_ctx * TINY.n_ctx
        context = torch.from_numpy(tokens[start:position])[None]
        losses.append(float(-loaded.model(context)[0, -1].log_softmax(-1)[tokens[position]]))
    assert evaluate.loss(loaded, tokens) == pytest.approx(np.mean(losses), rel=1e-5)


def test_a_model_that_knows_nothing_loses_the_logarithm_of_its_vocabulary(
    loaded: LoadedModel,
) -> None:
    blank = Andrea(TINY, seed=0).requires_grad_(False)
    blank.wte.zero_()
    known = LoadedModel(blank, loaded.tokenizer, "", {})
    assert evaluate.loss(known, stream("x", 40).tokens) == pytest.approx(math.log(400), rel=1e-6)


def test_ranks_by_sorting(loaded: LoadedModel) -> None:
    texts = [stream("a", 60, 1), stream("b", 50, 2)]
    found = evaluate.lens_test(loaded, texts, positions=6, seed=5)
    random, ranks = np.random.default_rng(5), []
    for i in range(6):
        tokens = texts[i % 2].tokens.astype(np.int64)
        end = int(random.integers(12, len(tokens) + 1))
        record: dict[str, torch.Tensor] = {}
        ids = torch.from_numpy(tokens[end - 12 : end])[None]
        answer = int(loaded.model(ids, record)[0, -1].argmax())
        names = ["blocks.0.resid_pre", *[f"blocks.{b}.resid_post" for b in range(3)]]
        order = [loaded.model.unembed(record[n][0, -1]).argsort(descending=True) for n in names]
        ranks.append([int((o == answer).nonzero()) + 1 for o in order])
    table = np.array(ranks)
    assert found.mean_rank == pytest.approx(table.mean(0))
    assert found.median_rank == pytest.approx(np.median(table, 0))
    assert found.geometric_mean_rank == pytest.approx(np.exp(np.log(table).mean(0)))
    assert found.share_first == pytest.approx((table == 1).mean(0))
    assert found.mean_rank[-1] == found.share_first[-1] == 1
    assert found.blocks_that_improve == int((np.diff(table.mean(0)) < 0).sum())
    assert (found.n_positions, found.context) == (6, 12)


def test_a_sample_counts_its_own_whole_words_only() -> None:
    assert evaluate.new_words("Il re av", "eva un cane e un ga") == ["un", "cane", "e", "un"]
    assert evaluate.new_words("The king", " had a dog") == ["had", "a"]
    assert evaluate.new_words("The king", "") == []


def test_a_loop_is_four_tokens_that_come_again() -> None:
    assert evaluate.loops((1, 2, 3, 4, 9, 1, 2, 3, 4))
    assert evaluate.loops((7,) * 5)
    assert not evaluate.loops((1, 2, 3, 9, 1, 2, 3, 8))
    assert not evaluate.loops((1, 2))


def test_known_words_are_a_share(loaded: LoadedModel) -> None:
    prompts = ("The king", "A dog")
    found, nothing = evaluate.samples(loaded, prompts, set())
    words = [w for s in found for w in evaluate.new_words(s.prompt, s.greedy)]
    half = set(words[: len(words) // 2])
    _, shares = evaluate.samples(loaded, prompts, half)
    assert nothing == [0, 0]
    assert shares[0] == pytest.approx(sum(w in half for w in words) / max(1, len(words)))
    assert [s.prompt for s in found] == list(prompts)


def test_an_ngram_is_counted_on_the_texts_that_it_is_given() -> None:
    own, other, held = stream("a", 300, 1), stream("b", 300, 2), stream("v", 50, 3)
    found = evaluate.n_grams([own, other], held, 400, range(2, 4))
    model = KneserNey([own.tokens, other.tokens], 400, 3)
    assert list(found) == ["2", "3"]
    assert found["3"] == pytest.approx(-model.log_probabilities(held.tokens).mean())


def test_a_resumed_log_counts_each_step_once(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    steps = [(1, 9.0), (2, 8.0), (3, 7.0), (2, 8.5), (3, 7.5), (4, 6.0)]
    lines = [{"step": s, "loss": x, "tokens": s * 10} for s, x in steps]
    lines[-1]["valid"] = {"en": 5.0}  # type: ignore[assignment]
    log.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    read = evaluate.read_log(log)
    assert [line["loss"] for line in read] == [9.0, 8.5, 7.5, 6.0]
    assert evaluate.curve(read) == {
        "train": [[10, 9.0], [20, 8.5], [30, 7.5], [40, 6.0]],
        "valid": {"en": [[40, 5.0]]},
    }


def test_a_long_log_is_thinned_by_averages() -> None:
    log = [{"step": i, "loss": float(i), "tokens": i} for i in range(1200)]
    train = evaluate.curve(log)["train"]
    assert len(train) == evaluate.CURVE_POINTS
    assert train[0] == [9, 4.5]
    assert train[-1] == [1199, 1194.5]
    assert evaluate.curve([]) == {"train": [], "valid": {}}


# -- the commands ----------------------------------------------------------------------------------

HEADER = "title\tauthor\tlang\ttier\tsource_repo\tlicence\tsplit\tchars\twords\n"
SOURCES = HEADER + (
    "A | story\tAnn Author\ten\t1\tone/stories\tCC BY (Stories)\ttrain\t100\t20\n"
    "Old novel\tOld Writer\ten\t2\tGITenberg/Old_1\tpublic domain (text)\ttrain\t1000\t200\n"
    "Romanzo\tUno\tit\t2\ttwo/novels\tpublic domain (text); TEI markup CC BY 4.0\tvalid\t5\t1\n"
)


@pytest.fixture
def folder(loaded: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tiny weights, texts, a log and a table of sources."""
    made: dict = {"tokens": 1000, "seconds": 7200, "step": 4, "valid_loss": {"en": 5.0, "it": 5.25}}
    made["recipe"] = {"steps": 4, "clip": 1.0, "batch": 8}
    sources.save_weights(loaded.model, tmp_path / "weights.safetensors", made)
    loaded.tokenizer.save(tmp_path / "tokenizer.json")
    for language in ("en", "it"):
        texts = passages(language)  # type: ignore[arg-type]
        (tmp_path / f"{language}.txt").write_text("\n\n\n".join(texts[:4]), encoding="utf-8")
        (tmp_path / f"{language}-valid.txt").write_text(texts[5], encoding="utf-8")
    line = {"step": 4, "loss": 5.5, "tokens": 1000, "valid": {"en": 5.0, "it": 5.2}}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (tmp_path / "SOURCES.tsv").write_text(SOURCES, encoding="utf-8")
    monkeypatch.setenv("ANDREA_WEIGHTS", str(tmp_path))
    return tmp_path


def measured(folder: Path) -> dict:
    files = [str(folder / name) for name in ("en-valid.txt", "it-valid.txt", "en.txt", "it.txt")]
    arguments = ["evaluate", "--valid", *files[:2], "--train", *files[2:], "--out", str(folder)]
    arguments += ["--log", str(folder / "log.jsonl"), "--positions", "4"]
    arguments += ["--study", str(folder)]
    assert main(arguments) == 0
    return json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))


def test_the_commands_measure_and_write_the_card(loaded: LoadedModel, folder: Path) -> None:
    document = measured(folder)
    held = tokenise("en", passages("en")[5], loaded.tokenizer)
    report = document["languages"]["en"]
    assert report["loss"] == pytest.approx(evaluate.loss(loaded, held.tokens), abs=0.01)  # float16
    nats = report["loss"] * report["n_predicted"]
    assert report["loss_per_character"] == pytest.approx(nats / len(passages("en")[5]))
    assert document["weights_sha256"] == sources.file_sha256(folder / "weights.safetensors")

    out = folder / "card"
    arguments = ["card", "--evaluation", str(folder / "evaluation.json"), "--out", str(out)]
    assert main([*arguments, "--sources", str(folder / "SOURCES.tsv")]) == 0
    card = (out / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert document["weights_sha256"] in card
    assert f"**{report['loss']:.3f}**" in card
    assert "--steps 4" in card
    assert f"| {folder.name} | 3, 16, 2 | 8 | 120.0 | 0.00 | 5.000 | 5.250 |" in card  # the study
    assert "**English, from one/stories; licence: CC BY (Stories).** *A | story* (Ann" in card
    assert "Romanzo" not in card  # its markup is CC BY, its text is not
    assert "2.0" in card  # hours
    assert "$" not in card
    listed = (out / "SOURCES.md").read_text(encoding="utf-8")
    assert "| A \\| story | Ann Author | en | training | one/stories | CC BY (Stories) |" in listed
    assert all(title in listed for title in ("Old novel", "Romanzo"))
    assert json.loads((out / "evaluation.json").read_text(encoding="utf-8")) == document
    for picture in ("loss.svg", "lens.svg"):
        assert f"({picture})" in card
        assert (out / picture).read_text(encoding="utf-8").startswith("<svg")


def test_notes_by_hand_stay_in_the_card(folder: Path) -> None:
    measured(folder)
    (folder / "notes.md").write_text("## What helped\n\nPatience.\n", encoding="utf-8")
    arguments = ["card", "--evaluation", str(folder / "evaluation.json"), "--out", str(folder)]
    assert main([*arguments, "--sources", str(folder / "SOURCES.tsv")]) == 0
    assert "## What helped\n\nPatience.\n" in (folder / "MODEL_CARD.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--valid", "en-valid.txt", "--train", "it.txt"], "no training text for en"),
        (["--valid", "en-valid.txt", "en.txt", "--train", "en.txt"], "two texts called en"),
        (["--valid", "none.txt", "--train", "en.txt"], "none.txt"),
        (["--valid", "en.txt", "--train", "en.txt", "--positions", "0"], "0 positions"),
    ],
)
def test_bad_input_to_evaluate_is_one_line(
    folder: Path, arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(folder / a) if a.endswith(".txt") else a for a in arguments]
    assert main(["evaluate", *paths, "--out", str(folder)]) == 2
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.startswith("andrea: ") and named in complaint


def test_bad_input_to_card_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = folder / "SOURCES.tsv"
    arguments = ["--sources", str(table), "--out", str(folder)]
    assert main(["card", "--evaluation", str(folder / "none.json"), *arguments]) == 2
    assert "none.json" in capsys.readouterr().err
    measured(folder)
    table.write_text("title\tauthor\nA\tB\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["card", "--evaluation", str(folder / "evaluation.json"), *arguments]) == 2
    assert "lacks the column lang" in capsys.readouterr().err
