"""`topos eval`: modules, arguments and results are files, and one process runs many."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.runtimes.require import require
from topos.cli import main

MIXED = """\
func.func @main(%a: tensor<2xbf16>, %b: tensor<f64>) -> (tensor<2xbf16>, tensor<f64>) {
  %0 = stablehlo.add %a, %a : tensor<2xbf16>
  %1 = stablehlo.multiply %b, %b : tensor<f64>
  return %0, %1 : tensor<2xbf16>, tensor<f64>
}
"""
BAD = "func.func @main() { return %b : i1 }\n"
HALVES = np.array([1.5, -2.0], ml_dtypes.bfloat16)
NUMBER = np.array(0.1)

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.mlir"
    path.write_text(MIXED)
    return path


@pytest.fixture
def arguments(tmp_path: Path) -> Path:
    path = tmp_path / "arguments.npz"
    np.savez(path, arg0=HALVES.view(np.uint16), arg1=NUMBER)
    return path


def evaluated(*words: object) -> int:
    return main(["eval", *map(str, words)])


def check(results: Path) -> None:
    with np.load(results) as archive:
        assert sorted(archive.files) == ["result0", "result1"]
        assert archive["result0"].dtype == np.uint16
        assert archive["result0"].tobytes() == (HALVES + HALVES).tobytes()
        assert archive["result1"].tobytes() == np.asarray(NUMBER * NUMBER).tobytes()


@pytest.mark.parametrize("runtime", ["interpreter", "xla", "reference"])
def test_a_module_runs_from_files_to_files(
    module: Path, arguments: Path, tmp_path: Path, runtime: str, capfd: Captured
) -> None:
    require(runtime)
    results = tmp_path / "results.npz"
    assert evaluated(module, arguments, results, "--runtime", runtime) == 0
    assert capfd.readouterr() == ("", "")
    check(results)
    # Nothing is left of the file that the results were first written to.
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["arguments.npz", "mixed.mlir", "results.npz"]


def test_it_goes_on_after_what_fails(
    module: Path, arguments: Path, tmp_path: Path, capsys: Captured
) -> None:
    bad, damaged, wrong = (tmp_path / name for name in ("bad.mlir", "damaged.npz", "wrong.npz"))
    bad.write_text(BAD)
    with zipfile.ZipFile(damaged, "w") as archive:
        archive.writestr("arg0.npy", b"no array at all")
    np.savez(wrong, arg0=HALVES.view(np.uint16), arg1=np.float32(1))
    results = [tmp_path / f"results{number}.npz" for number in range(5)]
    results[1].write_bytes(b"as it was")
    words = [module, arguments, results[0], bad, arguments, results[1]]
    assert evaluated(*words, module, arguments, results[2]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{bad}:1:21: func.return uses %b")
    check(results[0])
    check(results[2])
    assert results[1].read_bytes() == b"as it was"

    words = [module, damaged, results[3], module, wrong, results[3]]
    assert evaluated(*words, module, arguments, results[4]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"{module}: {damaged} holds arg0")
    assert second == f"{module}: argument 1 must be float64[], got float32[]"
    assert not results[3].exists()
    check(results[4])


def test_paths_come_in_threes(module: Path, arguments: Path, capsys: Captured) -> None:
    assert evaluated(module, arguments) == 2
    assert capsys.readouterr().err == "paths come as MODULE ARGS.npz RESULTS.npz, got 2 of them\n"


def test_results_go_to_a_regular_file_alone(
    module: Path, arguments: Path, tmp_path: Path, capsys: Captured
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path(os.devnull)):
        assert evaluated(module, arguments, path) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"{path}: ")
        assert "results need a regular file" in error
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    absent = tmp_path / "absent" / "results.npz"
    assert evaluated(module, arguments, absent) == 2
    assert capsys.readouterr().err == f"{absent}: there is no folder {absent.parent}\n"


SLOW_SAVE = """
import signal, sys
import numpy as np
from topos.cli import main
def savez(file, **_):
    file.write(b"half"); file.flush()
    print("writing", flush=True)
    signal.pause()
np.savez = savez
sys.exit(main(["eval", *sys.argv[1:]]))
"""


def test_a_terminated_command_leaves_no_half_of_a_file(
    module: Path, arguments: Path, tmp_path: Path
) -> None:
    paths = map(str, (module, arguments, tmp_path / "results.npz"))
    program = [sys.executable, "-c", SLOW_SAVE, *paths]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        assert len(list(tmp_path.iterdir())) == 3
        process.terminate()
        assert process.wait(20) == 128 + signal.SIGTERM
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arguments.npz", "mixed.mlir"]


def test_requests_on_standard_input_go_on_after_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, given, results = (tmp_path / name for name in ("m.mlir", "a.npz", "r.npz"))
    head = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32>"
    module.write_text(f"{head} {{ return %x : tensor<2xf32> }}")
    np.savez(given, arg0=np.array([1, 2], np.float32))
    requests = [[str(module)], [str(module), str(given), str(results)], "no list"]
    lines = "".join(f"{json.dumps(each)}\n" for each in requests)
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    assert main(["eval", "--batch"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["status"] for each in told] == [2, 0, 2]
    assert "a request needs a JSON list of paths, got" in told[2]["said"]
    assert np.load(results)["result0"].tolist() == [1, 2]
    for words in (["eval"], ["eval", "--batch", str(module)], ["validate"]):
        assert main(words) == 2
        assert "a command takes paths or --batch, got " in capsys.readouterr().err
