"""The frame around every page: language, theme, menu, notices, and errors in plain words."""

from __future__ import annotations

import logging

import streamlit as st
from streamlit.navigation.page import Page

from andrea.errors import InputError
from app import compute, layout, registry, state
from app.i18n import _

log = logging.getLogger(__name__)


def draw() -> None:
    """Draw the frame and run the page that the address asks for."""
    st.set_page_config(layout="wide", initial_sidebar_state="auto")
    state.begin()
    state.language_switch("Lingua / Language")
    layout.frame()
    menu: dict[str, list[Page]] = {}
    for entry in registry.PAGES:
        menu.setdefault(_(entry.group), []).append(entry.page())
    page = st.navigation(menu, position="top")
    notices = st.container(key="notices")
    try:
        compute.warm_up()
        page.run()
    except InputError as error:
        layout.show_refusal(error)
    except Exception:  # not BaseException: that is how Streamlit stops and reruns
        log.exception("page %s", page.url_path)
        layout.apologise()
    with notices:
        for sentence in state.notices():
            layout.notice(sentence)
