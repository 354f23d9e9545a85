"""The walk: one token's vector on its way through every block, stepped in the browser.

Three components that travel apart, because Streamlit sends a component's message again when any
of it changes: the code (never changes), the token's data (changes with the token and the model),
words and place (a few kilobytes). They meet in the browser; stepping asks nothing of the server.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from andrea.measures.trace import TraceResult
from app import i18n, state
from app.components.walk.payload import Packet, pack, stations
from app.components.walk.strings import strings

__all__ = ["Packet", "pack", "stations", "walk"]

HERE = Path(__file__).parent


def read(name: str) -> str:
    """Return a file beside this one."""
    return (HERE / name).read_text(encoding="utf-8")


def script() -> str:
    """Return the walk's JavaScript: its files, one concern each, in the order of their numbers."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(HERE.glob("js/*.js")))


_WALK = st.components.v2.component(
    "andrea_walk", html=read("walk.html"), css=read("walk.css"), js=script()
)
_PACKET = st.components.v2.component("andrea_walk_packet", js=read("packet.js"))
_SETTINGS = st.components.v2.component("andrea_walk_settings", js=read("settings.js"))


def walk(
    result: TraceResult,
    *,
    station: str | None = None,
    key: str = "walk",
    lang: str | None = None,
    theme: str = "light",
    on_take: Callable[[int, str], None] | None = None,
    jump: int = 0,
    packet: Packet | None = None,
) -> None:
    """Show a trace as a walk through the model's stations.

    Parameters
    ----------
    result
        The trace of one token.
    station
        Where to stand: ``"embed"``, ``"4.resid_mid"`` (block from 1), ``"ln_final"``, ``"logits"``;
        ``None`` is the beginning. One that this model lacks becomes the nearest it has. The walk
        writes the place into the address as ``at`` by itself; handing that back changes nothing.
    key
        Identity on the page.
    lang
        ``"it"`` or ``"en"``; the language in force if ``None``.
    theme
        ``"light"`` or ``"dark"``, used where the browser does not tell.
    on_take
        Called as ``on_take(id, text)``, as a callback before the rerun, when the visitor takes a
        next token. ``None`` disables it.
    jump
        A page that moves the walk by itself counts this up: the walk then goes to ``station`` even
        if it has just been there.
    packet
        What ``pack(result)`` gave, if the caller keeps it; it is made anew otherwise.
    """
    packet = packet or pack(result)
    lang = lang or i18n.current()
    with i18n.use_language(lang):
        words = strings()
    settings = {
        "key": key,
        "digest": packet.digest,
        "station": station,
        "jump": jump,
        "lang": lang,
        "theme": theme,
        "can_take": on_take is not None,
        "strings": words,
    }

    def taken() -> None:
        event = state.peek(key, {}).get("take") or {}
        # A second quick click comes from the bars of before: its token would not be drawn by the
        # probabilities that hold now.
        fresh = event.get("digest") == packet.digest
        if on_take is not None and fresh and isinstance(event.get("text"), str):
            on_take(int(event["id"]), event["text"])

    with st.container(gap=None):
        _PACKET(data=packet.data, key=f"{key}.packet")
        _SETTINGS(data=settings, key=f"{key}.settings")
        _WALK(data={"key": key}, key=key, on_take_change=taken)
