"""A point on GELU and ReLU: the curves, a slider under them, the formulas with its numbers.

Every number of every stop comes with the page; a step asks nothing of the server. Where the point
stands is written into the address as ``x`` by the component itself.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import readings, state
from app.components.point.payload import START, payload, place

__all__ = ["START", "payload", "place", "point"]

HERE = Path(__file__).parent


def read(name: str) -> str:
    """Return a file beside this one."""
    return (HERE / name).read_text(encoding="utf-8")


_POINT = st.components.v2.component(
    "andrea_point",
    html=read("point.html"),
    css=read("point.css"),
    js="\n".join(path.read_text(encoding="utf-8") for path in sorted(HERE.glob("js/*.js"))),
)


def point(key: str = "point") -> None:
    """Show the curves with a point to move, in the language in force.

    The data are the same at every rerun, so that Streamlit does not send them again and the point
    stays where the reader put it.
    """
    # The browser reads it by itself; what cannot be used is named among the page's notices.
    state.checked("x", state.preview("x", START, place))
    _POINT(data=payload(readings.voice()), key=key)
