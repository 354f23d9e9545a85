"""Start the site: warm up first, so that the first visitor does not wait for imports.

``PORT`` (default 8501) and ``HOST`` (default localhost) come from the environment.
"""

from __future__ import annotations

import os
from pathlib import Path

from streamlit.web import cli

from app.compute import warm_up


def main() -> None:
    """Warm up, then serve."""
    warm_up()
    entry = str(Path(__file__).with_name("main.py"))
    port, host = os.environ.get("PORT", "8501"), os.environ.get("HOST", "localhost")
    cli.main(["run", entry, "--server.port", port, "--server.address", host])


if __name__ == "__main__":
    main()
