"""The subcommands as a shell would call them: what they print, write and exit with."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from topos import runtimes
from topos.cli import main

TEXT = """\
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = call @shifted(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = call @shifted(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
func.func private @shifted(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<2x4xf32>
  %0 = stablehlo.add %a, %c : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
"""  # noqa: E501
ENDLESS = """\
func.func @main() -> tensor<i32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.while(%i = %c) : tensor<i32>
    cond { stablehlo.return %t : tensor<i1> }
    do { stablehlo.return %i : tensor<i32> }
  return %0 : tensor<i32>
}
"""
WRONG = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.add %a : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n"  # noqa: E501

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def module(tmp_path: Path) -> str:
    return write(tmp_path, TEXT)


def write(folder: Path, text: str) -> str:
    path = folder / "m.mlir"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_run_writes_what_the_module_returns(module: str, tmp_path: Path) -> None:
    arguments, results = str(tmp_path / "a.npz"), str(tmp_path / "r.npz")
    left = np.arange(6, dtype=np.float32).reshape(2, 3)
    right = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.savez(arguments, arg0=left, arg1=right)
    assert main(["run", module, "--args", arguments, "--out", results]) == 0
    with np.load(results) as archive:
        assert archive.files == ["result0"]
        assert archive["result0"].tobytes() == (left @ right + 2).tobytes()


def test_run_prints_results_of_drawn_arguments(module: str, capsys: Captured) -> None:
    assert main(["run", module, "--random", "5"]) == 0
    first = capsys.readouterr().out
    assert first.startswith("result0: float32[2, 4]\n[[")
    assert main(["run", module, "--random", "5"]) == 0
    assert capsys.readouterr().out == first
    assert main(["run", module, "--random", "6"]) == 0
    assert capsys.readouterr().out != first


def test_run_without_arguments_says_which(module: str, capsys: Captured) -> None:
    assert main(["run", module]) == 2
    told = "@main takes arg0: float32[2, 3], arg1: float32[3, 4]; give them with --args or --random"
    assert told in capsys.readouterr().err


def test_run_stops_after_the_steps_it_is_given(tmp_path: Path, capsys: Captured) -> None:
    assert main(["run", write(tmp_path, ENDLESS), "--max-steps", "1000"]) == 1
    told = f"{tmp_path / 'm.mlir'}:4:8: @main ran more than 1000 steps\n"
    line = "  %0 = stablehlo.while(%i = %c) : tensor<i32>\n       ^\n"
    assert capsys.readouterr().err == told + line


def test_a_bound_of_steps_for_another_runtime_is_a_wrong_usage(capsys: Captured) -> None:
    assert main(["run", "absent.mlir", "--runtime", "xla", "--max-steps", "5"]) == 2
    assert capsys.readouterr().err == "--max-steps needs --runtime interpreter, got xla\n"


def test_validate_tells_each_file(module: str, tmp_path: Path, capsys: Captured) -> None:
    wrong = tmp_path / "wrong.mlir"
    wrong.write_text(WRONG)
    missing = tmp_path / "none.mlir"
    assert main(["validate", module, str(wrong)]) == 1
    captured = capsys.readouterr()
    assert captured.out == f"{module}: valid\n"
    assert captured.err.startswith(f"{wrong}:2:8: stablehlo.add needs 2 operands, got 1\n")
    assert captured.err.endswith(f"\n{' ' * 7}^\n")
    assert main(["validate", str(missing)]) == 2
    assert "No such file" in capsys.readouterr().err


def test_print_writes_a_module_that_says_the_same(module: str, capsys: Captured) -> None:
    assert main(["print", module]) == 0
    printed = capsys.readouterr().out
    assert "stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]" in printed
    path = Path(module)
    path.write_text(printed, encoding="utf-8")
    assert main(["print", module]) == 0
    assert capsys.readouterr().out == printed
    assert main(["print", "--generic", module, f"{module}.none", module]) == 2
    generic, again = capsys.readouterr().out.split("// -----\n")
    assert '"stablehlo.dot_general"(%a, %b)' in generic
    assert generic == again
    assert runtimes.printed(generic) == printed


def test_modules_of_one_file_are_taken_one_by_one(
    module: str, tmp_path: Path, capsys: Captured
) -> None:
    assert main(["print", module, module]) == 0
    printed = capsys.readouterr().out
    both = tmp_path / "both.mlir"
    both.write_text(f"// A comment.\n// -----\n{printed}// -----\n{WRONG}", encoding="utf-8")
    line = both.read_text().splitlines().index(WRONG.splitlines()[1]) + 1
    assert main(["validate", str(both)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"{both}:{line}:8: stablehlo.add needs 2 operands, got 1\n")
    assert captured.err.endswith(f"\n{' ' * 7}^\n")
    both.write_text(printed, encoding="utf-8")
    assert main(["validate", str(both)]) == 0
    assert capsys.readouterr().out == f"{both}: valid\n"
    assert main(["print", str(both)]) == 0
    assert capsys.readouterr().out == printed
    assert main(["ops", str(both)]) == 0
    first, second = capsys.readouterr().out.split("// -----\n")
    assert first == second


def test_an_extent_that_nothing_takes_is_a_wrong_usage(module: str, capsys: Captured) -> None:
    takes = "@main takes arg0: float32[2, 3], arg1: float32[3, 4]"
    for words, told in (
        (["--random", "1"], f"--extent needs an open extent, and {takes}"),
        (["--args", "absent.npz"], "--extent needs --random, whose arguments it is for"),
    ):
        for command in ("run", "check"):
            assert main([command, module, "--extent", "4", *words]) == 2
            assert capsys.readouterr().err == f"{module}: {told}\n"


def test_ops_counts_calls_and_flops(module: str, capsys: Captured) -> None:
    assert main(["ops", module]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "arguments  tensor<2x3xf32>, tensor<3x4xf32>"
    assert lines[1] == "results    tensor<2x4xf32>"
    # The constant of the function that is called twice takes its 32 bytes once.
    assert lines[2] == "constants  32 bytes"
    table = [line.split() for line in lines[4:]]
    assert table == [
        ["operation", "runs", "flops", "elements"],
        ["stablehlo.add", "2", "16", "f32"],
        ["stablehlo.constant", "2", "0", "f32"],
        ["stablehlo.dot_general", "1", "48", "f32"],
        ["total", "5", "64", "f32"],
    ]


@pytest.mark.parametrize("name", ["run", "validate", "print", "ops", "status"])
def test_each_command_explains_itself(name: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: topos {name}" in capsys.readouterr().out


def test_run_takes_numerics_by_name(tmp_path: Path) -> None:
    text = TEXT.replace("stablehlo.add %a, %c", "stablehlo.power %a, %c")
    path, results = write(tmp_path, text), str(tmp_path / "r.npz")
    found = []
    for numerics in ("exact", "fast"):
        command = ["run", path, "--random", "3", "--out", results, "--numerics", numerics]
        assert main(command) == 0
        with np.load(results) as archive:
            found.append(archive["result0"])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_ops_of_a_module_without_main_is_refused(tmp_path: Path, capsys: Captured) -> None:
    path = write(tmp_path, TEXT.replace("@main", "@other"))
    assert main(["ops", path]) == 1
    first = TEXT.splitlines()[0].replace("@main", "@other")
    assert capsys.readouterr().err == f"{path}:1:1: a module needs a function @main\n{first}\n^\n"


def test_a_run_of_something_unsupported_points_at_it(tmp_path: Path, capsys: Captured) -> None:
    text = TEXT.replace("stablehlo.add %a, %c", "stablehlo.custom_call @nobody(%a)")
    text = text.replace("@nobody(%a) :", "@nobody(%a) : (tensor<2x4xf32>) ->")
    path = write(tmp_path, text)
    assert main(["validate", path]) == 0
    assert main(["run", path, "--random", "1"]) == 1
    told = f"{path}:9:8: stablehlo.custom_call @nobody is not supported"
    assert capsys.readouterr().err.startswith(told)


@pytest.mark.parametrize("option", ["--random", "--max-steps"])
@pytest.mark.parametrize("number", ["-1", "1.5", "one", "\N{ARABIC-INDIC DIGIT ONE}"])
def test_a_number_below_zero_is_a_wrong_usage(
    module: str, option: str, number: str, capsys: Captured
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", module, option, number])
    assert ended.value.code == 2
    assert f"argument {option}: needs a whole number from 0 on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "path", "told"),
    [
        ("--args", "none.npz", "No such file or directory"),
        ("--args", ".", "Is a directory"),
        ("--out", "none/r.npz", "there is no folder {}/none"),
        ("--out", ".", "results need a regular file, got another thing of that name"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    tmp_path: Path,
    option: str,
    path: str,
    told: str,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "func.func @main() -> tensor<i1> {\n%0 = stablehlo.constant dense<true> : tensor<i1>\n"
    command = ["run", write(tmp_path, f"{text}return %0 : tensor<i1>\n}}"), option, path]
    assert main(command) == 2
    assert capsys.readouterr().err == f"{path}: {told.format(tmp_path)}\n"


def test_without_a_command_all_are_listed(capsys: Captured) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("usage: topos ")
    for name in ("run", "validate", "print", "ops", "export", "bundle", "check", "bench"):
        assert f"\n    {name} " in captured.err


def test_the_version_is_that_of_the_distribution(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"topos {version('topos-compiler')}\n"
