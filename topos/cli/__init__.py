"""The `topos` command: one file a subcommand."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from topos.cli import bench, check, export, ops, printing, run, serve, status, validate
from topos.runtimes._command import UNUSABLE, complain, told

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
    parser.add_argument("--version", action="version", version=f"topos {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
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
    if chosen.command is None:
        complain(parser.format_help().rstrip())
        return UNUSABLE
    # XLA's client tells its devices on standard error, unless it is told before it loads.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    return told(lambda: _COMMANDS[chosen.command].run(chosen))


def _version() -> str:
    try:
        return version("topos-compiler")
    except PackageNotFoundError:
        return "of a folder that was never installed"


if __name__ == "__main__":
    sys.exit(main())
