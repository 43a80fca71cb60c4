"""What the commands that run modules share: files in, files out, diagnostics on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from topos.engine import Numerics
from topos.errors import TextError, ToposError, UnavailableError
from topos.runtimes import load as load_runtime
from topos.runtimes._archive import load, save

__all__ = ["DONE", "FAILED", "UNUSABLE", "Job", "describe", "run"]

# The exit statuses of the commands.
DONE, FAILED, UNUSABLE = 0, 1, 2


class Job(NamedTuple):
    """One module to run: the paths of its text, of its arguments, and for its results."""

    module: str
    arguments: str
    results: str


def run(jobs: Iterable[Job], runtime: str, numerics: Numerics) -> int:
    """Runs every job, tells each failure on standard error, and returns the exit status.

    A job that fails writes no results, and does not stop the next one.
    """
    statuses = [_attempt(job, runtime, numerics) for job in jobs]
    return max(statuses, default=DONE)


def describe(path: str, error: ToposError) -> str:
    """Returns `error` told of `path`; one with a place as `path:line:column: reason`, then it."""
    if not isinstance(error, TextError) or not error.line:
        return f"{path}: {error}"
    return f"{path}:{error.line}:{error.column}: {error.reason}{error.excerpt()}"


def _attempt(job: Job, runtime: str, numerics: Numerics) -> int:
    try:
        text = Path(job.module).read_text(encoding="utf-8")
        executable = load_runtime(runtime).compile(text, numerics=numerics)
        arguments = load(job.arguments, executable.signature.arguments, "arg")
        save(job.results, executable(*arguments), "result")
    except UnavailableError as error:
        return _fail(str(error), UNUSABLE)
    except ToposError as error:
        return _fail(describe(job.module, error), FAILED)
    except UnicodeDecodeError as error:
        return _fail(f"{job.module}: a module needs UTF-8 text: {error}", FAILED)
    except OSError as error:
        return _fail(str(error), UNUSABLE)
    return DONE


def _fail(message: str, status: int) -> int:
    print(message, file=sys.stderr)
    return status
