"""Loaded models, kept within a number of bytes. The one instance lives in ``app/compute.py``."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from andrea.requests import ModelRequest
from andrea.sources import LoadedModel


class ModelCache:
    """Loaded models, the least recently used dropped first, within a number of bytes.

    Two that ask for the same model load it once; different models load side by side.

    Parameters
    ----------
    load
        Makes the model.
    size
        Its bytes, known before it is loaded, so that room is made first.
    limit
        How many bytes all models together may take.
    """

    def __init__(
        self,
        load: Callable[[ModelRequest], LoadedModel],
        size: Callable[[ModelRequest], int],
        limit: Callable[[], int],
    ) -> None:
        self._load, self._size, self._limit = load, size, limit
        self._kept: OrderedDict[ModelRequest, tuple[LoadedModel, int]] = OrderedDict()
        self._loading: dict[ModelRequest, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: ModelRequest) -> LoadedModel:
        """Return the model, loaded if it is not there."""
        with self._lock:
            gate = self._loading.setdefault(key, threading.Lock())
        with gate:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key][0]
                need = self._size(key)
                self._make_room(need)
            try:
                model = self._load(key)
                with self._lock:
                    self._make_room(need)
                    self._kept[key] = (model, need)
            finally:
                with self._lock:
                    self._loading.pop(key, None)
        return model

    def _make_room(self, need: int) -> None:
        while self._kept and self.n_bytes + need > self._limit():
            self._kept.popitem(last=False)

    @property
    def n_bytes(self) -> int:
        """Bytes that the kept models take."""
        return sum(size for _, size in self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)
