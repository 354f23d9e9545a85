"""A page with nothing but chips and a walk, for browser tests: everything comes from the URL."""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from andrea.requests import ModelRequest, TraceRequest  # noqa: E402
from app import compute, i18n, state  # noqa: E402
from app.components.chips import chips  # noqa: E402
from app.components.walk import walk  # noqa: E402

st.set_page_config(layout="wide")
state.begin()
query = st.query_params
lang = query.get("lang", "en")
if "position" not in st.session_state:
    st.session_state["position"] = int(query.get("pos", "-1"))
    st.session_state["text"] = query.get("text", "C'era una volta un re che aveva")


def go_on(token_id: int, addition: str) -> None:
    """Let the text grow by the token that was taken."""
    st.session_state["text"] = result.request.text + addition
    st.session_state["position"] = -1
    st.session_state["taken"] = token_id


def choose(position: int) -> None:
    """Follow another token."""
    st.session_state["position"] = position


request = TraceRequest(
    st.session_state["text"],
    ModelRequest(
        query.get("model", "andrea-mini"),
        0,
        query.get("norm", "pre"),
        query.get("residual", "true") == "true",
        int(query["depth"]) if "depth" in query else None,
    ),
    st.session_state["position"],
)
with i18n.use_language(lang):
    result = compute.answer(request)
    st.text_input("Frase", value=request.text)
    chips(result, key="chips", on_choose=choose)
    walk(
        result,
        station=query.get("at"),
        key="walk",
        lang=lang,
        on_take=None if query.get("closed") else go_on,
    )
    st.session_state["runs"] = st.session_state.get("runs", 0) + 1
    st.caption(f"run {st.session_state['runs']}, station {query.get('at')}")
    st.button("again")
