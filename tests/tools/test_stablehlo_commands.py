"""The command that validates StableHLO files by jaxlib, as a shell would call it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.commands import ran

pytest.importorskip("jax")

TOOL = Path(__file__).resolve().parents[2] / "tools" / "validate_stablehlo.py"

MIXED = """\
func.func @main(%a: tensor<2xbf16>, %b: tensor<f64>) -> (tensor<2xbf16>, tensor<f64>) {
  %0 = stablehlo.add %a, %a : tensor<2xbf16>
  %1 = stablehlo.multiply %b, %b : tensor<f64>
  return %0, %1 : tensor<2xbf16>, tensor<f64>
}
"""
BAD = """\
// A name that nothing defines.
func.func @main() attributes {note = "déjà"} { return %b : i1 }
"""


def command(*files: Path) -> subprocess.CompletedProcess[str]:
    """Returns what the command did in this process."""
    return ran(TOOL, Path.cwd(), *map(str, files))


def process(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Returns the finished process of the command."""
    program = [sys.executable, "-W", "error", str(TOOL), *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.mlir"
    path.write_text(MIXED)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.mlir"
    path.write_text(BAD)
    return path


def test_validation_tells_each_file_and_points_at_the_fault(module: Path, bad: Path) -> None:
    done = command(module, bad, module)
    assert done.returncode == 1
    assert done.stdout == f"{module}: valid\n" * 2
    assert done.stderr == (
        f"{bad}:2:55: use of undeclared SSA value name\n"
        + BAD.splitlines()[1]
        + "\n"
        + " " * 54
        + "^\n"
    )


def test_validation_of_valid_files_succeeds(module: Path) -> None:
    done = process(module)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{module}: valid\n", "")


def test_validation_verifies_the_rules_of_operations(module: Path) -> None:
    module.write_text(MIXED.replace("-> (tensor<2xbf16>", "-> (tensor<3xbf16>"))
    done = command(module)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{module}:4:3: type of return operand 0")


def test_a_file_that_cannot_be_read_is_wrong_usage(tmp_path: Path) -> None:
    done = command(tmp_path / "absent.mlir")
    assert done.returncode == 2
    assert "absent.mlir" in done.stderr


def test_help_explains_the_exit_status() -> None:
    done = process("--help")
    assert done.returncode == 0
    assert "exit status: 0" in done.stdout


@pytest.mark.parametrize(("name", "full"), [("status", True), ("validate", False)])
def test_output_that_nobody_takes_is_a_failure(module: Path, name: str, full: bool) -> None:
    programs: dict[str, list[str]] = {
        "status": ["-m", "topos", "status"],
        "validate": [str(TOOL), str(module)],
    }
    reader, writer = os.pipe()
    os.close(reader)
    if full:
        os.close(writer)
        writer = os.open("/dev/full", os.O_WRONLY)
    try:
        program = [sys.executable, *programs[name]]
        done = subprocess.run(
            program, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )
    finally:
        os.close(writer)
    # A pipe whose reader has gone, as `head` does, is no fault that anyone has to hear of.
    told = "standard output takes nothing more: No space left on device\n" if full else ""
    assert (done.returncode, done.stderr) == (1, told)
