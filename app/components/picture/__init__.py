"""A drawing of ours, as SVG in the page: it takes the page's font and needs no file."""

from __future__ import annotations

import streamlit as st

# The drawing is built by app/picture.py from the catalogue's words (escaped) and from numbers.
_component = st.components.v2.component(
    "andrea_picture",
    html='<div class="picture"></div>',
    css=".picture svg{display:block;width:100%;height:auto;max-height:600px}",
    js="export default function({parentElement, data}) {"
    "parentElement.querySelector('.picture').innerHTML = data.svg}",
)


def show_svg(svg: str, key: str) -> None:
    """Show SVG text that the site has made itself; never pass a visitor's text in it."""
    _component(key=key, data={"svg": svg})
