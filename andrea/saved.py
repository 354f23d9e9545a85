"""Results measured beforehand, so that a first visitor sees numbers at once: real, and labelled.

``python -m andrea.saved`` measures every guided setting of the laboratory again and writes
``andrea/data/saved/gradients.json`` (``python -m andrea.saved full trained`` only those, keeping
the others). Each result carries its settings, seeds, the hash of its weights, machine and date.
A saved result of trained weights counts only as long as those weights are the ones in use.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from andrea import engine, lab, sources
from andrea.config import ModelConfig
from andrea.errors import InputError
from andrea.measures.gradients import Doubles, GradientsResult
from andrea.requests import GradientsRequest
from andrea.results import Provenance, jsonable

GRADIENTS = Path(__file__).parent / "data" / "saved" / "gradients.json"
DIGITS = 6  # significant; what a figure or a sentence shows has fewer


def rounded(value: Any) -> Any:
    """Return JSON data with every number cut to ``DIGITS`` significant digits."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def array(rows: Any) -> Doubles:
    """Turn nested lists with "NaN" and "Infinity" in them into a read-only float64 array."""
    made = np.asarray(rows, dtype=object).astype(np.float64)
    made.setflags(write=False)
    return made


def read(path: Path) -> list[dict[str, Any]]:
    """Return the saved results of a file as JSON data (none if there is no file)."""
    try:
        documents: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return documents


def write(path: Path, results: Iterable[object]) -> None:
    """Save results, one a line, numbers cut to ``DIGITS`` digits."""
    lines = [json.dumps(rounded(jsonable(result))) for result in results]
    path.parent.mkdir(exist_ok=True)
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def result_of(data: dict[str, Any]) -> GradientsResult:
    """Return the result that ``jsonable`` wrote down."""
    request = data["request"] | {"seeds": tuple(data["request"]["seeds"])}
    return GradientsResult(
        request=GradientsRequest(**request),
        stream_grad_norms=array(data["stream_grad_norms"]),
        weight_grad_norms={k: array(v) for k, v in data["weight_grad_norms"].items()},
        token_cosine=array(data["token_cosine"]),
        stream_norms=array(data["stream_norms"]),
        loss=array(data["loss"]),
        config=ModelConfig(**data["config"]),
        weights_sha256=tuple(data["weights_sha256"]),
        provenance=Provenance(**data["provenance"]),
    )


@cache
def gradients() -> dict[GradientsRequest, GradientsResult]:
    """Return all saved results of the laboratory by their request (none if there is no file)."""
    results = [result_of(data) for data in read(GRADIENTS)]
    return {result.request: result for result in results}


@cache
def trained_sha256() -> str | None:
    """Return the hash of the trained weights in use, ``None`` if they are missing."""
    try:
        return sources.file_sha256(sources.weights_folder() / "weights.safetensors")
    except OSError:
        return None


def find(request: GradientsRequest) -> GradientsResult | None:
    """Return the saved answer to ``request``, if there is one that still holds."""
    result = gradients().get(request)
    if result is not None and request.trained and result.weights_sha256[0] != trained_sha256():
        return None
    return result


def main(names: list[str]) -> int:
    """Measure the guides called ``names`` (all if none is named) and write the file."""
    unknown = [name for name in names if name not in lab.GUIDES]
    if unknown:
        print(f"no guide is called {unknown[0]}: there are {', '.join(lab.GUIDES)}")
        return 2
    wanted = [r for name in names or lab.GUIDES for r in lab.guide_requests(name)]
    kept = {} if not names else dict(gradients())
    for request in dict.fromkeys(wanted):
        try:
            kept[request] = engine.run(request)
        except InputError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        print(f"{kept[request].provenance.seconds:6.1f} s  {request}")
    write(GRADIENTS, kept.values())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
