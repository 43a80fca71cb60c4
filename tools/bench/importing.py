"""The time of `import topos` beside that of `import numpy`, each in fresh interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from timing import report

ROUNDS = 25
HEAVY = ("jax", "jaxlib", "iree", "lark")


def interpreter(code: str, cache: str) -> str:
    """Returns what a fresh interpreter prints for `code`, with bytecode cached in `cache`."""
    # An installed package has its bytecode; a checkout may be forbidden to write any.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    ).stdout


def seconds(module: str, cache: str) -> float:
    """Returns the time that a fresh interpreter takes to import `module`."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return float(interpreter(code, cache))


def main() -> None:
    """Measures both imports in turn and prints the ratio of the fastest ones."""
    with tempfile.TemporaryDirectory() as cache:
        interpreter("import topos", cache)
        pairs = [(seconds("topos", cache), seconds("numpy", cache)) for _ in range(ROUNDS)]
        loaded = interpreter("import topos, sys; print(*sorted(sys.modules))", cache).split()
    topos, numpy = (min(column) * 1e3 for column in zip(*pairs, strict=True))
    report(
        "import",
        {"import topos, ms": f"{topos:.1f}", "import numpy, ms": f"{numpy:.1f}"},
        topos / numpy,
        "must be at most 1.3x",
    )
    heavy = [name for name in HEAVY if name in loaded]
    print(f"  of {', '.join(HEAVY)} it loads: {', '.join(heavy) or 'none'}")


if __name__ == "__main__":
    main()
