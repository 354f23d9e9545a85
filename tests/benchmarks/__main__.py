"""``python -m tests.benchmarks [NAME ...] [--check]``: run the benchmarks, print their tables."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: one thread, as served
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from tests.benchmarks import Row


def known() -> list[str]:
    """Return the names of the benchmarks: the modules of this package, but for ``_`` ones."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(m.name for m in found if not m.name.startswith("_"))


def table(rows: list[Row]) -> str:
    """Lay rows out in columns."""
    width = max(len(row.name) for row in rows)
    lines = []
    for row in rows:
        seconds = "-" if row.seconds is None else f"{1000 * row.seconds:.1f} ms"
        ratio = "" if row.ratio is None else f"{row.ratio:.3f} x"
        limit = "" if row.limit is None else f"(at most {row.limit:.2f} x)"
        line = f"  {row.name:<{width}}  {seconds:>10}  {ratio:>8}  {limit} {row.note}"
        lines.append(line.rstrip() + ("" if row.passed else "  TOO SLOW"))
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run what was asked for; with ``--check`` a limit that is passed makes the exit status 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(known())}")
    parser.add_argument("--check", action="store_true", help="fail if a limit is passed")
    args = parser.parse_args(argv)
    unknown = [name for name in args.names if name not in known()]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known())}")
    passed = True
    for name in args.names or known():
        module = importlib.import_module(f"tests.benchmarks.{name}")
        print((module.__doc__ or name).strip().splitlines()[0], flush=True)
        rows: list[Row] = module.run()
        print(table(rows), flush=True)
        passed = passed and all(row.passed for row in rows)
    return 1 if args.check and not passed else 0


if __name__ == "__main__":
    sys.exit(main())
