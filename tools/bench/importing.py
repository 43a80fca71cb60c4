"""`import topos` beside `import numpy`, each in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys

from timing import report

ROUNDS = 15
HEAVY = ("jax", "jaxlib", "iree", "lark", "mpmath")


def seconds(module: str) -> float:
    """Returns the least time that a fresh interpreter takes to import `module`."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return float(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
    )


if __name__ == "__main__":
    pairs = [(seconds("topos"), seconds("numpy")) for _ in range(ROUNDS)]
    topos, numpy = (min(column) * 1e3 for column in zip(*pairs, strict=True))
    loaded = subprocess.run(
        [sys.executable, "-c", "import topos, sys; print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    heavy = [name for name in HEAVY if name in loaded]
    report(
        "import",
        {"import topos, ms": f"{topos:.1f}", "import numpy, ms": f"{numpy:.1f}"},
        topos / numpy,
        "at most 1.3x",
    )
    print(f"  of {', '.join(HEAVY)} it loads: {', '.join(heavy) or 'none'}")
