"""Run a request on this machine's device. The site and the terminal both come through here."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from andrea import device, sources
from andrea.measures import parameters, trace
from andrea.requests import (
    AttentionRequest,
    LensMapRequest,
    ModelRequest,
    ParametersRequest,
    Request,
    TraceRequest,
)
from andrea.sources import LoadedModel

Load = Callable[[ModelRequest], LoadedModel]


@overload
def run(request: TraceRequest, load: Load = ...) -> trace.TraceResult: ...
@overload
def run(request: AttentionRequest, load: Load = ...) -> trace.AttentionResult: ...
@overload
def run(request: LensMapRequest, load: Load = ...) -> trace.LensMapResult: ...
@overload
def run(request: ParametersRequest, load: Load = ...) -> parameters.ParametersResult: ...
def run(
    request: Request | ParametersRequest, load: Load = sources.load
) -> trace.TraceResult | trace.AttentionResult | trace.LensMapResult | parameters.ParametersResult:
    """Answer a request.

    Parameters
    ----------
    request
        One of the frozen requests of ``andrea.requests``.
    load
        How to get the model; the site passes a cached one.

    Raises
    ------
    InputError
        If the request is impossible; the message says what is allowed.
    """
    if isinstance(request, ParametersRequest):  # counted from shapes: no weights, no device
        return parameters.parameters(request)
    loaded = load(request.model)
    with device.job():
        if isinstance(request, TraceRequest):
            return trace.trace(request, loaded)
        if isinstance(request, AttentionRequest):
            return trace.attention(request, loaded)
        return trace.lens_map(request, loaded)
