"""The time of `topos run` on XLA, its worker included, beside that of the same in one process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from timing import interleaved, report

ROUNDS = 15
TEXT = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.exponential %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
# What `topos run` did before it had a worker: the same options, checks and printing.
IN_PROCESS = """
import sys
from topos.cli import main, run
run.isolating = lambda runtime: {}
sys.exit(main(sys.argv[1:]))
"""


def timed(command: Sequence[str]) -> None:
    """Runs a command that has to succeed."""
    subprocess.run([sys.executable, *command], check=True, capture_output=True)


def main() -> None:
    """Measures both in turn and prints the ratio of the fastest ones."""
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder, "small.mlir")
        module.write_text(TEXT)
        arguments = ["run", str(module), "--random", "1", "--runtime", "xla"]
        best = interleaved(
            {
                "in a worker": partial(timed, ["-m", "topos", *arguments]),
                "in one process": partial(timed, ["-c", IN_PROCESS, *arguments]),
            },
            ROUNDS,
        )
    report(
        "topos run of a small module on xla, from start to end",
        {name: f"{seconds * 1e3:,.0f} ms" for name, seconds in best.items()},
        best["in a worker"] / best["in one process"],
        "must be at most 1.3x",
    )


if __name__ == "__main__":
    main()
