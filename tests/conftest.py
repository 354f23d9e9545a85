"""What every test shares: one thread, no network, browser tests last."""

from __future__ import annotations

import os

# Before torch or NumPy is imported: the tests are many small computations, and a second thread on
# a machine with a busy neighbour makes them twenty times slower.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)

BROWSER = Path(__file__).parent / "browser"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the browser tests last: they are the slow ones, and Playwright keeps an event loop."""
    items.sort(key=lambda item: BROWSER in item.path.parents)
