"""The start of the reference interpreter's worker: what can be wrong with it, and what not."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topos.errors import CrashError, UnavailableError
from topos.runtimes.reference import Reference

pytest.importorskip("jax")

SUM = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
ONES = np.ones(4, np.float32)


def test_a_worker_that_cannot_import_jax_tells_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jaxlib").mkdir()
    (tmp_path / "jaxlib" / "__init__.py").write_text("raise OSError('half a package')")
    monkeypatch.syspath_prepend(tmp_path)
    message = r"^jax .* cannot be imported: OSError: half a package$"
    with pytest.raises(UnavailableError, match=message):
        Reference().compile(SUM)


def test_a_worker_that_ends_at_once_tells_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "python", "echo no python here >&2; exit 3")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(CrashError, match=r"ended with status 3 while it started\nno python here$"):
        Reference().compile(SUM)


def program(path: Path, commands: str) -> None:
    path.write_text(f"#!/bin/sh\n{commands}\n")
    path.chmod(0o755)


def test_a_python_that_is_none_is_a_crash_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "python", "echo hello")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(CrashError, match=r"ended with status 0 while it started\nhello$"):
        Reference().compile(SUM)


def test_a_banner_before_the_worker_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "python", f'echo welcome to this machine\nexec {sys.executable} "$@"')
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert Reference().compile(SUM)(ONES, ONES)[0].tolist() == [2.0] * 4


@pytest.mark.parametrize("executable", ["", None, "/nowhere/python"])
def test_a_python_that_is_not_there_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, executable: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(UnavailableError, match=r"^the reference runtime (needs|cannot start)"):
        Reference().compile(SUM)


def test_no_folder_for_temporary_files_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(UnavailableError, match=r"cannot start its worker: .*/nowhere"):
        Reference().compile(SUM)


def lowest_free() -> int:
    number = os.dup(0)
    os.close(number)
    return number


def test_too_few_file_descriptors_are_unavailable() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Two are left, which are the ends of the socket, and the worker needs three.
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free() + 2, before[1]))
    try:
        with pytest.raises(UnavailableError, match=r"cannot start its worker: .*Too many open"):
            Reference().compile(SUM)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_path_entry_that_is_no_text_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    entry: Any = os
    monkeypatch.setattr(sys, "path", [*sys.path, entry])
    assert Reference().compile(SUM)(ONES, ONES)[0].tolist() == [2.0] * 4
