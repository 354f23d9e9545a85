"""The entry: ``streamlit run app/main.py`` works from any folder.

``python -m app`` warms up before it serves. Everything else is in ``app/frame.py``.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # `streamlit run` puts only app/ on the path
    sys.path.insert(0, str(ROOT))

# For the case that not even the catalogues can be read.
SORRY = (
    "Il sito non riesce a partire: avvisa chi lo gestisce, i dettagli sono nel registro del "
    "server.  \nThe site cannot start: tell whoever runs it; the details are in the server's log."
)


def main() -> None:
    """Draw the site; whatever goes wrong, nobody meets a stack trace."""
    try:
        from app import frame

        frame.draw()
    except Exception:  # not BaseException: that is how Streamlit stops and reruns
        logging.getLogger("app").exception("the frame")
        st.warning(SORRY)


main()
