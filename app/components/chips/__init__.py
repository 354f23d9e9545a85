"""Token chips: the text as the model reads it, one button a token, shaded by surprise."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from andrea.measures.trace import TraceResult
from app import i18n, state
from app.i18n import _

__all__ = ["chip_rows", "chips"]

HERE = Path(__file__).parent
_CHIPS = st.components.v2.component(
    "andrea_chips",
    html=(HERE / "chips.html").read_text(encoding="utf-8"),
    css=(HERE / "chips.css").read_text(encoding="utf-8"),
    js=(HERE / "chips.js").read_text(encoding="utf-8"),
)


def describe(position: int, token_id: int, log_prob: float) -> str:
    """Return what a chip says on demand: position, id, probability and surprise."""
    if position == 0:
        return _("Position 0: BOS, put before every text; nothing predicts it.")
    place = _("Position {position}, id {id}.").format(
        position=i18n.integer(position), id=i18n.integer(token_id)
    )
    if not math.isfinite(log_prob):
        return f"{place} " + _("The model gave it no usable probability.")
    p = math.exp(log_prob)
    surprise = _(
        "The model expected it here with {probability}: a surprise of {nats} nats (−ln p)."
    ).format(
        probability=i18n.percent(p, 1) if p >= 0.001 else f"p = {i18n.number(p, 4)}",
        nats=i18n.number(max(0.0, -log_prob), 2),
    )
    return f"{place} {surprise}"


def chip_rows(result: TraceResult) -> list[list[Any]]:
    """Return rows ``[label, id, surprise in nats or None, sentence]``, one a token, BOS first."""
    rows: list[list[Any]] = []
    for position, (label, token_id) in enumerate(
        zip(result.labels, result.tokens.ids, strict=True)
    ):
        log_prob = float(result.token_log_probs[position])
        known = position > 0 and math.isfinite(log_prob)
        sentence = describe(position, token_id, log_prob)
        rows.append([label, token_id, round(max(0.0, -log_prob), 4) if known else None, sentence])
    return rows


def chips(
    result: TraceResult,
    key: str = "chips",
    on_choose: Callable[[int], None] | None = None,
) -> None:
    """Show the tokens of a trace as chips; the traced one is pressed.

    Parameters
    ----------
    result
        The trace.
    key
        Identity on the page.
    on_choose
        Called as ``on_choose(position)``, as a callback before the rerun, when a chip is chosen;
        position 0 is BOS.
    """

    def chosen() -> None:
        position = state.peek(key, {}).get("choose")
        if on_choose is not None and isinstance(position, int | float):
            on_choose(int(position))

    words = {
        "group": _("Tokens of the text: choose the one to follow"),
        "about": _(
            "The stronger a token's colour, the more it surprised the model. Choose one to follow "
            "it."
        ),
    }
    data = {"chips": chip_rows(result), "position": result.position, "words": words}
    _CHIPS(data=data, key=key, on_choose_change=chosen)
