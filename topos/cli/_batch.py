"""Requests on standard input: one process serves many, each a list of paths."""

from __future__ import annotations

import io
import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Final

from topos.cli._reporting import DONE, status_of
from topos.errors import ArgumentError

TOLD: Final = """\
With --batch each line of standard input is a request, a JSON list of paths, and each request gets a
line of JSON on standard output: the status, and what was said, {"status": 0, "said": "..."}."""


def add_batch_argument(parser: ArgumentParser) -> None:
    """Adds the option by which a command takes requests."""
    parser.add_argument(
        "--batch", action="store_true", help="take requests from standard input, one a line"
    )


def demand_paths(paths: Sequence[str], batch: bool) -> None:
    """Raises `ArgumentError` unless there are paths, or requests that bring them."""
    if bool(paths) == batch:
        got = "both" if batch else "neither"
        raise ArgumentError(f"a command takes paths or --batch, got {got}")


def serve(action: Callable[[list[str]], int]) -> int:
    """Runs `action` on the paths of each request and returns the exit status."""
    output = sys.stdout
    for line in sys.stdin:
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            status = status_of(lambda line=line: action(_paths(line)))  # type: ignore[misc]
        print(json.dumps({"status": status, "said": said.getvalue()}), file=output, flush=True)
    return DONE


def _paths(line: str) -> list[str]:
    try:
        paths = json.loads(line)
    except ValueError:
        paths = None
    if not isinstance(paths, list) or not paths or not all(isinstance(at, str) for at in paths):
        raise ArgumentError(f"a request needs a JSON list of paths, got {line.strip()[:60]!r}")
    return paths
