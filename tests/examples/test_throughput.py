"""The example prints every backend, every rate, and who served a step."""

from __future__ import annotations

import re
from pathlib import Path

from tests.examples.commands import command
from topos.compiler import Backend

# The products of a step: three forward, three for the weights, two for the values between.
PRODUCTS = 8


def test_the_example_prints_what_the_backends_of_this_machine_do(tmp_path: Path) -> None:
    done = command("throughput.py", tmp_path, "--sizes", "32", "--elements", "64", "--rounds", "1")
    assert (done.returncode, done.stderr) == (0, "")
    for backend in Backend.ALL:
        ready = "ready" if backend.status().ready else "not ready"
        assert re.search(rf"^  {backend.value} +{ready} +\S", done.stdout, re.M)
    rates = re.findall(
        r"^  f(?:32|64) (?:32|64) .*simd \S+ .*reference \S+  (\S+)$", done.stdout, re.M
    )
    assert rates == ["GFLOP/s", "GFLOP/s", "Gelem/s", "Gelem/s"]
    assert re.findall(r"^  (\w+) +\d+ steps a second$", done.stdout, re.M) == ["fast", "exact"]
    *_, fast, exact = done.stdout.split("\n\n")
    for posture, text in (("fast", fast), ("exact", exact)):
        assert text.startswith(f"one {posture} step was served by\n")
        counts = re.findall(r"^  gemm +f32 +\w+ +(\d+)$", text, re.M)
        assert sum(map(int, counts)) == PRODUCTS
