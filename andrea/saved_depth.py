"""The depth view measured beforehand: ``python -m andrea depth --save`` writes it again.

It counts only as long as its trained weights are the ones in use; otherwise one measures live.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from andrea import engine, saved, sources
from andrea.measures.ablation import ChangesResult
from andrea.measures.attention_summary import AttentionSummary
from andrea.measures.depth import DepthResult, Sizes
from andrea.requests import ModelRequest
from andrea.requests_depth import CHANGES, ChangesRequest, DepthRequest
from andrea.results import Floats, Provenance
from andrea.sources import LoadedModel

FILE = Path(__file__).parent / "data" / "saved" / "depth.json"

Survey = DepthRequest | ChangesRequest
SurveyResult = DepthResult | ChangesResult
Found = dict[Survey, SurveyResult]


def default_requests() -> list[Survey]:
    """Return what the page shows of the trained model before anybody asks for more."""
    return [DepthRequest(), *(ChangesRequest(change) for change in CHANGES)]


def floats(rows: Any) -> Floats:
    """Turn nested lists with "NaN" and "Infinity" in them into a read-only float32 array."""
    made = saved.array(rows).astype(np.float32)
    made.setflags(write=False)
    return made


def sizes_of(data: dict[str, Any] | None) -> Sizes | None:
    """Return the ``Sizes`` that ``jsonable`` wrote down."""
    return None if data is None else Sizes(**{k: floats(v) for k, v in data.items()})


def result_of(data: dict[str, Any]) -> SurveyResult:
    """Return the result that ``jsonable`` wrote down."""
    request = data["request"] | {"model": ModelRequest(**data["request"]["model"])}
    n_positions, provenance = data["n_positions"], Provenance(**data["provenance"])
    if "places" in data:
        return ChangesResult(
            request=ChangesRequest(**request),
            places=tuple(data["places"]),
            loss=floats(data["loss"]),
            base_loss=floats(data["base_loss"]),
            cosine=floats(data["cosine"]),
            base_cosine=floats(data["base_cosine"]),
            n_positions=n_positions,
            provenance=provenance,
        )
    sizes = sizes_of(data["sizes"])
    assert sizes is not None
    return DepthResult(
        request=DepthRequest(**request),
        rank=floats(data["rank"]),
        prob=floats(data["prob"]),
        loss=floats(data["loss"]),
        hits=floats(data["hits"]),
        own=floats(data["own"]),
        sizes=sizes,
        sizes_init=sizes_of(data["sizes_init"]),
        attention=AttentionSummary(**{k: floats(v) for k, v in data["attention"].items()}),
        n_positions=n_positions,
        provenance=provenance,
    )


@cache
def stored() -> Found:
    """Return all saved results by their request (none if there is no file)."""
    results = [result_of(data) for data in saved.read(FILE)]
    return {result.request: result for result in results}


def find(request: Survey) -> SurveyResult | None:
    """Return the saved answer to ``request``, if there is one that still holds."""
    result = stored().get(request)
    if result is None or result.provenance.weights_sha256 != saved.trained_sha256():
        return None
    return result


def save() -> Found:
    """Measure the default view of the trained model and write the file.

    Raises
    ------
    InputError
        If the trained weights are missing or damaged.
    """
    model = sources.load(ModelRequest())

    def load(_request: ModelRequest) -> LoadedModel:
        return model

    results = [engine.run(request, load) for request in default_requests()]
    saved.write(FILE, results)
    stored.cache_clear()
    return {result.request: result for result in results}
