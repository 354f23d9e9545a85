"""The same questions from a terminal."""

from __future__ import annotations

import argparse
import sys

from andrea import train


def main() -> int:
    """Run one command; bad input is one line on stderr and exit status 2."""
    parser = argparse.ArgumentParser(prog="python -m andrea")
    commands = parser.add_subparsers(dest="command", required=True)
    train.add_arguments(commands.add_parser("train"))
    args = parser.parse_args()
    try:
        train.main(args)
    except ValueError as error:
        print(f"andrea: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
