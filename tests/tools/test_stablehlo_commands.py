"""The commands that validate and run StableHLO files, as a shell would call them."""

from __future__ import annotations

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

from tests.examples.commands import ran

pytest.importorskip("jax")

TOOLS = Path(__file__).resolve().parents[2] / "tools"

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
HALVES = np.array([1.5, -2.0], ml_dtypes.bfloat16)
NUMBER = np.array(0.1)


def command(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Returns what a command did in this process."""
    return ran(TOOLS / f"{name}.py", Path.cwd(), *map(str, arguments))


def process(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Returns the finished process of a command."""
    program = [sys.executable, "-W", "error", str(TOOLS / f"{name}.py"), *map(str, arguments)]
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


@pytest.fixture
def arguments(tmp_path: Path) -> Path:
    path = tmp_path / "arguments.npz"
    np.savez(path, arg0=HALVES.view(np.uint16), arg1=NUMBER)
    return path


def test_validation_tells_each_file_and_points_at_the_fault(module: Path, bad: Path) -> None:
    done = command("validate_stablehlo", module, bad, module)
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
    done = process("validate_stablehlo", module)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{module}: valid\n", "")


def test_validation_verifies_the_rules_of_operations(module: Path) -> None:
    module.write_text(MIXED.replace("-> (tensor<2xbf16>", "-> (tensor<3xbf16>"))
    done = command("validate_stablehlo", module)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{module}:4:3: type of return operand 0")


def test_a_file_that_cannot_be_read_is_wrong_usage(tmp_path: Path) -> None:
    done = command("validate_stablehlo", tmp_path / "absent.mlir")
    assert done.returncode == 2
    assert "absent.mlir" in done.stderr


def check(results: Path) -> None:
    with np.load(results) as archive:
        assert sorted(archive.files) == ["result0", "result1"]
        assert archive["result0"].dtype == np.uint16
        assert archive["result0"].tobytes() == (HALVES + HALVES).tobytes()
        assert archive["result1"].tobytes() == np.asarray(NUMBER * NUMBER).tobytes()


@pytest.mark.parametrize("runtime", ["interpreter", "xla", "reference"])
def test_a_module_runs_from_files_to_files(
    module: Path, arguments: Path, tmp_path: Path, runtime: str
) -> None:
    results = tmp_path / "results.npz"
    done = command("run_stablehlo", module, arguments, results, "--runtime", runtime)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    check(results)
    # Nothing is left of the file that the results were first written to.
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "arguments.npz",
        "mixed.mlir",
        "results.npz",
    ]


def test_evaluation_goes_on_after_a_module_that_fails(
    module: Path, bad: Path, arguments: Path, tmp_path: Path
) -> None:
    first, second, third = (tmp_path / f"results{number}.npz" for number in range(3))
    second.write_bytes(b"as it was")
    triples = [(module, arguments, first), (bad, arguments, second), (module, arguments, third)]
    done = command("eval_stablehlo", *(path for triple in triples for path in triple))
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"{bad}:2:55: use of undeclared SSA value name\nfunc.func @main() attributes"
    )
    check(first)
    check(third)
    assert second.read_bytes() == b"as it was"


def test_arguments_that_do_not_fit_fail_the_run(module: Path, tmp_path: Path) -> None:
    arguments, results = tmp_path / "arguments.npz", tmp_path / "results.npz"
    np.savez(arguments, arg0=HALVES.view(np.uint16), arg1=np.float32(1))
    done = process("eval_stablehlo", module, arguments, results)
    assert done.returncode == 1
    assert done.stderr == f"{module}: argument 1 must be float64[], got float32[]\n"
    assert not results.exists()


def test_paths_come_in_threes(module: Path, arguments: Path) -> None:
    done = command("eval_stablehlo", module, arguments)
    assert done.returncode == 2
    assert "MODULE ARGS.npz RESULTS.npz" in done.stderr


def test_an_unknown_runtime_is_wrong_usage(module: Path, arguments: Path) -> None:
    done = command("run_stablehlo", module, arguments, "r.npz", "--runtime", "nobody")
    assert done.returncode == 2
    assert "invalid choice: 'nobody'" in done.stderr


@pytest.mark.parametrize("name", ["validate_stablehlo", "run_stablehlo", "eval_stablehlo"])
def test_help_explains_the_exit_status(name: str) -> None:
    done = process(name, "--help")
    assert done.returncode == 0
    assert "exit status: 0" in done.stdout


def test_results_go_to_a_regular_file_alone(module: Path, arguments: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path(os.devnull)):
        done = command("run_stablehlo", module, arguments, path)
        assert done.returncode == 2
        assert "results need a regular file" in done.stderr
        assert done.stderr.endswith(f": {str(path)!r}\n")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_missing_folder_is_told_as_the_user_wrote_it(
    module: Path, arguments: Path, tmp_path: Path
) -> None:
    path = tmp_path / "absent" / "results.npz"
    done = command("run_stablehlo", module, arguments, path)
    assert done.returncode == 2
    assert done.stderr == f"[Errno 2] No such file or directory: {str(path)!r}\n"


SLOW_SAVE = """
import sys, time
import numpy as np
from topos.runtimes import _command
def savez(file, **_):
    file.write(b"half"); file.flush()
    print("writing", flush=True)
    time.sleep(30)
np.savez = savez
sys.exit(_command.run([_command.Job(*sys.argv[1:])], "interpreter", "exact"))
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


def test_evaluation_goes_on_after_damaged_arguments(
    module: Path, arguments: Path, tmp_path: Path
) -> None:
    damaged, first, second = (tmp_path / name for name in ("damaged.npz", "1.npz", "2.npz"))
    with zipfile.ZipFile(damaged, "w") as archive:
        archive.writestr("arg0.npy", b"no array at all")
    done = command("eval_stablehlo", module, damaged, first, module, arguments, second)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{damaged} holds arg0")
    assert len(done.stderr.splitlines()) == 1
    assert not first.exists()
    check(second)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", ["status", "validate"])
def test_output_that_nobody_takes_is_a_failure(module: Path, name: str, full: bool) -> None:
    programs: dict[str, list[str]] = {
        "status": ["-m", "topos", "status"],
        "validate": [str(TOOLS / "validate_stablehlo.py"), str(module)],
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
    reason = "No space left on device" if full else "Broken pipe"
    assert done.returncode == 1
    assert done.stderr == f"standard output takes nothing more: {reason}\n"
