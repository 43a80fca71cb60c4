"""Every example is a command, which needs nothing of what tests have loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.commands import EXAMPLES

for package in ("sklearn", "rich", "matplotlib", "msgspec", "safetensors"):
    pytest.importorskip(package)
# The others are run whole, as commands, by tests of their own; those that are no command are
# imported by these.
NAMES = (
    "digits",
    "digits_cnn",
    "digits_served",
    "gpt2",
    "llama",
    "minilm",
    "moons",
    "names",
    "smollm2",
    "xor",
)


# Runs each file as a command does, in a process that has loaded what those before it need.
EACH = """\
import os, runpy, sys
for file in sys.argv[1:]:
    sys.argv = [file, "--help"]
    sys.path[0] = os.path.dirname(file)
    try:
        runpy.run_path(file, run_name="__main__")
    except SystemExit as end:
        assert not end.code, file
"""


def test_examples_tell_their_options(tmp_path: Path) -> None:
    files = [str(EXAMPLES / f"{name}.py") for name in NAMES]
    program = [sys.executable, "-W", "error", "-c", EACH, *files]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"^usage: (\w+)\.py \[-h\] ", done.stdout, re.MULTILINE) == [*NAMES]


def test_no_example_is_left_out() -> None:
    whole = ("forward_mode", "gradient_descent")
    commands = {
        path.stem for path in EXAMPLES.glob("*.py") if "__main__" in path.read_text("utf-8")
    }
    assert commands == {*NAMES, *whole}
