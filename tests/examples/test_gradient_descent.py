"""The five-minute example reaches the answer of least squares on every runtime."""

from __future__ import annotations

from pathlib import Path

from tests.examples.commands import command
from topos import runtimes


def test_descent_ends_at_the_least_squares_slope(tmp_path: Path) -> None:
    done = command("gradient_descent.py", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    # The sum of distance times velocity over the sum of squared distances.
    assert "velocity is 423.9 km/s for each megaparsec" in done.stdout
    assert "func.func public @main" in done.stdout
    table = done.stdout.partition("the text on each runtime")[2]
    for name, status in runtimes.status().items():
        row = next(line for line in table.splitlines() if line.startswith(f"{name} "))
        assert ("  ready: " in row) is status.ready
    assert "\ninterpreter  bits equal " in table
