"""Triage: a folder becomes a few faults, and a runtime that misbehaves costs one module."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topos import judge, runtimes
from topos.cli import main
from topos.errors import ArgumentError, UnavailableError
from topos.judge import Triage
from topos.judge.triaging.faults import normalised
from topos.judge.triaging.report import html, markdown
from topos.stablehlo import Module

MODULE = """
func.func @main(%x: tensor<{extent}xf32>) -> tensor<{extent}xf32> {{
  %0 = {operation} %x : tensor<{extent}xf32>
  return %0 : tensor<{extent}xf32>
}}
"""
# A runtime of somebody else, which is ill in a way of its own at some operations.
ILL = """
import os, signal, sys, time
import numpy
with open(sys.argv[1]) as file:
    text = file.read()
print("some words that nobody asked for")
if "stablehlo.cbrt" in text:
    os.kill(os.getpid(), signal.SIGSEGV)
if "stablehlo.floor" in text:
    time.sleep(600)
if "stablehlo.ceil" in text:
    held = bytearray(2**31)
if "stablehlo.sign" in text:
    raise SystemExit(f"no kernel at {id(text):#x} in /some/file.cc:{os.getpid()}")
given = numpy.load(sys.argv[2])["arg0"]
numpy.savez(sys.argv[3], result0=-given if "stablehlo.negate" in text else abs(given))
"""


def folder_of(path: Path, operations: Sequence[str]) -> Path:
    """Returns a folder with a module of each operation, with extents from 3 on."""
    folder = path / "modules"
    folder.mkdir()
    for place, operation in enumerate(operations):
        text = MODULE.format(extent=place + 3, operation=f"stablehlo.{operation}")
        (folder / f"{place}_{operation}.mlir").write_text(text)
    return folder


def ill(path: Path) -> str:
    program = path / "ill.py"
    program.write_text(ILL)
    return shlex.join([sys.executable, str(program)])


def swapping(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
    """A runtime that takes a hyperbolic tangent for a sine, and ends its process at a sign."""
    text = str(module)
    print("words " * 1000)
    if "stablehlo.sign" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    wrong = text.replace("stablehlo.tanh", "stablehlo.sine")
    return runtimes.load("interpreter").compile(wrong, numerics="exact")(*arguments)


def outcomes(found: Triage) -> list[str]:
    return [each["outcome"] for each in found.found.values()]


def test_what_crashes_hangs_and_eats_memory_costs_one_module_each(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    operations = ["negate", "cbrt", "floor", "ceil", "sign", "abs"]
    folder = folder_of(tmp_path, operations)
    found = judge.triage(folder, ill(tmp_path), jobs=2, seconds=4, memory=1024)
    assert outcomes(found) == ["passed", *["failed"] * 4, "passed"]
    reasons = [each["reason"] for each in found.found.values()]
    assert "SIGSEGV" in reasons[1]
    assert reasons[2].startswith("took longer than 4 seconds")
    assert "MemoryError" in reasons[3]
    assert len(found.faults) == 4
    assert {fault.kind.what for fault in found.faults} == {"failure"}
    assert capfd.readouterr() == ("", "")


def test_the_same_fault_of_several_modules_is_one_and_nothing_is_lost(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(tmp_path, ["tanh", "sign", "tanh", "negate", "unknown"])
    same = (folder / "0_tanh.mlir").read_text().replace("%0", "%named")
    (folder / "5_again.mlir").write_text(same)
    (folder / "inner").mkdir()
    (folder / "inner" / "broken.mlir").write_text("<script>")
    found = judge.triage(folder, swapping)
    fault, death = found.faults
    assert str(fault.kind) == "stablehlo.tanh f32 is wrong alone"
    assert fault.modules == ["0_tanh.mlir", "2_tanh.mlir", "5_again.mlir"]
    assert len(fault.forms) == 2
    assert death.modules == ["1_sign.mlir"]
    assert death.example["reason"].startswith("was ended by SIGKILL\nwords words")
    assert [*found.refused] == ["4_unknown.mlir", "inner/broken.mlir"]
    assert found.counts == {"passed": 1, "wrong": 3, "failed": 1, "refused": 2}
    assert "stablehlo.tanh f32 is wrong alone" in markdown(found)
    assert "inner/broken.mlir" in html(found)
    assert "<script>" not in html(found)
    assert capfd.readouterr() == ("", "")


def test_a_run_that_was_killed_is_resumed(tmp_path: Path) -> None:
    folder, out = folder_of(tmp_path, ["negate", "exponential", "abs", "floor"]), tmp_path / "out"
    words = ["triage", str(folder), "--runtime", ill(tmp_path), "--out", str(out)]
    command = [sys.executable, "-m", "topos", *words]
    record = out / "found.jsonl"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        # The last module hangs, so the run is killed in the middle.
        until = time.monotonic() + 60
        while not (record.is_file() and record.read_bytes().count(b"\n") == 3):
            assert time.monotonic() < until
            time.sleep(0.05)
        process.kill()
    with record.open("ab") as file:
        # Lines of somebody else stay as they are.
        file.write(b'[]\n{"key": 1}\n\xff\r\n{"key": "k", "outcome": "wrong"}\n')
        file.flush()
        before = record.read_bytes()
        # Two runs at once would cut off each other's last line.
        fcntl.flock(file, fcntl.LOCK_EX)
        assert main(words) == 2
        file.write(b'{"key": "torn')
    (folder / "3_floor.mlir").write_text(MODULE.format(extent=9, operation="stablehlo.negate"))
    assert main(words) == 1
    after = record.read_bytes()
    assert after.startswith(before)
    (line,) = after.removeprefix(before).splitlines()
    assert json.loads(line)["file"] == "3_floor.mlir"
    document = json.loads((out / "triage.json").read_text())
    assert document["counts"] == {"passed": 3, "wrong": 1, "failed": 0, "refused": 0}
    assert [each["modules"] for each in document["faults"]] == [["1_exponential.mlir"]]


def test_arguments_lie_beside_a_module_and_belong_to_its_key(tmp_path: Path) -> None:
    folder, out = folder_of(tmp_path, ["tanh", "abs"]), tmp_path / "out"
    archive = folder / "0_tanh.npz"
    # Where a sine is as good as a hyperbolic tangent; the other has another shape.
    np.savez(archive, arg0=np.zeros(3, np.float32))
    np.savez(folder / "1_abs.npz", arg0=np.zeros(3, np.float32))
    found = judge.triage(folder, swapping, out=out)
    assert outcomes(found) == ["passed", "refused"]
    np.savez(archive, arg0=np.ones(3, np.float32))
    found = judge.triage(folder, swapping, out=out, inputs=["given"])
    assert outcomes(found) == ["wrong", "refused"]
    command = f"topos reduce {folder}/0_tanh.mlir --args {archive} --inputs given"
    assert found.command("0_tanh.mlir") == f"{command} --runtime swapping"
    assert (out / "found.jsonl").read_text().count("\n") == 4


def test_wrong_usage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="there is no such folder"):
        judge.triage(tmp_path / "nowhere", "interpreter")
    with pytest.raises(ArgumentError, match="no file here ends with"):
        judge.triage(tmp_path, "interpreter")
    with pytest.raises(UnavailableError, match="nobody: No such file"):
        judge.triage(tmp_path, "nobody")
    with pytest.raises(ArgumentError, match="another process can import"):
        judge.triage(tmp_path, lambda module, arguments: [])


def test_messages_of_one_failure_are_alike() -> None:
    first = "xla died of SIGSEGV while it ran the module @jit_f\nat 0x7ffc12 in /a/b.cc:12: i4"
    second = "xla died of SIGSEGV while it ran a module without a name\nat 0x1 in /c/d.cc:7: i4"
    assert normalised(first) == normalised(second)
    assert normalised(first) != normalised(first.replace("SIGSEGV", "SIGABRT"))
    refused = "'stablehlo.dynamic_conv' op can't run on 'x'\nnote: see current operation: %0"
    assert normalised(refused) == "'stablehlo.dynamic_conv' op can't run on NAME"
    placed = "line 3, column 7: the dialect sdy is not read\n  %0 = sdy.reshard %x\n       ^"
    assert normalised(placed) == "line N, column N: the dialect sdy is not read"
