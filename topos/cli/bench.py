"""`topos bench`: how long calls of a bundle take, and how many a second, on each runtime."""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from topos import bundle as bundles
from topos import runtimes
from topos.bundle.measurement import PERCENTILES, Measurement
from topos.bundle.report import ready
from topos.cli import _bench_picture as picture
from topos.cli._figures import duration, rate, size
from topos.cli._progress import follow
from topos.cli._reporting import DONE, FAILED, INTERRUPTED, complain
from topos.cli._shared import add_bundle_arguments, add_compiled, naming, table, whole
from topos.engine import Numerics
from topos.errors import ArgumentError, BundleError

if TYPE_CHECKING:
    from topos.bundle import Bundle, Program
    from topos.bundle.trial import Trial

HELP = "measure latency and throughput of a bundle on each runtime"
EPILOG = """\
Every program of the bundle, one for each number of rows, is called with the inputs of its oracle
sample on every runtime that is ready, in interleaved rounds after a warm-up. A percentile is the
latency of a call that took place. A foreign runtime is measured inside a worker process, and one
that a module ends costs a row. Compiling and the first call stand in columns of their own; a
compile cache that TOPOS_COMPILE_CACHE names shortens the former. Memory is what the runtime tells
of its executable. Whether results are right is for topos check to say. Ctrl-C prints what was
measured so far.

exit status: 0 done; 1 the bundle is refused or a runtime failed; 2 wrong usage, an unreadable
file, or something that this installation lacks; 130 interrupted.
"""

THREADS: Final = 256
_count: Final = partial(whole, least=1)
HEADINGS: Final = (
    *("runtime", "rows", "compile", "first call", "p50", "p90", "p99", "max"),
    *("calls/s", "rows/s", "memory"),
)


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    add_bundle_arguments(parser)
    add_compiled(parser)
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=_duration,
        default=2.0,
        help="how long each program is measured on each runtime (default: %(default)g)",
    )
    parser.add_argument("--rows", metavar="N", type=_count, help="only the program of so many rows")
    parser.add_argument(
        "--threads",
        metavar="T",
        type=_count,
        default=1,
        help="call from so many threads at once (default: %(default)s)",
    )
    parser.add_argument("--png", metavar="FILE", help="draw the latencies into a picture")
    parser.add_argument(
        "--json", action="store_true", help="print JSON, in seconds and bytes, for other programs"
    )


def _duration(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 86400:
        raise ArgumentTypeError(f"needs seconds above 0 and up to a day, got {text!r}")
    return seconds


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    if chosen.threads > THREADS:
        raise ArgumentError(f"--threads takes at most {THREADS}, got {chosen.threads}")
    if chosen.png is not None:
        picture.require(chosen.png)
    bundle, judges = bundles.Bundle.load(chosen.bundle), ready(chosen.runtime)
    # Only a bundle that was loaded shows that the packages behind these are installed.
    from topos.bundle.trial import trials

    programs = _programs(bundle, chosen.rows)
    measured = trials(
        bundle, judges, programs, Numerics(chosen.numerics), isolated=True, compiled=chosen.compiled
    )
    return _measure(chosen, bundle, measured)


def _programs(bundle: Bundle, rows: int | None) -> Sequence[Program]:
    programs = [each for each in bundle.programs if rows is None or each.rows == rows]
    if not programs:
        there = ", ".join(str(each.rows) for each in bundle.programs if each.rows is not None)
        wanted = "1 row" if rows == 1 else f"{rows} rows"
        raise BundleError(
            f"{bundle.path} has no program of {wanted}, but of {there or 'no rows at all'}"
        )
    return programs


def _measure(chosen: Namespace, bundle: Bundle, measured: Sequence[Trial]) -> int:
    from topos.bundle.trial import rounds

    status = DONE
    try:
        follow(rounds(measured, chosen.seconds, chosen.threads))
    except KeyboardInterrupt:
        complain("interrupted: what follows was measured until then")
        status = INTERRUPTED
    found = [each.measurement for each in measured]
    print(_json(chosen, bundle, found) if chosen.json else _text(chosen, bundle, found))
    if chosen.png is not None:
        with naming(f"--png {chosen.png}"):
            picture.write(chosen.png, _title(chosen, bundle), found)
        # Standard output may be JSON, which takes no line beside it.
        complain(f"picture written to {chosen.png}")
    if status == DONE and any(each.failure is not None for each in found):
        return FAILED
    return status


def _json(chosen: Namespace, bundle: Bundle, found: Sequence[Measurement]) -> str:
    content = {
        "model": bundle.name,
        "version": bundle.version,
        "numerics": chosen.numerics,
        "threads": chosen.threads,
        "seconds": chosen.seconds,
        "measurements": [each.record() for each in found],
    }
    return json.dumps(content, indent=2)


def _text(chosen: Namespace, bundle: Bundle, found: Sequence[Measurement]) -> str:
    rows = [HEADINGS, *map(_row, found)]
    lines = [_title(chosen, bundle), "", table(rows, frozenset(range(1, len(HEADINGS))))]
    failures = [f"{each.runtime}: {each.failure}" for each in found if each.failure is not None]
    absent = [
        f"{name} is not ready: {each.detail}"
        for name, each in runtimes.status().items()
        if chosen.runtime is None and not each.ready
    ]
    forms = [f"{each.runtime} {each.program}: {each.note}" for each in found if each.note]
    notes = dict.fromkeys((*failures, *absent, *forms))
    return "\n".join([*lines, "", *notes] if notes else lines)


def _title(chosen: Namespace, bundle: Bundle) -> str:
    threads = "1 thread" if chosen.threads == 1 else f"{chosen.threads} threads"
    each = f"{chosen.seconds:g} s each"
    return f"{bundle.name} {bundle.version}: {chosen.numerics} numerics, {threads}, {each}"


def _row(found: Measurement) -> tuple[str, ...]:
    return (
        found.runtime,
        "-" if found.rows is None else f"{found.rows:,}",
        duration(found.compilation),
        duration(found.first_call),
        *(duration(found.percentile(percent)) for percent in PERCENTILES),
        rate(found.calls_per_second),
        rate(found.rows_per_second),
        size(found.memory),
    )
