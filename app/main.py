"""The frame around every page: language, theme, menu, and one polite sentence if all else fails.

``streamlit run app/main.py`` works from any folder; ``python -m app`` warms up before serving.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # `streamlit run` puts only app/ on the path
    sys.path.insert(0, str(ROOT))

from andrea.errors import InputError  # noqa: E402
from app import compute, layout, registry, state  # noqa: E402
from app.i18n import _  # noqa: E402

log = logging.getLogger("app")


def main() -> None:
    """Draw the frame and run the page."""
    st.set_page_config(layout="wide", initial_sidebar_state="auto")
    state.begin()
    state.language_switch("Lingua / Language")
    layout.frame()
    menu: dict[str, list] = {}
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


main()
