"""`topos run` of two operations in a fresh process, beside a process that imports numpy."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import report

ROUNDS = 15
MODULE = """\
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  %1 = stablehlo.multiply %0, %b : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


def seconds(command: list[str], cache: str) -> float:
    """Returns the processor time of a fresh interpreter, with bytecode cached in `cache`."""
    # An installed package has its bytecode; a checkout may be forbidden to write any.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.DEVNULL, env=environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Measures both in turn and prints the ratio of the medians."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "two.mlir")
        path.write_text(MODULE, encoding="utf-8")
        run = ["-m", "topos", "run", "--random", "1", str(path)]
        numpy = ["-c", "import numpy"]
        for command in (run, numpy):
            seconds(command, folder)
        pairs = [(seconds(run, folder), seconds(numpy, folder)) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
    report(
        "cold run",
        {"topos run, ms": f"{ours:.0f}", "import numpy, ms": f"{theirs:.0f}"},
        ours / theirs,
        "must be at most 3.0x",
    )


if __name__ == "__main__":
    main()
