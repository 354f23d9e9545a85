"""What the walk sends to the browser: everything recorded about one token, in one binary packet.

Layout, little-endian: uint32 n, then n bytes of JSON in UTF-8 (padded with spaces so that what
follows starts at a multiple of eight), then the arrays one after the other. Arrays with equal
content (``resid_post`` and the next ``resid_pre``) are stored once. All are float32 as recorded,
unless the packet would exceed its budget. Then what a float32 addition gives back bit by bit
(``resid_mid = resid_pre + attn_out``) is left to the browser to add, and the widest arrays travel
as float16 times a power of two (relative error at most 2**-11), as few as will do; the header
names them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from andrea.measures.trace import TraceResult
from andrea.results import Floats

BUDGET = 3_900_000  # bytes: the promise is 4 MB at any depth

# What goes to half precision, in this order and no more than is enough. The stream and what is
# added to it never do: "before + correction = after" can be checked at any depth.
HALVED: tuple[tuple[str, ...], ...] = (
    (".mlp.pre", ".mlp.post"),
    (".attn.q", ".attn.k", ".attn.v", ".attn.z"),
    (".attn.scores", ".attn.pattern"),
    (".ln1.normalized", ".ln1.out", ".ln2.normalized", ".ln2.out"),
)

ATTENTION, MLP = ("qkv", "pattern", "attn_out"), ("mlp_pre", "mlp_post", "mlp_out")
PRE = ("ln1", *ATTENTION, "resid_mid", "ln2", *MLP, "resid_post")
POST = (*ATTENTION, "resid_mid", "ln1", *MLP, "resid_post", "ln2")
NONE = tuple(name for name in PRE if name not in ("ln1", "ln2"))
ORDER: dict[str, tuple[str, ...]] = {"pre": PRE, "post": POST, "none": NONE}


@dataclass(frozen=True)
class Packet:
    """The bytes that travel, the digest by which the browser knows them, what lost precision."""

    data: bytes
    digest: str
    halved: tuple[str, ...]


def stations(norm: str, n_layer: int) -> tuple[str, ...]:
    """Return the ids of all stations in walking order; blocks are counted from 1.

    Parameters
    ----------
    norm
        ``"pre"``, ``"post"`` or ``"none"``.
    n_layer
        Blocks: 12 of them make 123 stations under pre-norm.
    """
    inside = [f"{block}.{name}" for block in range(1, n_layer + 1) for name in ORDER[norm]]
    return ("embed", *inside, *(("ln_final",) if norm == "pre" else ()), "logits")


def pack(result: TraceResult, budget: int = BUDGET) -> Packet:
    """Return the packet of a trace: exact where ``budget`` bytes allow it, else as near as will do.

    Equal arrays are found by a digest of their bytes, so the sizes of all choices are known before
    anything is converted.
    """
    arrays = {**result.activations, **result.ln_weights}
    contents = {name: digest_of(array) for name, array in arrays.items()}
    sums: dict[str, tuple[str, str]] = {}
    halved: tuple[str, ...] = ()
    head = len(header_text(result, {n: ["f4", 0, 0] for n in arrays}, HALVED[0], ""))
    room = budget - head - 24 * len(arrays)  # offsets, lengths and paddings
    if size_of(arrays, contents, sums, halved) > room:
        sums = exact_sums(arrays)
        for tier in range(len(HALVED) + 1):
            halved = tuple(suffix for group in HALVED[:tier] for suffix in group)
            if size_of(arrays, contents, sums, halved) <= room:
                break
    return assemble(result, arrays, contents, sums, halved)


def digest_of(array: Floats) -> bytes:
    """Return a short digest of an array's bytes."""
    return hashlib.blake2b(np.ascontiguousarray(array, dtype="<f4").data, digest_size=16).digest()


def exact_sums(arrays: dict[str, Floats]) -> dict[str, tuple[str, str]]:
    """Return the streams that are, to the last bit, a float32 sum of two recorded arrays."""
    found = {}
    for name in arrays:
        for after, before, delta in (
            (".resid_mid", ".resid_pre", ".attn_out"),
            (".resid_post", ".resid_mid", ".mlp_out"),
        ):
            if name.endswith(after):
                a, b = name.replace(after, before), name.replace(after, delta)
                if a in arrays and np.array_equal(arrays[a] + arrays[b], arrays[name]):
                    found[name] = (a, b)
    return found


def size_of(
    arrays: dict[str, Floats],
    contents: dict[str, bytes],
    sums: dict[str, tuple[str, str]],
    halved: tuple[str, ...],
) -> int:
    """Return how many bytes the distinct arrays take."""
    derived = {contents[name] for name in sums}
    kept = {
        contents[name]: array.size * (2 if halved and name.endswith(halved) else 4)
        for name, array in arrays.items()
        if contents[name] not in derived
    }
    return sum(kept.values())


def assemble(
    result: TraceResult,
    arrays: dict[str, Floats],
    contents: dict[str, bytes],
    sums: dict[str, tuple[str, str]],
    halved: tuple[str, ...],
) -> Packet:
    """Lay the arrays out one after the other, equal ones once, and put the header before them."""
    index: dict[str, list[Any]] = {}
    seen: dict[bytes, list[Any]] = {contents[name]: ["sum", *pair] for name, pair in sums.items()}
    blobs: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        if contents[name] not in seen:
            raw, entry = encode(array, half=bool(halved) and name.endswith(halved))
            seen[contents[name]] = [entry[0], offset, array.size, *entry[1:]]
            blobs.append(raw + b"\0" * (-len(raw) % 8))
            offset += len(blobs[-1])
        index[name] = seen[contents[name]]
    body = b"".join(blobs)
    digest = hashlib.blake2b(body, digest_size=12)
    digest.update(json.dumps([*result.tokens.ids, result.position]).encode())
    digest.update(repr(sorted(result.provenance.config.items())).encode())
    text = header_text(result, index, halved, digest.hexdigest())
    return Packet(len(text).to_bytes(4, "little") + text + body, digest.hexdigest(), halved)


def encode(array: Floats, *, half: bool) -> tuple[bytes, list[Any]]:
    """Return an array's bytes and its entry: ``["f4"]``, or ``["f2", scale]`` with a scale of 2^k.

    The scale brings the largest value just below float16's limit, so that the small ones keep as
    much as they can.
    """
    if not half:
        return np.ascontiguousarray(array, dtype="<f4").tobytes(), ["f4"]
    sizes = np.abs(array)
    largest = float(sizes.max(where=np.isfinite(sizes), initial=0.0))
    power = int(np.frexp(largest)[1]) - 15 if largest else 0
    return np.ldexp(array.astype(np.float64), -power).astype("<f2").tobytes(), ["f2", 2.0**power]


def header_text(
    result: TraceResult, index: dict[str, list[Any]], halved: Iterable[str], digest: str
) -> bytes:
    """Return the header as JSON, padded so that the arrays begin at a multiple of eight."""
    head = header(result, index, halved) | {"digest": digest}
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return text + b" " * (-(4 + len(text)) % 8)


def header(
    result: TraceResult, index: dict[str, list[Any]], halved: Iterable[str]
) -> dict[str, Any]:
    """Return what the packet says in words and small numbers."""
    config = result.provenance.config
    return {
        "arrays": index,
        "halved": [suffix.lstrip(".") for suffix in halved],
        "config": config,
        "order": ORDER[config["norm"]],
        "position": result.position,
        "labels": result.labels,
        "ids": result.tokens.ids,
        "lens": {
            "words": [row[0] for row in result.lens_labels],
            "probs": [float(row[0]) for row in finite_rows(result.lens_probs)],
            "rank": result.lens_rank.tolist(),
        },
        "answer": result.answer_label,
        "next": {
            "ids": result.next_ids.tolist(),
            "labels": result.next_labels,
            "texts": result.next_texts,
        },
    }


def finite_rows(array: Floats) -> Floats:
    """Return the array with NaN and infinities as -1: JSON has none of them."""
    return np.where(np.isfinite(array), array, np.float32(-1))
