"""The `topos` command: one file a subcommand."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from topos.cli._reporting import UNUSABLE, complain, told

__all__ = ["main"]

# The files of the commands, in the order of the help.
_COMMANDS: Final = {
    "run": "run",
    "eval": "eval",
    "validate": "validate",
    "print": "printing",
    "ops": "ops",
    "status": "status",
    "emit": "emit",
    "export": "export",
    "bundle": "bundle",
    "check": "check",
    "grade": "grade",
    "bisect": "bisect",
    "reduce": "reduce",
    "record": "record",
    "judge": "judge",
    "triage": "triage",
    "certify": "certify",
    "serve": "serve",
    "bench": "bench",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    # A command that is named first is loaded alone; otherwise the help tells of all.
    named = given[:1] if given and given[0] in _COMMANDS else _COMMANDS
    loaded = {name: import_module(f"topos.cli.{_COMMANDS[name]}") for name in named}
    parser = argparse.ArgumentParser(
        prog="topos", description="An autodiff compiler stack: record once, read many ways."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in loaded.items():
        subparser = commands.add_parser(
            name,
            help=command.HELP,
            description=f"{command.HELP[0].upper()}{command.HELP[1:]}.",
            epilog=command.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
    chosen = parser.parse_args(given)
    if chosen.command is None:
        complain(parser.format_help().rstrip())
        return UNUSABLE
    # XLA's client tells its devices on standard error, unless it is told before it loads.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    return told(lambda: loaded[chosen.command].run(chosen))


class _Version(argparse.Action):
    """Prints the version, which is looked up only where it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"topos {_version()}")
        parser.exit()


def _version() -> str:
    metadata = import_module("importlib.metadata")
    try:
        return str(metadata.version("topos-compiler"))
    except metadata.PackageNotFoundError:
        return "of a folder that was never installed"


if __name__ == "__main__":
    sys.exit(main())
