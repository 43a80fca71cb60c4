"""Running an example as a newcomer does: a command, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
# Runs a file as a command, its folder first on the path, after statements that change what the
# process finds.
AFTER: Final = """\
import os, runpy, sys
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
{}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(
    example: str, folder: Path, *arguments: str, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Returns the finished process of an example; `before` is executed ahead of it."""
    options = ["-W", "error", "-c", AFTER.format(before)]
    return subprocess.run(
        [sys.executable, *options, str(EXAMPLES / example), *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80", "FORCE_COLOR": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
