"""What the walk sends to the browser: everything recorded about one token, in one binary packet.

Layout, little-endian: uint32 n, then n bytes of JSON in UTF-8 (padded with spaces so that what
follows starts at a multiple of eight), then the arrays one after the other. Each is float32 as
recorded, unless the packet would exceed its budget: then the widest arrays travel as float16 times
a power of two (relative error at most 2**-11), the stream last of all, and the header names them.
Arrays with equal content (``resid_post`` and the next ``resid_pre``) are stored once.
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

# What goes to half precision first: the widest, and the least of it that is enough.
HALVED: tuple[tuple[str, ...], ...] = (
    (".mlp.pre", ".mlp.post"),
    (".attn.q", ".attn.k", ".attn.v", ".attn.z"),
    (".attn.scores", ".attn.pattern"),
    (".ln1.normalized", ".ln1.out", ".ln2.normalized", ".ln2.out"),
    (".attn_out", ".mlp_out"),
    (".resid_pre", ".resid_mid", ".resid_post"),
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
    """Return the packet of a trace: exact where ``budget`` bytes allow it.

    Raises
    ------
    ValueError
        If even half precision does not fit.
    """
    arrays = {**result.activations, **result.ln_weights}
    packet = assemble(result, arrays, ())
    for tier in range(1, len(HALVED) + 1):
        if len(packet.data) <= budget:
            return packet
        packet = assemble(result, arrays, tuple(s for group in HALVED[:tier] for s in group))
    if len(packet.data) > budget:
        raise ValueError(f"the trace takes {len(packet.data)} bytes, {budget} are allowed")
    return packet


def assemble(result: TraceResult, arrays: dict[str, Floats], halved: tuple[str, ...]) -> Packet:
    """Lay the arrays out one after the other, equal ones once, and put the header before them."""
    index: dict[str, list[Any]] = {}
    seen: dict[bytes, list[Any]] = {}
    blobs: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        raw, entry = encode(array, half=name.endswith(halved))
        known = hashlib.blake2b(raw + repr(entry).encode(), digest_size=16).digest()
        if known not in seen:
            seen[known] = [entry[0], offset, array.size, *entry[1:]]
            blobs.append(raw + b"\0" * (-len(raw) % 8))
            offset += len(blobs[-1])
        index[name] = seen[known]
    body = b"".join(blobs)
    digest = hashlib.blake2b(body, digest_size=12)
    digest.update(json.dumps(result.tokens.ids + [result.position]).encode())
    digest.update(repr(sorted(result.provenance.config.items())).encode())
    head = header(result, index, halved) | {"digest": digest.hexdigest()}
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % 8)
    return Packet(len(text).to_bytes(4, "little") + text + body, digest.hexdigest(), tuple(halved))


def encode(array: Floats, *, half: bool) -> tuple[bytes, list[Any]]:
    """Return an array's bytes and its entry: ``["f4"]``, or ``["f2", scale]`` with a scale of 2^k.

    The scale brings the largest value just below float16's limit, so that the small ones keep as
    much as they can.
    """
    if not half:
        return np.ascontiguousarray(array, dtype="<f4").tobytes(), ["f4"]
    finite = np.abs(array[np.isfinite(array)])
    largest = float(finite.max()) if finite.size else 0.0
    scale = 2.0 ** (np.frexp(largest)[1] - 15) if largest else 1.0
    return (array.astype(np.float64) / scale).astype("<f2").tobytes(), ["f2", scale]


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
