"""Run a request on this machine's device. The site and the terminal both come through here."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from andrea import device, sources
from andrea.measures import trace
from andrea.requests import (
    AttentionRequest,
    LensMapRequest,
    ModelRequest,
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
def run(
    request: Request, load: Load = sources.load
) -> trace.TraceResult | trace.AttentionResult | trace.LensMapResult:
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
    loaded = load(request.model)
    with device.job():
        if isinstance(request, TraceRequest):
            return trace.trace(request, loaded)
        if isinstance(request, AttentionRequest):
            return trace.attention(request, loaded)
        return trace.lens_map(request, loaded)
