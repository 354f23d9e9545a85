"""Run a request on this machine's device. The site and the terminal both come through here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import overload

from andrea import device, sources
from andrea.measures import gradients, overview, parameters, trace
from andrea.measures.backward import Check, nothing
from andrea.requests import (
    AttentionRequest,
    GradientsRequest,
    LensMapRequest,
    ModelRequest,
    ParametersRequest,
    Request,
    TraceRequest,
)
from andrea.sources import LoadedModel

Load = Callable[[ModelRequest], LoadedModel]
Result = (
    trace.TraceResult
    | overview.AttentionResult
    | overview.LensMapResult
    | parameters.ParametersResult
    | gradients.GradientsResult
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
def run(request: ParametersRequest, load: Load = ...) -> parameters.ParametersResult: ...
@overload
def run(
    request: GradientsRequest, load: Load = ..., check: Check = ...
) -> gradients.GradientsResult: ...
def run(
    request: Request | ParametersRequest | GradientsRequest,
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
    loaded = load(request.model)
    with device.job():
        if isinstance(request, TraceRequest):
            return trace.trace(request, loaded)
        if isinstance(request, AttentionRequest):
            return overview.attention(request, loaded)
        return overview.lens_map(request, loaded)
