"""Depth: the whole view of andrea-mini on 16 passages of 64 tokens in each language, live.

One thread, processor time, fresh weights in andrea-mini's shape (the time is the same for trained
ones). Beside it: removing each block of L in turn by running the changed model from its beginning.
Keeping the streams before each block must save a good part of that.
"""

from __future__ import annotations

import torch

from andrea.config import PRESETS
from andrea.data import LANGUAGES
from andrea.measures import ablation, attribution, depth
from andrea.model import Andrea
from andrea.requests_depth import AnswersRequest, ChangesRequest, DepthRequest, WaterfallRequest
from andrea.sources import SHIPPED, LoadedModel
from andrea.tokenizer import TextTokenizer
from tests.benchmarks import Row, compared, interleaved, timed

TEXT = "Once upon a time there was a king who had"
ROUNDS, RATIO = 3, 0.85


def fresh() -> LoadedModel:
    """Return andrea-mini freshly initialised, with the shipped tokenizer."""
    tokenizer = TextTokenizer.load(SHIPPED / "tokenizer.json")
    config = PRESETS["andrea-mini"].with_(vocab_size=tokenizer.vocab_size)
    model = Andrea(config, seed=0).eval().requires_grad_(False)
    return LoadedModel(model, tokenizer, "", {})


@torch.no_grad()
def from_the_beginning(loaded: LoadedModel, request: ChangesRequest) -> float:
    """Remove each block in turn without keeping anything; return the last loss."""
    model, blocks, loss = loaded.model, list(loaded.model.blocks), 0.0
    for language in LANGUAGES:
        ids = ablation.fixed_ids(loaded, language, request.n_passages, request.n_tokens)
        for part in ids.split(ablation.CHUNK):
            for left_out in (None, *blocks):
                x = model.embed(part)
                for block in blocks:
                    if block is not left_out:
                        x = block(x)
                loss, _ = ablation.summed_loss(model, x, part)
    return loss


def run() -> list[Row]:
    """Time the page's parts, their sum, and the removal done the long way."""
    torch.set_num_threads(1)
    loaded, losses = fresh(), ChangesRequest("block")
    survey = DepthRequest()

    def whole() -> None:
        attribution.waterfall(WaterfallRequest(TEXT), loaded)
        depth.depth(survey, loaded)
        ablation.changes(losses, loaded)
        ablation.answers(AnswersRequest(TEXT), loaded)

    kept = "each block removed in turn, streams kept"
    seconds = interleaved(
        {"each block removed in turn, from the beginning":
            lambda: timed(lambda: from_the_beginning(loaded, losses)),
         kept: lambda: timed(lambda: ablation.changes(losses, loaded)),
         "the whole depth view, live": lambda: timed(whole)},
        ROUNDS,
    )  # fmt: skip
    return compared(seconds, {kept: RATIO})
