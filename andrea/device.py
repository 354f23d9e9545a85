"""Where the numbers are computed: which device, what it is called, how much it can hold.

Environment: ``ANDREA_DEVICE`` (cpu, cuda, mps) overrides the choice; ``ANDREA_THREADS`` sets the
threads of one request (default 1: several requests run side by side, and two threads beside a busy
neighbour are many times slower than one); ``ANDREA_MEMORY_GB`` caps what one model may take.
"""

from __future__ import annotations

import os
import platform
import threading
from functools import cache
from pathlib import Path

import torch

from andrea.errors import InputError


@cache
def device() -> torch.device:
    """Return the device that answers: CUDA, else MPS, else CPU; ``ANDREA_DEVICE`` overrides.

    Raises
    ------
    InputError
        If the environment asks for a device that is not there.
    """
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    wanted = os.environ.get("ANDREA_DEVICE", "").lower()
    if wanted and not available.get(wanted, False):
        raise InputError(
            "ANDREA_DEVICE is {wanted}: this machine has {available}",
            wanted=wanted,
            available=", ".join(name for name, there in available.items() if there),
        )
    # Numbers must agree across devices: no reduced-precision products.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_num_threads(threads())
    return torch.device(wanted or next(name for name, there in available.items() if there))


def threads() -> int:
    """Return how many threads one request may use on the CPU."""
    raw = os.environ.get("ANDREA_THREADS", "1")
    if not raw.isdigit() or not 1 <= int(raw) <= 1024:
        raise InputError("ANDREA_THREADS is {raw}: it must be a whole number from 1 up", raw=raw)
    return int(raw)


@cache
def name() -> str:
    """Return the device's name: the GPU's, or the processor's."""
    chosen = device()
    if chosen.type == "cuda":
        return torch.cuda.get_device_name(chosen)
    if chosen.type == "mps":
        return "Apple GPU (MPS)"
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return " ".join(line.split(":", 1)[1].split())
    except OSError:
        pass
    return platform.processor() or platform.machine()


def memory_limit() -> int:
    """Return how many bytes one model may take: a quarter of the machine's memory, half a GPU's."""
    raw = os.environ.get("ANDREA_MEMORY_GB")
    if raw:
        try:
            return int(float(raw) * 1e9)
        except ValueError as error:
            raise InputError(
                "ANDREA_MEMORY_GB is {raw}: it must be a number of gigabytes", raw=raw
            ) from error
    if device().type == "cuda":
        return torch.cuda.get_device_properties(device()).total_memory // 2
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    except (ValueError, OSError, AttributeError):
        return 4_000_000_000


# Heavy jobs take turns: as many side by side as there are cores, one on an accelerator.
_slots = threading.BoundedSemaphore(
    1 if torch.cuda.is_available() else max(1, (os.cpu_count() or 1) // threads())
)


def job() -> threading.BoundedSemaphore:
    """Return the semaphore that a computation holds while it runs (``with job(): ...``)."""
    return _slots
