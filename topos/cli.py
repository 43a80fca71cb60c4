"""The `topos` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from topos import backend, runtimes
from topos.runtimes._command import told

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="topos", description="An autodiff compiler stack: record once, read many ways."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    status = commands.add_parser("status", help="print what is ready here, or why not")
    status.set_defaults(run=_status)
    chosen = parser.parse_args(arguments)
    return told(chosen.run)


def _status() -> int:
    kinds = {"runtime": runtimes.status(), "backend": {"numba": backend.numba.status()}}
    for kind, answers in kinds.items():
        for name, answer in answers.items():
            state = "ready" if answer.ready else "not ready"
            print(f"{kind}  {name:<11}  {state:<9}  {answer.detail}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
