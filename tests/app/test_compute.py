import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from andrea import engine
from andrea.errors import InputError
from andrea.requests import AttentionRequest, ModelRequest, TraceRequest
from app import compute
from app.model_cache import ModelCache

SMALL = ModelRequest("andrea-12m", n_layer=1)


def ask(n):
    return ModelRequest("andrea-12m", seed=n)


class Loader:
    """Counts loads; holds each up for a moment, or until ``meeting`` of them are there."""

    def __init__(self, seconds=0.0, meeting=1):
        self.calls, self.seconds = [], seconds
        self.barrier = threading.Barrier(meeting, timeout=60)

    def __call__(self, request):
        self.calls.append(request)
        self.barrier.wait()
        time.sleep(self.seconds)
        return SimpleNamespace(request=request)


def in_threads(function, arguments):
    results = [None] * len(arguments)

    def work(i):
        results[i] = function(arguments[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(arguments))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    return results


def test_who_asks_for_the_same_model_at_once_gets_one_load():
    load = Loader(0.2)
    cache = ModelCache(load, lambda _: 1, lambda: 10)
    models = in_threads(cache.get, [ask(0)] * 8)
    assert len(load.calls) == 1 and all(model is models[0] for model in models)


def test_different_models_load_side_by_side():
    load = Loader(meeting=4)  # one after another, none would get further
    models = in_threads(ModelCache(load, lambda _: 1, lambda: 10).get, [ask(i) for i in range(4)])
    assert [model.request for model in models] == [ask(i) for i in range(4)]


def test_the_least_recently_used_model_goes_first_and_the_bytes_stay_bounded():
    load = Loader()
    cache = ModelCache(load, lambda request: 10 * (1 + request.seed), lambda: 60)
    for n in (0, 1, 2):  # 10 + 20 + 30 bytes: full
        cache.get(ask(n))
    cache.get(ask(0))
    cache.get(ask(3))  # 40 bytes: 1 and 2 have to go, 0 was used since
    assert cache.n_bytes == 50 and len(cache) == 2
    cache.get(ask(0))
    assert load.calls.count(ask(0)) == 1
    cache.get(ask(1))
    assert load.calls.count(ask(1)) == 2
    for n in range(6):
        cache.get(ask(n))
        assert cache.n_bytes <= 60


def test_a_load_that_fails_is_not_kept_and_frees_its_key():
    attempts = []

    def load(request):
        attempts.append(request)
        if len(attempts) == 1:
            raise InputError("The text is empty: write a few words.")
        return SimpleNamespace()

    cache = ModelCache(load, lambda _: 1, lambda: 10)
    with pytest.raises(InputError):
        cache.get(ask(0))
    assert len(cache) == 0
    assert cache.get(ask(0)) is cache.get(ask(0))
    assert len(attempts) == 2


@pytest.fixture
def counted(monkeypatch):
    calls = []
    real = engine.run

    def run(request, *more):
        calls.append(request)
        return real(request, *more)

    monkeypatch.setattr(engine, "run", run)
    compute._answer.clear()
    yield calls
    compute._answer.clear()


def test_the_same_request_is_computed_once_and_shared_read_only(counted):
    request = TraceRequest("one two three", SMALL)
    results = in_threads(compute.answer, [request] * 6)
    assert len(counted) == 1 and all(r is results[0] for r in results)
    stream = results[0].activations["blocks.0.resid_post"]
    with pytest.raises(ValueError, match="read-only"):
        stream[0] = 1
    fresh = engine.run(request, compute.loaded)
    assert np.array_equal(stream, fresh.activations["blocks.0.resid_post"])


def test_two_spellings_of_a_request_share_a_result(counted):
    depth = compute.base_config(ModelRequest("andrea-12m")).n_layer
    plain = compute.answer(AttentionRequest("a b", ModelRequest("andrea-12m")))
    spelled = compute.answer(AttentionRequest("a b", ModelRequest("andrea-12m", n_layer=depth)))
    assert plain is spelled and len(counted) == 1
    other = compute.answer(AttentionRequest("a b", ModelRequest("andrea-12m", seed=1)))
    assert other is not plain and len(counted) == 2


def test_a_refusal_passes_through_with_its_values_and_is_not_kept(counted):
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            compute.answer(TraceRequest("a", SMALL, position=99))
        assert caught.value.values["position"] == 99
    assert len(counted) == 2
    with pytest.raises(InputError, match="no model called"):
        compute.answer(TraceRequest("a", ModelRequest("gpt-9")))
    with pytest.raises(InputError, match="Depth 97"):
        compute.answer(TraceRequest("a", ModelRequest("andrea-12m", n_layer=97)))


def test_warming_up_freezes_what_lives_as_long_as_the_server(monkeypatch):
    import gc

    compute.warm_up()
    assert gc.get_freeze_count() > 10_000
    monkeypatch.setattr(engine, "run", lambda *_: pytest.fail("computed again"))
    monkeypatch.setattr(gc, "collect", lambda *_: pytest.fail("collected again"))
    compute.warm_up()


def test_tokens_are_those_that_a_trace_reads():
    tokens = compute.tokens("one two three", SMALL)
    assert tokens == compute.answer(TraceRequest("one two three", SMALL)).tokens
