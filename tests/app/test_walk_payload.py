"""The packet of the walk: exact where it can be, within its budget always, and decodable."""

from __future__ import annotations

import dataclasses
import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from andrea import engine
from andrea.config import PRESETS
from andrea.measures.trace import TraceResult
from andrea.requests import ModelRequest, TraceRequest
from app import i18n, state
from app.components import walk as component
from app.components.walk import payload, script
from app.components.walk.strings import strings

TEXT = "C'era una volta un re che aveva"


@pytest.fixture(scope="module")
def result() -> TraceResult:
    return engine.run(TraceRequest(TEXT, ModelRequest("andrea-12m", n_layer=3)))


def opened(packet: payload.Packet) -> tuple[dict, dict[str, np.ndarray]]:
    """Decode a packet as the browser does."""
    (size,) = struct.unpack_from("<I", packet.data)
    head = json.loads(packet.data[4 : 4 + size])
    body = packet.data[4 + size :]
    assert (4 + size) % 8 == 0
    arrays = {}
    for name, (kind, offset, length, *scale) in head["arrays"].items():
        if kind == "sum":
            arrays[name] = arrays[offset] + arrays[length]  # names of what was recorded before
        elif kind == "f4":
            arrays[name] = np.frombuffer(body, "<f4", length, offset)
        else:
            arrays[name] = np.frombuffer(body, "<f2", length, offset).astype(float) * scale[0]
    return head, arrays


def test_every_recorded_number_arrives_exactly(result: TraceResult) -> None:
    packet = payload.pack(result)
    head, arrays = opened(packet)
    assert packet.halved == () and head["halved"] == []
    for name, array in {**result.activations, **result.ln_weights}.items():
        assert np.array_equal(arrays[name], array.ravel(), equal_nan=True), name
    assert head["digest"] == packet.digest
    assert head["next"]["ids"] == result.next_ids.tolist()
    assert head["lens"]["rank"] == result.lens_rank.tolist()


def test_equal_arrays_travel_once(result: TraceResult) -> None:
    head, _ = opened(payload.pack(result))
    assert head["arrays"]["blocks.0.resid_post"] == head["arrays"]["blocks.1.resid_pre"]
    # Fresh LayerNorms have gamma 1 and beta 0: their output is the normalised vector.
    assert head["arrays"]["blocks.0.ln1.out"] == head["arrays"]["blocks.0.ln1.normalized"]
    distinct = {entry[1] for entry in head["arrays"].values()}
    assert len(distinct) < len(head["arrays"])


def test_less_room_costs_first_nothing_and_then_the_widest(result: TraceResult) -> None:
    whole = len(payload.pack(result).data)
    kinds = set()
    for budget in range(whole - 1, whole // 2, -2000):
        packet = payload.pack(result, budget)
        head, arrays = opened(packet)
        kinds.add(packet.halved)
        assert len(packet.data) <= budget or packet.halved == sum(payload.HALVED, ())
        for name, array in result.activations.items():
            if packet.halved and name.endswith(packet.halved):
                largest = np.abs(array).max()
                assert np.allclose(arrays[name], array.ravel(), rtol=2**-11, atol=largest * 2**-30)
            else:
                assert np.array_equal(arrays[name], array.ravel()), name
        assert head["halved"] == [suffix.lstrip(".") for suffix in packet.halved]
    # What can be added up again is left out first: nothing is lost by that.
    assert kinds >= {(), payload.HALVED[0]}


def test_half_keeps_tiny_huge_and_strange_values() -> None:
    array = np.array([1e30, -3e28, 0, np.nan, np.inf, 1e22], dtype=np.float32)
    raw, (kind, scale) = payload.encode(array, half=True)
    back = np.frombuffer(raw, "<f2").astype(float) * scale
    assert kind == "f2"
    assert np.allclose(back[:3], array[:3].astype(float), rtol=2**-11)
    assert np.isnan(back[3]) and np.isposinf(back[4])
    tiny = np.array([1e-36, -4e-37], dtype=np.float32)
    raw, (_, scale) = payload.encode(tiny, half=True)
    assert np.allclose(np.frombuffer(raw, "<f2").astype(float) * scale, tiny, rtol=2**-11)


def widened(result: TraceResult, model: str, layers: int, keys: int) -> TraceResult:
    """The largest trace that a model can give: its shapes, filled with random numbers."""
    random = np.random.default_rng(0)
    config = dataclasses.replace(PRESETS[model], n_layer=layers)
    d, m, h = config.d_model, config.hidden, config.n_head
    sizes = {"resid_pre": d, "ln1.normalized": d, "ln1.out": d, "attn.q": d, "attn.k": d}
    sizes |= {"attn.v": d, "attn.z": d, "attn.scores": h * keys, "attn.pattern": h * keys}
    sizes |= {"attn_out": d, "resid_mid": d, "ln2.normalized": d, "ln2.out": d}
    sizes |= {"mlp.pre": m, "mlp.post": m, "mlp_out": d, "resid_post": d}
    arrays = {
        f"blocks.{i}.{name}": random.normal(size=n).astype(np.float32)
        for i in range(layers)
        for name, n in sizes.items()
    }
    for i in range(layers):
        b = f"blocks.{i}."
        if i:
            arrays[b + "resid_pre"] = arrays[f"blocks.{i - 1}.resid_post"]
        arrays[b + "resid_mid"] = arrays[b + "resid_pre"] + arrays[b + "attn_out"]
        arrays[b + "resid_post"] = arrays[b + "resid_mid"] + arrays[b + "mlp_out"]
    for i in range(layers):  # fresh weights: gamma 1, beta 0
        for ln in ("ln1", "ln2"):
            arrays[f"blocks.{i}.{ln}.out"] = arrays[f"blocks.{i}.{ln}.normalized"]
    arrays |= {"logits": random.normal(size=config.vocab_size).astype(np.float32)}
    provenance = dataclasses.replace(result.provenance, config=config.as_dict())
    return dataclasses.replace(result, activations=arrays, ln_weights={}, provenance=provenance)


@pytest.mark.parametrize(
    ("model", "layers", "limit"),
    [("andrea-mini", 12, 600_000), ("andrea-120m", 12, 1_500_000), ("andrea-120m", 96, 4_000_000)],
)
def test_packet_keeps_its_promise(result: TraceResult, model: str, layers: int, limit: int) -> None:
    packet = payload.pack(widened(result, model, layers, keys=129))
    assert len(packet.data) <= limit
    exact = not packet.halved
    assert exact == (layers == 12)
    # What makes up the stream stays exact even in the deepest stack.
    assert not {".attn_out", ".mlp_out", ".ln1.out"} & set(packet.halved)


def test_stations() -> None:
    assert len(payload.stations("pre", 12)) == 123
    assert payload.stations("pre", 1)[:3] == ("embed", "1.ln1", "1.qkv")
    assert payload.stations("pre", 1)[-2:] == ("ln_final", "logits")
    post = payload.stations("post", 1)
    assert post.index("1.ln1") == post.index("1.resid_mid") + 1
    assert post[-2:] == ("1.ln2", "logits")
    assert not any("ln" in name for name in payload.stations("none", 4))


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("residual", [True, False])
def test_every_variant_has_what_its_stations_show(norm: str, residual: bool) -> None:
    request = ModelRequest("andrea-12m", norm=norm, residual=residual, n_layer=2)  # type: ignore
    trace = engine.run(TraceRequest("un re", request))
    head, arrays = opened(payload.pack(trace))
    assert head["order"] == list(payload.ORDER[norm])
    assert ("blocks.0.ln1.out" in arrays) == (norm != "none")
    assert ("ln_final.out" in arrays) == (norm == "pre")
    before = arrays["blocks.1.resid_pre"] if residual else np.float32(0)
    after = before + arrays["blocks.1.attn_out"]
    if norm == "post":
        mean, var = after.mean(dtype=float), after.var(dtype=float)
        after = (after - mean) / np.sqrt(var + head["config"]["ln_eps"])
    assert np.allclose(after, arrays["blocks.1.resid_mid"], atol=1e-5)


def test_digest_tells_tokens_apart(result: TraceResult) -> None:
    other = engine.run(TraceRequest(TEXT, result.request.model, 1))
    again = engine.run(TraceRequest(TEXT, result.request.model))
    assert payload.pack(again).digest == payload.pack(result).digest
    assert payload.pack(other).digest != payload.pack(result).digest


def test_every_text_that_the_walk_asks_for_exists() -> None:
    texts = set(strings())
    js = script()
    asked = set(re.findall(r'\b(?:t|line)\(\s*"(\w+)"', js))
    asked |= set(re.findall(r'"((?:station|strip|say|f|where|cell|scale|row)_\w+)"', js))
    assert asked - texts == set()
    made = {f"button_{n}" for n in ("first", "prev", "next", "last")}
    made |= {f"stat_{n}" for n in ("shape", "mean", "std", "norm", "error")}
    made |= {f"strip_{n}" for n in "qkv"} | {f"node_{k}" for k in payload.PRE if "resid" not in k}
    made -= {"node_mlp_post"}  # GELU or ReLU, the same in every language
    made |= {f"station_{k}" for k in (*payload.PRE, "embed", "ln_final", "logits")}
    made -= {"station_mlp_post"}
    made |= {"station_gelu", "station_relu", "node_ln_final", "node_logits"}
    assert made - texts == set()
    assert not {key for key in texts if key not in js} - made


def test_placeholders_are_the_same_in_every_language() -> None:
    def holes(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", text))

    with i18n.use_language("en"):
        english = strings()
    with i18n.use_language("it"):
        italian = strings()
    assert {k for k in english if holes(english[k]) != holes(italian[k])} == set()
    assert italian["station_resid_mid"] == "Prima addizione"


def test_nothing_is_written_as_markup() -> None:
    folder = Path(payload.__file__).parent
    sources = [*folder.glob("js/*.js"), *folder.parent.glob("chips/*.js"), *folder.glob("*.js")]
    assert len(sources) > 10
    for path in sources:
        code = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", code), path
        assert len(code.splitlines()) <= 250, path


def test_a_token_is_taken_only_by_the_probabilities_that_hold(
    result: TraceResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of two quick clicks still speaks of the bars before."""
    registered, clicked, taken = {}, {}, []
    for part in ("_PACKET", "_SETTINGS", "_WALK"):
        monkeypatch.setattr(component, part, lambda **options: registered.update(options))
    monkeypatch.setattr(state, "peek", lambda key, default=None: clicked.get(key, default))
    component.walk(result, lang="en", on_take=lambda *token: taken.append(token))
    now = payload.pack(result).digest
    take = {"id": 5, "text": " re"}
    for event in (None, take, take | {"digest": "of before"}, take | {"digest": now, "text": 7}):
        clicked["walk"] = {"take": event}
        registered["on_take_change"]()
        assert taken == []
    clicked["walk"] = {"take": take | {"digest": now}}
    registered["on_take_change"]()
    assert taken == [(5, " re")]
