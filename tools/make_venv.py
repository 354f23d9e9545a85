"""Make a virtual environment and install a requirements file into it; say how long it took.

Runs before anything is installed, so it needs the standard library only:
``python3 tools/make_venv.py .venv requirements.txt``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

NO_VENV = """\
This Python ({python}) cannot make virtual environments: its parts venv and ensurepip are missing.
On Debian and Ubuntu they are a package of their own: install python3-venv, then try again."""


def is_debian() -> bool:
    """Whether this is Debian itself, where a browser and venv are ordinary packages."""
    try:
        lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return "ID=debian" in lines


def may_install() -> bool:
    """Whether the system's package manager may be used: root on Debian."""
    return is_debian() and os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt_install(*packages: str) -> bool:
    """Install Debian packages; return whether that worked."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    print(f"Installing with apt-get: {' '.join(packages)}", flush=True)
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", "-qq", *command], env=quiet, stdout=subprocess.DEVNULL)
        if done.returncode:
            return False
    return True


def python_of(folder: Path) -> Path:
    """Where an environment's interpreter stands."""
    return folder / "bin" / "python"


def is_whole(folder: Path) -> bool:
    """Whether an environment is there and has pip: a making that was cut short leaves none."""
    python = python_of(folder)
    return python.exists() and subprocess.call([str(python), "-c", "import pip"]) == 0


def make(folder: Path) -> bool:
    """Make the environment unless it is there; return whether it is there now."""
    if is_whole(folder):
        return True
    if importlib.util.find_spec("ensurepip") is None:
        if not (may_install() and apt_install("python3-venv")):
            print(NO_VENV.format(python=sys.executable), file=sys.stderr)
            return False
        # The parts have just arrived; a new process sees them.
        return subprocess.call([sys.executable, "-m", "venv", "--clear", str(folder)]) == 0
    print(f"Making {folder} with Python {sys.version.split()[0]}", flush=True)
    venv.create(folder, with_pip=True, symlinks=True, clear=folder.exists())
    return is_whole(folder)


def main() -> int:
    """Make the environment ``argv[1]`` and install the requirements file ``argv[2]``."""
    if len(sys.argv) != 3:
        print("usage: make_venv.py FOLDER REQUIREMENTS", file=sys.stderr)
        return 2
    folder, requirements = Path(sys.argv[1]), sys.argv[2]
    start = time.monotonic()
    if not make(folder):
        return 1
    print(
        f"Installing {requirements} (the first time this downloads torch, so it can take a while)"
    )
    sys.stdout.flush()
    pip = [str(python_of(folder)), "-m", "pip", "--disable-pip-version-check"]
    if not sys.stdout.isatty():
        pip.append("--quiet")  # a log wants pip's errors, not its progress bars
    if subprocess.call([*pip, "install", "-r", requirements]):
        print(
            f"Installing {requirements} did not work; pip's own words are above. Without a network "
            "nothing can be downloaded; otherwise `make clean` and the same command start afresh.",
            file=sys.stderr,
        )
        return 1
    print(f"{folder} is ready: {requirements}, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
