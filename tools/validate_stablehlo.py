"""Parses and verifies StableHLO files with the MLIR that jaxlib carries."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from topos.cli._reporting import DONE, FAILED, UNUSABLE, describe, told
from topos.errors import UnavailableError
from topos.runtimes._mlir import Fault, read
from topos.runtimes._packages import imported, installed

EPILOG = """\
A valid file is one line on standard output. A fault is told on standard error as
FILE:LINE:COLUMN: REASON, followed by the line and a caret.

exit status: 0 all valid; 1 a file is not, or standard output takes nothing more; 2 wrong usage, an
unreadable file, or no jaxlib.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line, checks every file, and returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="StableHLO text")
    chosen = parser.parse_args(arguments)
    return told(lambda: _check_all(chosen.files))


def _check_all(paths: list[str]) -> int:
    try:
        return max(_check(path) for path in paths)
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return UNUSABLE


def _check(path: str) -> int:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        print(f"{path}: a module needs UTF-8 text: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(error, file=sys.stderr)
        return UNUSABLE
    fault = _fault(text)
    if fault is None:
        print(f"{path}: valid")
        return DONE
    print(describe(path, fault.error()), file=sys.stderr)
    return FAILED


def _fault(text: str) -> Fault | None:
    with imported(installed("xla", "xla", {"jax": "jax", "jaxlib": "jaxlib"})):
        from jax.extend.mlir import ir
        from jax.interpreters.mlir import make_ir_context

    with make_ir_context():
        module = read(ir, text)
    return module if isinstance(module, Fault) else None


if __name__ == "__main__":
    sys.exit(main())
