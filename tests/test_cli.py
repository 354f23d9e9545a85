"""The terminal as a person uses it: a process, its output, its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from andrea import engine, sources
from andrea.__main__ import main
from andrea.config import ModelConfig
from andrea.model import Andrea
from andrea.requests import ModelRequest, TraceRequest

ROOT = Path(__file__).resolve().parents[1]


def andrea(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "andrea", *args],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_trace_prints_the_same_numbers_as_the_engine():
    done = andrea("trace", "C'era una volta", "--model", "andrea-12m", "--position", "2", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    result = engine.run(TraceRequest("C'era una volta", ModelRequest(model="andrea-12m"), 2))
    assert document["position"] == 2
    for name, array in result.activations.items():
        np.testing.assert_allclose(np.array(document["activations"][name]), array, atol=1e-6)


def test_info_tells_what_answers():
    done = andrea("info", "--json")
    document = json.loads(done.stdout)
    assert document["presets"]["andrea-120m"]["n_parameters"] == 92_331_264
    assert document["trained"]["config"]["n_layer"] == 12
    assert document["trained"]["weights_sha256"] == sources.file_sha256(
        sources.weights_folder() / "weights.safetensors"
    )


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["trace", ""], "The text is empty"),
        (["trace", "ciao", "--model", "gpt5"], "no model called gpt5"),
        (["trace", "ciao", "--norm", "sideways"], "allowed are pre, post, none"),
        (["trace", "ciao", "--position", "99"], "lies outside the text"),
        (["trace", "ciao", "--n-layer", "0"], "choose 1 to 12"),
        (["trace", "ciao", "--seed", "x"], "invalid int value"),
        (["attention", "ciao", "--layer", "13"], "There is no block 13"),
        (["dance"], "invalid choice"),
        ([], "required"),
    ],
)
def test_bad_input_is_one_line_and_status_2(args, says, capsys):
    try:
        status = main(args)
    except SystemExit as leaving:  # argparse leaves by itself
        status = leaving.code
    shown = capsys.readouterr()
    assert (status, shown.out) == (2, "")
    assert says in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("damage", ["missing", "truncated", "other", "narrow"])
def test_damaged_weights_are_named(tmp_path, damage, monkeypatch, capsys):
    path = tmp_path / "weights.safetensors"
    tokenizer = (sources.SHIPPED / "tokenizer.json").read_bytes()
    (tmp_path / "tokenizer.json").write_bytes(tokenizer)
    model = Andrea(ModelConfig(n_layer=1, d_model=8, n_head=2, n_ctx=16), seed=0)
    sources.save_weights(model, path, {})
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:-100])
    elif damage == "other":
        path.write_bytes(b"not weights at all")
    else:
        wide = path.read_bytes().replace(b'\\"d_model\\": 8', b'\\"d_model\\": 4')
        path.write_bytes(wide)
    monkeypatch.setenv("ANDREA_WEIGHTS", str(tmp_path))
    assert main(["trace", "ciao"]) == 2
    error = capsys.readouterr().err
    assert "weights.safetensors" in error
    assert "make train" in error or "restore" in error
    assert error.count("\n") == 1


def test_own_weights_answer_from_their_folder(tmp_path):
    (tmp_path / "tokenizer.json").write_bytes((sources.SHIPPED / "tokenizer.json").read_bytes())
    model = Andrea(ModelConfig(n_layer=2, d_model=8, n_head=2, n_ctx=160), seed=0)
    sources.save_weights(model, tmp_path / "weights.safetensors", {"tokens": 7})
    done = andrea("trace", "ciao", "--json", ANDREA_WEIGHTS=str(tmp_path))
    assert json.loads(done.stdout)["provenance"]["config"]["n_layer"] == 2


def test_an_unknown_device_is_refused():
    done = andrea("info", ANDREA_DEVICE="abacus")
    assert done.returncode == 2
    assert "abacus" in done.stderr
