"""The five-minute example reaches the answer of least squares and the oracle's bits."""

from __future__ import annotations

from pathlib import Path

from tests.examples.commands import run


def test_descent_ends_at_the_least_squares_slope(tmp_path: Path) -> None:
    done = run("gradient_descent.py", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    # The sum of distance times velocity over the sum of squared distances.
    assert "velocity is 423.9 km/s for each megaparsec" in done.stdout
    assert "func.func public @main" in done.stdout
    assert done.stdout.endswith("the same bits\n")
