"""A button that copies a link, also where the browser gives no clipboard (plain http)."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent

_component = st.components.v2.component(
    "andrea_copy_link",
    html='<div class="box"></div>',
    css=(_HERE / "copy.css").read_text(encoding="utf-8"),
    js=(_HERE / "copy.js").read_text(encoding="utf-8"),
)


def copy_link(link: str, strings: dict[str, str], key: str) -> None:
    """Show the button.

    ``strings`` are ``copy`` (the button), ``copied`` (said afterwards) and ``manual`` (above the
    link itself, where the browser refuses). The walk's station and the point's ``x``, which they
    write into the address without asking the server, are taken from it when the button is pressed.
    """
    _component(key=key, data={"link": link, **strings}, width="content")
