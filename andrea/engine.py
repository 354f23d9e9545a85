"""Run a request on this machine's device. The site and the terminal both come through here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import overload

from andrea import device, sources
from andrea.measures import gradients, norm, overview, parameters, stream_norms, trace
from andrea.measures.ablation import AnswersResult, ChangesResult, answers, changes
from andrea.measures.activation import (
    ActivationResult,
    PreActivationsResult,
    SwapResult,
    activation,
    pre_activations,
    swap,
)
from andrea.measures.attribution import WaterfallResult, waterfall
from andrea.measures.backward import Check, nothing
from andrea.measures.depth import DepthResult, depth
from andrea.measures.race import RaceResult, Watch, ignore
from andrea.measures.race import race as run_race
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
from andrea.requests_activation import (
    ActivationQuestion,
    ActivationRequest,
    PreActivationsRequest,
    SwapRequest,
)
from andrea.requests_depth import (
    AnswersRequest,
    ChangesRequest,
    DepthQuestion,
    DepthRequest,
    WaterfallRequest,
)
from andrea.requests_race import RaceRequest
from andrea.sources import LoadedModel

Load = Callable[[ModelRequest], LoadedModel]
Result = (
    trace.TraceResult
    | overview.AttentionResult
    | overview.LensMapResult
    | parameters.ParametersResult
    | gradients.GradientsResult
    | norm.NormResult
    | stream_norms.StreamNormsResult
    | WaterfallResult
    | DepthResult
    | ChangesResult
    | AnswersResult
    | PreActivationsResult
    | ActivationResult
    | SwapResult
)


@contextmanager
def turn(check: Check) -> Iterator[None]:
    """Hold one of the device's slots; while waiting for it, ask ``check`` whether to go on."""
    slots = device.job()
    while not slots.acquire(timeout=0.2):
        check()
    try:
        yield
    finally:
        slots.release()


@overload
def run(request: TraceRequest, load: Load = ...) -> trace.TraceResult: ...
@overload
def run(request: AttentionRequest, load: Load = ...) -> overview.AttentionResult: ...
@overload
def run(request: LensMapRequest, load: Load = ...) -> overview.LensMapResult: ...
@overload
def run(request: NormRequest, load: Load = ...) -> norm.NormResult: ...
@overload
def run(request: StreamNormsRequest, load: Load = ...) -> stream_norms.StreamNormsResult: ...
@overload
def run(request: ParametersRequest, load: Load = ...) -> parameters.ParametersResult: ...
@overload
def run(
    request: GradientsRequest, load: Load = ..., check: Check = ...
) -> gradients.GradientsResult: ...
@overload
def run(request: WaterfallRequest, load: Load = ..., check: Check = ...) -> WaterfallResult: ...
@overload
def run(request: DepthRequest, load: Load = ..., check: Check = ...) -> DepthResult: ...
@overload
def run(request: ChangesRequest, load: Load = ..., check: Check = ...) -> ChangesResult: ...
@overload
def run(request: AnswersRequest, load: Load = ..., check: Check = ...) -> AnswersResult: ...
@overload
def run(request: PreActivationsRequest, load: Load = ...) -> PreActivationsResult: ...
@overload
def run(request: ActivationRequest, load: Load = ..., check: Check = ...) -> ActivationResult: ...
@overload
def run(request: SwapRequest, load: Load = ..., check: Check = ...) -> SwapResult: ...
@overload
def run(
    request: DepthQuestion | ActivationQuestion, load: Load = ..., check: Check = ...
) -> Result: ...
def run(
    request: Request | ParametersRequest | GradientsRequest | DepthQuestion | ActivationQuestion,
    load: Load = sources.load,
    check: Check = nothing,
) -> Result:
    """Answer a request.

    Parameters
    ----------
    request
        One of the frozen requests of ``andrea.requests``.
    load
        How to get the model; the site passes a cached one.
    check
        Called again and again during long work; whatever it raises ends the work.

    Raises
    ------
    InputError
        If the request is impossible; the message says what is allowed.
    """
    if isinstance(request, ParametersRequest):  # counted from shapes: no weights, no device
        return parameters.parameters(request)
    if isinstance(request, GradientsRequest):  # builds its own models, a seed at a time
        with turn(check):
            return gradients.gradients(request, check)
    if isinstance(request, StreamNormsRequest):  # its arms share one set of weights
        loaded = load(stream_norms.plain(request.model))
        with device.job():
            return stream_norms.stream_norms(request, loaded)
    loaded = load(request.model)
    with turn(check):
        if isinstance(request, WaterfallRequest):
            return waterfall(request, loaded)
        if isinstance(request, DepthRequest):
            return depth(request, loaded, check)
        if isinstance(request, ChangesRequest):
            return changes(request, loaded, check)
        if isinstance(request, AnswersRequest):
            return answers(request, loaded, check)
        if isinstance(request, PreActivationsRequest):
            return pre_activations(request, loaded)
        if isinstance(request, ActivationRequest):
            return activation(request, loaded, check)
        if isinstance(request, SwapRequest):
            return swap(request, loaded, check)
        if isinstance(request, TraceRequest):
            return trace.trace(request, loaded)
        if isinstance(request, NormRequest):
            return norm.norm(request, loaded)
        if isinstance(request, AttentionRequest):
            return overview.attention(request, loaded)
        return overview.lens_map(request, loaded)


def race(request: RaceRequest, check: Check = nothing, watch: Watch = ignore) -> RaceResult:
    """Run a race: a slot of the device is held for one step at a time, so that others get theirs.

    Parameters
    ----------
    request
        The race.
    check
        Called again and again; whatever it raises ends the race.
    watch
        Called after each step with everything measured so far.

    Raises
    ------
    InputError
        If the request is impossible or too large for this host.
    """
    return run_race(request, check, watch, lambda: turn(check))
