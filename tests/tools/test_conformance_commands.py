"""The commands that compare and measure the oracle do so, and tell what they found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.commands import ran
from tests.project.paths import ROOT


def run(command: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Returns what a command did in this process."""
    done = ran(ROOT / "tools" / command, ROOT, *map(str, arguments))
    assert done.returncode == 0, done.stderr
    return done


def process(command: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Returns the finished process of a command."""
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / command), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


# From the largest numbers through the infinity to NaNs, and from NaNs through -0 to subnormals;
# both begin in the middle of a block.
@pytest.mark.parametrize(("start", "stop"), [(0x7F7E8000, 0x7F810000), (0x7FFE8000, 0x80010000)])
@pytest.mark.parametrize("name", ["exp", "ln", "sin", "rsqrt"])
def test_a_range_is_compared_and_reported(name: str, start: int, stop: int, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    done = run(
        "exhaustive.py", name, "--start", hex(start), "--stop", hex(stop), "--report", report
    )
    assert done.stdout.startswith(f"| {name} | {stop - start:,} | 0 | 0 | ")
    assert report.read_text() == done.stdout


def test_two_processes_compare_as_one_does_and_say_where_to_go_on(tmp_path: Path) -> None:
    limits = ("--start", "0x3f000000", "--stop", "0x3f880000", "--report", tmp_path / "rows")
    one, two = (process("exhaustive.py", "rsqrt", *limits, "--processes", n) for n in "12")
    assert one.stdout.rsplit("|", 2)[0] == two.stdout.rsplit("|", 2)[0]
    assert one.stderr == two.stderr
    assert one.stderr.splitlines() == [
        "rsqrt:  47%, go on with --start 0x3f400000",
        "rsqrt:  94%, go on with --start 0x3f800000",
    ]


def test_the_margins_of_all_bounds_are_below_one() -> None:
    rows = run("margins.py", "--count", "400").stdout.splitlines()[2:]
    assert len(rows) > 50
    shares = [float(row.split("|")[3]) for row in rows]
    assert max(shares) <= 1.0
    assert sum(share > 0.0 for share in shares) > 25
