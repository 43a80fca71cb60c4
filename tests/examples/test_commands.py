"""Every example is a command, which needs nothing of what tests have loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.commands import EXAMPLES, command

for package in ("sklearn", "rich", "matplotlib", "msgspec", "safetensors"):
    pytest.importorskip(package)
# The others are run whole, as commands, by tests of their own; those that are no command are
# imported by these.
NAMES = ("digits", "digits_cnn", "digits_served", "llama", "minilm", "moons", "names", "xor")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_tells_its_options(name: str, tmp_path: Path) -> None:
    done = command(f"{name}.py", tmp_path, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {name}.py [-h] ")


def test_no_example_is_left_out() -> None:
    whole = ("forward_mode", "gradient_descent", "throughput")
    commands = {
        path.stem for path in EXAMPLES.glob("*.py") if "__main__" in path.read_text("utf-8")
    }
    assert commands == {*NAMES, *whole}
