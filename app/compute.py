"""The only caches: models by their bytes, results by their request.

A result is computed once for everybody who asks the same (whoever comes second waits for the
first) and shared without copying: its arrays are read-only.
"""

from __future__ import annotations

import gc
import logging
import threading
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast, overload

import streamlit as st

from andrea import device, engine, jobs, sources
from andrea.config import ModelConfig
from andrea.errors import InputError
from andrea.measures import race_cost
from andrea.measures.gradients import GradientsResult
from andrea.measures.norm import NormResult
from andrea.measures.overview import AttentionResult, LensMapResult
from andrea.measures.parameters import ParametersResult
from andrea.measures.race import RaceProgress, RaceResult
from andrea.measures.stream_norms import StreamNormsResult
from andrea.measures.trace import Tokens, TraceResult, tokenise
from andrea.requests import (
    AttentionRequest,
    GradientsRequest,
    LensMapRequest,
    ModelRequest,
    NormRequest,
    ParametersRequest,
    Request,
    StreamNormsRequest,
    TraceRequest,
)
from andrea.requests_activation import ActivationQuestion
from andrea.requests_depth import DepthQuestion
from andrea.requests_race import RACE_WIDTHS, RaceRequest
from andrea.sources import LoadedModel
from app import state
from app.components.walk.payload import Packet, pack
from app.model_cache import ModelCache

RESULTS = 64  # kept at most, an hour at most: a trace of the largest model takes some megabytes
ARMS = 1024  # of the laboratory, one seed each: some tens of kilobytes
SECONDS = 3600

log = logging.getLogger(__name__)


def n_bytes(request: ModelRequest) -> int:
    """Return how many bytes the model's float32 weights take."""
    return 4 * sources.n_parameters(request.config(base_config(request)))


_models = ModelCache(sources.load, n_bytes, device.memory_limit)


def plain(request: ModelRequest) -> ModelRequest:
    """Return the same question spelled one way: depth written out, no seed where none counts."""
    depth = base_config(request).n_layer if request.n_layer is None else request.n_layer
    return replace(request, n_layer=depth, seed=0 if request.trained else request.seed)


def base_config(request: ModelRequest) -> ModelConfig:
    """Return the configuration that the switches start from.

    Raises
    ------
    InputError
        If the weights file is missing or damaged, or there is no such model.
    """
    if request.trained:
        return _header()[0]
    return ModelRequest(request.model).config()


@cache
def _header() -> tuple[ModelConfig, dict[str, Any]]:
    return sources.read_header(sources.weights_folder() / "weights.safetensors")


def loaded(request: ModelRequest) -> LoadedModel:
    """Return the model that ``request`` asks for.

    Raises
    ------
    InputError
        As :func:`andrea.sources.load`.
    """
    state.still_wanted()
    request.config(base_config(request))  # refuse before room is made
    return _models.get(plain(request))


@overload
def answer(request: TraceRequest) -> TraceResult: ...
@overload
def answer(request: AttentionRequest) -> AttentionResult: ...
@overload
def answer(request: LensMapRequest) -> LensMapResult: ...
@overload
def answer(request: NormRequest) -> NormResult: ...
@overload
def answer(request: StreamNormsRequest) -> StreamNormsResult: ...
def answer(request: Request) -> Any:
    """Answer a request, from the cache if somebody has asked before.

    Raises
    ------
    InputError
        If the request is impossible; nothing is kept then, and page or frame shows it.
    """
    model = plain(request.model)
    if isinstance(request, StreamNormsRequest):  # fresh weights stand beside trained ones
        model = replace(model, seed=request.model.seed, norm="pre", residual=True)
    return _answer(replace(request, model=model))


def _run(request: Any) -> Any:
    state.still_wanted()
    return engine.run(request, loaded, state.still_wanted)


# Two shelves, because the results of the one are many times the size of the other's.
@st.cache_resource(max_entries=RESULTS, ttl=SECONDS, show_spinner=False)
def _answer(request: Any) -> Any:
    return _run(request)


@st.cache_resource(max_entries=ARMS, ttl=SECONDS, show_spinner=False)
def _small(request: GradientsRequest | ParametersRequest) -> Any:
    return _run(request)


def gradients(request: GradientsRequest) -> GradientsResult:
    """Answer one arm and seed of the laboratory, from the cache if somebody has asked before.

    Raises
    ------
    InputError
        If the request is impossible or too large for this host.
    """
    return cast(GradientsResult, _small(request))


def parameters(request: ParametersRequest) -> ParametersResult:
    """Count the parameters of a configuration, from the cache if somebody has asked before.

    Raises
    ------
    InputError
        If the configuration is impossible.
    """
    return cast(ParametersResult, _small(request))


def blocks(request: DepthQuestion | ActivationQuestion) -> Any:
    """Answer a question about depth or the activation, from the cache if somebody has asked before.

    Raises
    ------
    InputError
        If the request is impossible.
    """
    return _answer(request)


RaceStatus = jobs.Status[RaceProgress, RaceResult]


@st.cache_resource(show_spinner=False)
def _races() -> jobs.Jobs[RaceRequest, RaceProgress, RaceResult]:
    return jobs.Jobs(engine.race)


def start_race(request: RaceRequest) -> None:
    """Put a race into everybody's queue, or join it if somebody has; this session's last is left.

    Raises
    ------
    InputError
        If the race is impossible, or longer or larger than this host allows.
    """
    race_cost.refuse_too_slow(request)
    _races().ask(state.session(), request)


def race_status(request: RaceRequest) -> RaceStatus:
    """Return how a race stands; who keeps asking keeps it alive."""
    return _races().look(state.session(), request)


def leave_race() -> None:
    """Stop watching this session's race; it ends unless somebody else watches it."""
    _races().leave(state.session())


def packet(request: TraceRequest) -> Packet:
    """Return what the walk sends to the browser for a trace; a class shares one."""
    return _packet(replace(request, model=plain(request.model)))


@st.cache_resource(max_entries=RESULTS, ttl=SECONDS, show_spinner=False)
def _packet(request: TraceRequest) -> Packet:
    return pack(_answer(request))


def tokens(text: str, request: ModelRequest) -> Tokens:
    """Return how the model reads ``text``: quick, and not kept.

    Raises
    ------
    InputError
        If the text is empty.
    """
    return tokenise(text, loaded(request))


@dataclass(frozen=True)
class House:
    """Which machine answers and how far the trained model came.

    ``made`` is what the weights file says of its training: ``step``, ``tokens``, ``seconds``,
    ``date`` and whatever else it holds.
    """

    device: str
    device_name: str
    threads: int
    config: ModelConfig
    n_parameters: int
    made: dict[str, Any]


def house() -> House:
    """Return who answers here.

    Raises
    ------
    InputError
        If the weights file is missing or damaged.
    """
    config, made = _header()
    count = sources.n_parameters(config)
    return House(device.device().type, device.name(), device.threads(), config, count, made)


@cache
def _warm() -> None:
    import plotly.graph_objects as go
    from streamlit import net_util

    # Streamlit asks a service elsewhere for this machine's address when a browser's origin is not
    # the server's own (a proxy without the Host header): nothing here leaves the house.
    net_util.get_external_ip = lambda: None
    # Plotly 7.1 can fail when two threads are the first to touch its lazy objects.
    figure = go.Figure([go.Scatter(), go.Bar(), go.Heatmap()])
    figure.update_layout(title="", xaxis={}, yaxis={}, template={"layout": {}})
    figure.to_json()
    engine.run(ParametersRequest())
    try:
        engine.run(TraceRequest("Ciao"), loaded)
    except InputError as error:
        log.error("warm-up: %s", error)  # the pages say so too, in the visitor's language
    for width in RACE_WIDTHS:  # timed now, while nobody else is computing
        race_cost.probes(width)
    gc.collect()
    # What lives as long as the server need not be looked at by every collection.
    gc.freeze()


_warming = threading.Lock()


def warm_up() -> None:
    """Import, load and run everything once in the life of the process; later calls return at once.

    ``python -m app`` does it before the first visitor; under plain ``streamlit run`` the first
    session does.
    """
    with _warming:
        _warm()
