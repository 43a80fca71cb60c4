"""One table of engines: how many calls a second of three models each makes, beside numpy by hand.

The engines of one model take turns in one process and on one thread; the least time of a call
counts, and one that is slow sits out once it has had its seconds. Every engine's results are held
to numpy's first. Runtimes compute by Fast numerics. A ratio of 2 is twice as fast as numpy by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NamedTuple

# What numpy's BLAS, XLA and others read when they are first imported.
ONE_THREAD: Final = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
# A library that the environment tunes is another library.
TUNING: Final = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
if __name__ == "__main__" and (
    not ONE_THREAD.items() <= os.environ.items() or any(map(os.environ.get, TUNING))
):
    kept = {name: value for name, value in os.environ.items() if name not in TUNING}
    os.execve(sys.executable, [sys.executable, *sys.argv], {**kept, **ONE_THREAD})

import numpy as np  # noqa: E402  # numpy must find the environment set.
from engine_workloads import WORKLOADS, Workload  # noqa: E402  # See above.
from timing import interleaved  # noqa: E402  # See above.

from topos import Numerics, runtimes  # noqa: E402  # See above.
from topos.cli._figures import digits  # noqa: E402  # See above.

Call = Callable[[], Any]

PEER: Final = "numpy by hand"
JITTED: Final = "jax.jit by hand"
PLANS: Final = {f"plan, {each.value}": each for each in (Numerics.FAST, Numerics.EXACT)}
RUNTIMES: Final = ("xla", "iree", "interpreter", "reference")
ENGINES: Final = (*PLANS, *RUNTIMES)
PACKAGES: Final = ("topos-compiler", "numpy", "jax", "iree-base-runtime", "numba")
ROW: Final = 10


class Column(NamedTuple):
    """The seconds of a call of one workload by engine, the peer's among them."""

    title: str
    unit: str
    seconds: Mapping[str, float]


def main(arguments: list[str] | None = None) -> int:
    """Prints the table and returns the exit status."""
    chosen = _parser().parse_args(arguments)
    engines, skipped = _ready(chosen.engines)
    columns = [
        measured(WORKLOADS[name](), engines, chosen.rounds, chosen.seconds)
        for name in chosen.workloads
    ]
    notes = [*machine(), *(f"skipped: {name}, {why}" for name, why in skipped.items())]
    if chosen.json:
        records = [each._asdict() for each in columns]
        print(json.dumps({"notes": notes, "workloads": records}, indent=2))
    elif chosen.markdown:
        print("\n".join([*markdown(columns), "", "; ".join(notes) + "."]))
    else:
        for column in columns:
            print(f"{column.title}: {column.unit} a second, and as a multiple of {PEER}")
            for name, seconds in column.seconds.items():
                ratio = column.seconds[PEER] / seconds
                print(f"  {name:<16} {digits(ratio):>8}x {digits(1 / seconds):>8}")
        print("\n" + "\n".join(notes))
    return 0


def measured(work: Workload, engines: Sequence[str], rounds: int, seconds: float) -> Column:
    """Returns the times of one workload, once all of its rivals have given the same numbers.

    The first call of an engine that takes all of its seconds is the only one.
    """
    calls: dict[str, Call] = {PEER: work.in_numpy()}
    if jit_is_ready():
        calls[JITTED] = work.in_jax()
    for name in engines:
        calls[name] = work.plan(PLANS[name]) if name in PLANS else work.runtime(name)
    wanted, first = np.array(calls[PEER]()), dict.fromkeys(calls, 0.0)
    for name in [*calls][1:]:
        start = time.perf_counter()
        found = calls[name]()
        first[name] = time.perf_counter() - start
        if not np.allclose(found, wanted, rtol=2e-3, atol=1e-4):
            raise SystemExit(f"{work.title}: {name} has other results than {PEER}")
    quick = {name: call for name, call in calls.items() if first[name] < seconds}
    best = interleaved(quick, rounds, row=ROW, limit=seconds)
    return Column(work.title, work.unit, {name: best.get(name, first[name]) for name in calls})


def jit_is_ready() -> bool:
    """Returns whether jax is installed, for the peer that it compiles."""
    return runtimes.load("xla").status().ready


def markdown(columns: list[Column]) -> list[str]:
    """Returns the table of the guide: a row for each engine, a pair of cells for each workload."""
    titles = [f"{each.title} | {each.unit} a second" for each in columns]
    rows = [f"| engine | {' | '.join(titles)} |", "|---" * (1 + 2 * len(columns)) + "|"]
    for name in columns[0].seconds:
        cells = [
            f"{digits(each.seconds[PEER] / each.seconds[name])}x | {digits(1 / each.seconds[name])}"
            for each in columns
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return rows


def machine() -> list[str]:
    """Returns lines on the processor and the versions of what ran."""
    path, processor = Path("/proc/cpuinfo"), platform.processor() or platform.machine()
    if path.exists():
        lines = (line.partition(":") for line in path.read_text(encoding="utf-8").splitlines())
        fields = {name.strip(): value.strip() for name, _, value in lines}
        processor = fields.get("model name", processor)
        if "cpu family" in fields:
            processor += f" (family {fields['cpu family']}, model {fields['model']})"
    versions = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return [f"{processor}, one thread", ", ".join(versions)]


def _ready(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Returns the engines that can run, and why the others cannot."""
    skipped = {}
    for name in names:
        if name not in PLANS:
            status = runtimes.load(name).status()
            if not status.ready:
                skipped[name] = status.detail
    return [name for name in names if name not in skipped], skipped


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--workloads", nargs="+", choices=[*WORKLOADS], default=[*WORKLOADS], metavar="NAME",
        help=f"some of {', '.join(WORKLOADS)}; all unless told",
    )  # fmt: skip
    parser.add_argument(
        "--engines", nargs="+", choices=ENGINES, default=[*ENGINES], metavar="NAME",
        help=f"some of {', '.join(map(repr, ENGINES))}; all unless told",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=int, default=20, help=f"of {ROW} calls of each engine (default: 20)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=3.0,
        help="after which an engine sits out the rest of a workload (default: 3)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, in seconds a call")
    form.add_argument("--markdown", action="store_true", help="print the table of the guide")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
