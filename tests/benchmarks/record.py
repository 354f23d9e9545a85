"""The cost of looking: ANDREA-120M, 64 tokens, one thread, medians of processor time.

A bare forward pass, the same with every activation recorded, and what two other libraries take for
theirs at the same size: transformers' GPT-2 with its hidden states and attentions, and
TransformerLens' ``run_with_cache``, which runs in an environment of its own (it wants NumPy 1). The
runs are interleaved, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from andrea.config import preset
from andrea.model import Andrea, Record
from tests.benchmarks import Row, compared, interleaved, timed

ROOT = Path(__file__).parents[2]
CONFIG = preset("andrea-120m")
TOKENS, ROUNDS, LIMIT = 64, 25, 1.10
BARE, RECORDED = "bare forward", "everything recorded"
TRANSFORMERS = "transformers, hidden states and attentions"
LENS = "TransformerLens, run_with_cache"


def ids() -> Tensor:
    """Return the text: one row of random tokens."""
    random = torch.Generator().manual_seed(0)
    return torch.randint(CONFIG.vocab_size, (1, TOKENS), generator=random)


def ours() -> dict[str, Callable[[], float]]:
    """Return timers of our model, bare and recorded."""
    model, text = Andrea(CONFIG, seed=0).eval(), ids()

    def recorded() -> Record:
        record: Record = {}
        model(text, record)
        return record

    return {BARE: lambda: timed(lambda: model(text)), RECORDED: lambda: timed(recorded)}


def reference() -> dict[str, Callable[[], float]]:
    """Return a timer of transformers' GPT-2 at the same size."""
    import transformers

    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            n_layer=CONFIG.n_layer,
            n_embd=CONFIG.d_model,
            n_head=CONFIG.n_head,
            n_positions=CONFIG.n_ctx,
            vocab_size=CONFIG.vocab_size,
            attn_implementation="eager",
            bos_token_id=0,
            eos_token_id=0,
        )
    ).eval()
    text = ids()
    looking = {"output_hidden_states": True, "output_attentions": True, "use_cache": False}
    return {TRANSFORMERS: lambda: timed(lambda: model(text, **looking))}


def lens_python() -> Path:
    """Return where the interpreter with TransformerLens is expected."""
    return ROOT / (os.environ.get("ANDREA_BENCH_PYTHON") or ".venv-bench/bin/python")


@contextlib.contextmanager
def lens() -> Iterator[Callable[[], float]]:
    """Start TransformerLens in its own process; yield a function that has it run once.

    Raises
    ------
    RuntimeError
        If the process ends; the message is the last line of its complaint.
    """
    command = [lens_python(), Path(__file__).with_name("_transformer_lens.py")]
    shape = json.dumps(CONFIG.as_dict() | {"tokens": TOKENS})
    with (
        tempfile.TemporaryFile("w+") as complaint,
        subprocess.Popen(
            [*map(str, command), shape],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaint,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None

        def once() -> float:
            print("go", file=process.stdin, flush=True)
            line = process.stdout.readline()
            if not line:
                complaint.seek(0)
                raise RuntimeError((complaint.read().strip() or "ended").splitlines()[-1])
            return float(json.loads(line)["seconds"])

        yield once
        process.stdin.close()


def run() -> list[Row]:
    """Time all that can be had here; say how to get what cannot."""
    torch.set_num_threads(1)
    with torch.inference_mode(), contextlib.ExitStack() as stack:
        timers = ours() | reference()
        missing = []
        if lens_python().exists():
            try:
                timers[LENS] = stack.enter_context(lens())
                timers[LENS]()
            except (RuntimeError, OSError) as error:
                del timers[LENS]
                missing = [Row(LENS, None, note=f"does not run: {error}")]
        else:
            how = "to compare: python3 -m venv .venv-bench && .venv-bench/bin/pip install "
            missing = [Row(LENS, None, note=how + "-r requirements-bench.txt")]
        return compared(interleaved(timers, ROUNDS), {RECORDED: LIMIT}) + missing
