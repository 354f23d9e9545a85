"""Figures shared by everybody who looks at the same race in the same language and colours.

A class watches one race: its figures are drawn once a second, not once a second for each of a
hundred visitors. A figure that is shared is handed to Streamlit under a lock, because Plotly's
objects are not made for several threads at once.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import plotly.graph_objects as go

from app import i18n, layout, theme

KEPT = 32


@dataclass(frozen=True)
class Frame:
    """Figures, and when they were drawn."""

    figures: tuple[go.Figure, ...]
    drawn: float


class Frames:
    """The figures that are shared.

    Parameters
    ----------
    clock
        Tells the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._frames: OrderedDict[Hashable, Frame] = OrderedDict()
        self.lock = threading.RLock()

    def get(
        self,
        what: Hashable,
        draw: Callable[[], tuple[go.Figure, ...]],
        seconds: float | None = None,
    ) -> tuple[go.Figure, ...]:
        """Return the figures of ``what``, drawn anew if they are older than ``seconds``."""
        key = (what, i18n.current(), theme.current()["bg"])
        with self.lock:
            frame = self._frames.get(key)
            if frame is None or (seconds is not None and self._clock() - frame.drawn >= seconds):
                frame = self._frames[key] = Frame(draw(), self._clock())
            self._frames.move_to_end(key)
            while len(self._frames) > KEPT:
                self._frames.popitem(last=False)
            return frame.figures


shared = Frames()


def chart(figure: go.Figure, key: str, alt: str) -> None:
    """Show a figure that others may be looking at as well."""
    with shared.lock:
        layout.chart(figure, key, alt)
