"""The Depth page's numbers as one tidy CSV, a row a value, and the command that repeats them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from andrea.data import LANGUAGES
from andrea.measures.ablation import ChangesResult
from andrea.measures.attribution import WaterfallResult
from andrea.measures.depth import DepthResult
from app.export import one_line, quoted, value

HEADER = "quantity,group,block,head,value"


def command(text: str, change: str) -> str:
    """Return the terminal command that repeats what the page shows of the trained model."""
    if text.startswith("-"):  # would read as an option
        return f"python -m andrea depth --change {change} --json -- {quoted(text)}"
    return f"python -m andrea depth {quoted(text)} --change {change} --json"


def survey_rows(result: DepthResult) -> Iterator[str]:
    """Yield the survey: ``block`` counts from 1, depths of the lens and lengths from 0."""
    for name in ("rank", "prob", "loss", "hits", "own"):
        for (g, depth), x in np.ndenumerate(getattr(result, name)):
            yield f"lens.{name},{LANGUAGES[g]},{depth},,{value(x)}"
    for group, sizes in (("model", result.sizes), ("init", result.sizes_init)):
        if sizes is None:
            continue
        for j, x in enumerate(sizes.share):
            yield f"share.{('attn', 'mlp')[j % 2]},{group},{j // 2 + 1},,{value(x)}"
        for j, x in enumerate(sizes.cosine):
            yield f"cosine,{group},{j + 1},,{value(x)}"
        for j, x in enumerate(sizes.norm):
            yield f"norm,{group},{j},,{value(x)}"
    for name, array in asdict(result.attention).items():
        for (layer, head), x in np.ndenumerate(array):
            yield f"attention.{name},,{layer + 1},{head + 1},{value(x)}"


def table(drop: WaterfallResult, result: DepthResult, changed: ChangesResult) -> bytes:
    """Return waterfall, survey and losses as CSV, with command and weights in its head."""
    p = drop.provenance
    head = [
        f"# command: {one_line(command(drop.request.text, changed.request.change))}",
        f"# text: {one_line(drop.request.text)}",
        f"# weights_sha256: {p.weights_sha256}",
        f"# {p.device_name}, {p.threads} threads, {p.date}",
        HEADER,
    ]
    rows = [f"contribution,{n},,,{value(x)}"
            for n, x in zip(drop.names, drop.contributions, strict=True)]  # fmt: skip
    rows += [f"logit,,,,{drop.logit!r}", *survey_rows(result)]
    name = f"loss.{changed.request.change}"
    for g, language in enumerate(LANGUAGES):
        rows.append(f"loss,{language},,,{value(changed.base_loss[g])}")
        rows += [f"{name},{language},{k},,{value(changed.loss[g, i])}"
                 for i, k in enumerate(changed.places)]  # fmt: skip
    return ("\n".join([*head, *rows]) + "\n").encode("utf-8", "backslashreplace")
