"""Prints our files that one operation passes through on the interpreter, from its text to a result.

A file counts where one of its functions runs: what is only loaded with it does not.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from topos import runtimes  # noqa: E402  # The checkout's own comes first.

TEXT = """\
func.func @main(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
"""


def main() -> int:
    """Prints the files in the order in which they are entered, and how many they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quiet", action="store_true", help="print the counts alone")
    chosen = parser.parse_args()
    entered: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        # The bodies of modules and classes run when they are loaded.
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:
            entered.setdefault(code.co_filename)

    sys.setprofile(note)
    executable = runtimes.load("interpreter").compile(TEXT)
    executable(np.ones((2, 3), np.float32))
    sys.setprofile(None)
    own = [Path(name).resolve() for name in entered if name.endswith(".py")]
    files = [path.relative_to(ROOT) for path in own if path.is_relative_to(ROOT / "topos")]
    packages = ("topos.stablehlo", "topos.runtimes.interpreter")
    loaded = sum(name.startswith(packages) for name in sys.modules)
    if not chosen.quiet:
        print(*files, sep="\n")
    print(f"{len(files)} files run; {loaded} of topos.stablehlo and the interpreter are loaded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
