"""The same questions from a terminal: ``python -m andrea trace "text" --json`` and the others.

Bad input is one line on stderr and exit status 2. ``--json`` prints one JSON document and nothing
else; its keys are the field names of the result dataclasses.
"""

from __future__ import annotations

import argparse
import sys

from andrea import cli, cli_train, train
from andrea.errors import InputError


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Print one line on stderr and leave with status 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all commands; each stores what to run in ``args.run``."""
    parser = Parser(prog="python -m andrea", description="Ask the model from a terminal.")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="command", parser_class=Parser
    )
    for name, help_text, add_arguments, run in cli.COMMANDS:
        command = commands.add_parser(name, help=help_text, description=help_text)
        add_arguments(command)
        command.set_defaults(run=run)
    command = commands.add_parser("train", help="train a small model on your own text")
    cli_train.add_arguments(command)
    command.set_defaults(run=train.main)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command and return the exit status."""
    args = build_parser().parse_args(argv)
    try:
        args.run(args)
    except (InputError, ValueError) as error:
        print(f"andrea: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `... | head` closed the pipe
        sys.stderr.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
