"""Compares a float32 map with an independent evaluation at all of its 2**32 arguments.

The kernel rounds an approximation of numpy's; the other side rounds double-double enclosures,
and asks MPFR where those do not decide. A range that was broken off goes on with --start. The
row of a finished range joins the table of docs/guides/exhaustive.md, or of --report.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from itertools import starmap
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

if find_spec("gmpy2") is None:
    print("this command needs gmpy2: pip install 'topos-compiler[dev]'", file=sys.stderr)
    raise SystemExit(2)

from tests.conformance import enclosures, mpfr  # noqa: E402  # The root must be on the path first.
from topos.payload.kernels import maps  # noqa: E402

ALL: Final = 1 << 32
# So many arguments are one report of progress, one call of the kernel, one stay in the cache.
STRETCH: Final = 1 << 22
BLOCK: Final = 1 << 16
CHUNK: Final = 1 << 12
SHOWN: Final = 20

Array = npt.NDArray[Any]


class Outcome(NamedTuple):
    """What a stretch of arguments showed: its end, the wrong patterns, the undecided lanes."""

    stop: int
    wrong: tuple[int, ...]
    undecided: int


def compared(name: str, start: int, stop: int) -> Outcome:
    """Returns the outcome for the patterns from `start` up to `stop`."""
    wrong: list[int] = []
    undecided = 0
    for first in range(start - start % BLOCK, stop, BLOCK):
        patterns = np.arange(max(first, start), min(first + BLOCK, stop), dtype=np.uint32)
        values = patterns.view(np.float32)
        result = getattr(maps, name)(values).view(np.uint32)
        expected, left_open = evaluated(name, values)
        undecided += left_open
        wrong += patterns[result != expected].tolist()
    return Outcome(stop, tuple(wrong), undecided)


def evaluated(name: str, values: Array) -> tuple[Array, int]:
    """Returns the patterns of the map by enclosures, and how many lanes those left to MPFR."""
    ends = values[[0, -1]]
    # All maps are monotone, but for sine and cosine beyond 1: what both ends of a block of
    # patterns of one sign round to, all between them do.
    if name not in ("sin", "cos") or np.abs(ends).max() <= 1.0:
        alike, decided = enclosures.enclosed(name, ends)
        first, last = alike.view(np.uint32)
        if decided.all() and first == last:
            return np.broadcast_to(first, values.shape), 0
    expected = np.empty(values.size, np.float32)
    undecided = 0
    for start in range(0, values.size, CHUNK):
        chunk = values[start : start + CHUNK]
        found, decided = enclosures.enclosed(name, chunk)
        if not decided.all():
            undecided += int(np.count_nonzero(~decided))
            found[~decided] = mpfr.mapped(name, chunk[~decided])
        expected[start : start + CHUNK] = found
    return expected.view(np.uint32), undecided


def outcomes(name: str, start: int, stop: int, processes: int) -> Iterator[Outcome]:
    """Yields the outcome of one stretch after the other."""
    firsts = range(start, stop, STRETCH)
    jobs = [(name, first, min(first + STRETCH, stop)) for first in firsts]
    if processes == 1:
        yield from starmap(compared, jobs)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(compared, *zip(*jobs, strict=True))


def shown(name: str, found: Iterable[Outcome], start: int, stop: int) -> Iterator[Outcome]:
    """Yields `found` while showing the progress: a bar where rich is installed, else lines."""
    if find_spec("rich") is None or not sys.stderr.isatty():
        yield from lined(name, found, start, stop)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(name, total=stop - start)
        for outcome in found:
            progress.update(task, completed=outcome.stop - start)
            yield outcome


def lined(name: str, found: Iterable[Outcome], start: int, stop: int) -> Iterator[Outcome]:
    """Yields `found` and prints where it could be taken up again, about a hundred times."""
    step = max(STRETCH, (stop - start) // 100)
    following = start + step
    for outcome in found:
        if following <= outcome.stop < stop:
            following = outcome.stop + step
            done = (outcome.stop - start) / (stop - start)
            print(f"{name}: {done:4.0%}, go on with --start {outcome.stop:#x}", file=sys.stderr)
        yield outcome


def row(name: str, inputs: int, wrong: list[int], undecided: int, seconds: float) -> str:
    """Returns the row of the table; the first wrong arguments are named by their patterns."""
    named = " ".join(f"{pattern:#010x}" for pattern in wrong[:SHOWN])
    count = f"{len(wrong):,}" + (f": {named}" if wrong else "")
    return f"| {name} | {inputs:,} | {count} | {undecided:,} | {seconds:,.0f} |"


def main() -> int:
    """Parses the command line, compares, appends the row, and returns 1 where a bit is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("function", choices=sorted(mpfr.MAPS))
    whole = {"type": lambda text: int(text, 0), "metavar": "PATTERN"}
    parser.add_argument("--start", default=0, help="first argument, as an integer", **whole)
    parser.add_argument("--stop", default=ALL, help="past the last argument", **whole)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--report", type=Path, default=ROOT / "docs/guides/exhaustive.md")
    chosen = parser.parse_args()
    began = time.perf_counter()
    wrong: list[int] = []
    undecided = 0
    found = outcomes(chosen.function, chosen.start, chosen.stop, chosen.processes)
    for outcome in shown(chosen.function, found, chosen.start, chosen.stop):
        wrong += outcome.wrong
        undecided += outcome.undecided
    seconds = time.perf_counter() - began
    line = row(chosen.function, chosen.stop - chosen.start, wrong, undecided, seconds)
    print(line)
    with chosen.report.open("a", encoding="utf-8") as report:
        report.write(line + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
