"""The text's tokens as chips, and the one that the visitor has chosen."""

from __future__ import annotations

from andrea.measures.trace import TraceResult
from andrea.requests import ModelRequest, TraceRequest
from app import compute, state
from app.components.chips import chips


def chosen_token(text: str, model: ModelRequest) -> TraceResult:
    """Show the chips; return the trace of the chosen token."""
    last = len(compute.tokens(text, model).pieces) - 1
    position = state.get("pos", -1, of=text, allowed=lambda p: -1 <= p <= last)
    traced = compute.answer(TraceRequest(text, model, position))
    chips(traced, key="chips", on_choose=lambda p: state.put("pos", p, of=text))
    return traced
