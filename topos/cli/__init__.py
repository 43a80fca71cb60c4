"""The `topos` command: one file a subcommand."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from topos.cli import bench, check, export, ops, printing, run, serve, status, validate
from topos.runtimes._command import told

__all__ = ["main"]

_COMMANDS = {
    "run": run,
    "validate": validate,
    "print": printing,
    "ops": ops,
    "status": status,
    "export": export,
    "check": check,
    "serve": serve,
    "bench": bench,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="topos", description="An autodiff compiler stack: record once, read many ways."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in _COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=command.HELP,
            description=f"{command.HELP[0].upper()}{command.HELP[1:]}.",
            epilog=command.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
    chosen = parser.parse_args(arguments)
    # XLA's client tells its devices on standard error, unless it is told before it loads.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    return told(lambda: _COMMANDS[chosen.command].run(chosen))


if __name__ == "__main__":
    sys.exit(main())
