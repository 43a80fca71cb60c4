"""External judges of a bundle: what they are given, how they start, what their fault is."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bundle.bundled_models import altered
from topos.bundle import Commands, check, evaluator_verdicts, validator_verdicts
from topos.bundle.report import State
from topos.errors import ArgumentError

EVALUATOR = shlex.join([sys.executable, "-m", "topos", "eval"])
RECORDING = """
import sys
from pathlib import Path

with open(Path(__file__).with_name("asked"), "a") as file:
    print(*(Path(each).name for each in sys.argv[1:]), file=file)
"""


def recorder(folder: Path) -> str:
    """Returns a command that accepts everything and writes down what it was given."""
    (folder / "judge.py").write_text(RECORDING)
    return shlex.join([sys.executable, str(folder / "judge.py")])


def test_commands_judge_as_runtimes_do(exported: Path, folder: Path, tmp_path: Path) -> None:
    altered(folder, "rows4.mlir", "stablehlo.maximum", "stablehlo.minimum")
    verdicts = evaluator_verdicts(EVALUATOR, check(folder, []), tmp_path)
    assert [each.state for each in verdicts] == [State.BITS, State.OUTSIDE]
    # One that ends half way is at fault for what it left out, and for nothing else.
    half = f'{EVALUATOR} "${{@:1:6}}"; echo first; echo "$7: no time"; exit 3'
    verdicts = evaluator_verdicts(
        shlex.join(["bash", "-c", half, "half"]), check(exported, []), tmp_path
    )
    assert [each.state for each in verdicts] == [State.BITS, State.FAILED]
    assert verdicts[1].reason.startswith("bash ended with 3: ")
    assert verdicts[1].reason.endswith("rows4.mlir: no time")


def test_an_evaluator_starts_once_for_the_modules_of_all_programs(
    exported: Path, tmp_path: Path
) -> None:
    evaluator_verdicts(recorder(tmp_path), check(exported, []), tmp_path)
    (asked,) = (tmp_path / "asked").read_text().splitlines()
    assert asked.split()[::3] == ["rows1.mlir"] * 2 + ["rows4.mlir"] * 2


def test_one_process_of_our_own_takes_many_modules(
    exported: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    validator, started = EVALUATOR.replace(" eval", " validate"), []
    popen = subprocess.Popen

    def start(*arguments: Any, **named: Any) -> Any:
        started.append(arguments[0][-1])
        return popen(*arguments, **named)

    monkeypatch.setattr(subprocess, "Popen", start)
    found = check(exported, [])
    altered(folder, "rows4.mlir", "stablehlo.maximum", "stablehlo.minimum")
    with Commands() as commands:
        for _ in range(2):
            verdicts = validator_verdicts(validator, found, tmp_path, commands)
            assert {each.state for each in verdicts} == {State.HOLDS}
            verdicts = evaluator_verdicts(EVALUATOR, found, tmp_path, commands)
            assert {each.state for each in verdicts} == {State.BITS}
        wrong = evaluator_verdicts(EVALUATOR, check(folder, []), tmp_path, commands)
        assert [each.state for each in wrong] == [State.BITS, State.OUTSIDE]
        # What is refused is told of its module alone, and the process goes on.
        (tmp_path / "rows1.mlir").write_text("no module")
        done = commands.called(shlex.split(validator), [*tmp_path.glob("rows*.mlir")], 2)
        assert "rows1.mlir:1:1: expected a function" in done.reason(tmp_path / "rows1.mlir")
        assert f"{tmp_path / 'rows4.mlir'}: valid" in done.said
    assert started.count("--batch") == 2


def test_a_process_that_is_gone_says_its_last_words(exported: Path, tmp_path: Path) -> None:
    with Commands() as commands:
        verdicts = evaluator_verdicts(
            f"{EVALUATOR} --colour", check(exported, []), tmp_path, commands
        )
    assert {each.state for each in verdicts} == {State.FAILED}
    assert "ended: usage: topos" in verdicts[0].reason


def test_an_evaluator_whose_runtime_is_not_installed_is_skipped(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent" / "sitecustomize.py").write_text(
        "import sys; sys.modules['jaxlib'] = sys.modules['jax'] = None"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "absent"))
    with Commands() as commands:
        evaluator = f"{EVALUATOR} --runtime xla"
        verdicts = evaluator_verdicts(evaluator, check(exported, []), tmp_path, commands)
    assert {each.state for each in verdicts} == {State.SKIPPED}
    assert verdicts[0].reason.startswith("the xla runtime needs jax: pip install")


def test_no_command_is_given_what_our_verifier_refuses(folder: Path, tmp_path: Path) -> None:
    altered(folder, "rows1.mlir", "stablehlo.maximum", "stablehlo.maximal")
    found, judge = check(folder, []), recorder(tmp_path)
    for verdicts in (validator_verdicts, evaluator_verdicts):
        first, second = verdicts(judge, found, tmp_path)
        assert (first.state, first.reason) == (State.BLOCKED, "refused by the verifier")
        assert second.state is not State.BLOCKED
    assert "rows1" not in (tmp_path / "asked").read_text()
    (tmp_path / "asked").unlink()
    altered(folder, "rows4.mlir", "stablehlo.maximum", "stablehlo.maximal")
    for verdicts in (validator_verdicts, evaluator_verdicts):
        assert {each.state for each in verdicts(judge, check(folder, []), tmp_path)} == {
            State.BLOCKED
        }
    assert not (tmp_path / "asked").exists()


def test_a_validator_judges_by_its_status(exported: Path, tmp_path: Path) -> None:
    judge = "import sys; sys.exit('no rows' if 'rows4' in sys.argv[1] else 0)"
    validator = shlex.join([sys.executable, "-c", judge])
    good, bad = validator_verdicts(validator, check(exported, []), tmp_path)
    assert (good.state, bad.state) == (State.HOLDS, State.FAILED)
    assert bad.reason.endswith("ended with 1: no rows")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("./locked", "./locked cannot be run: Permission denied"),
        ("no-such-command", "no-such-command cannot be run: no command of this name is on PATH"),
        ("./judge.py", "./judge.py cannot be run: there is no ./judge.py in {}: name it by its"),
        ("/nowhere/judge", "/nowhere/judge cannot be run: there is no /nowhere/judge"),
        ("{} tools/judge.py", "; there is no tools/judge.py in {}: name it by its whole path"),
        ("{} judge.py", "; there is no judge.py in {}: name it by its whole path"),
    ],
)
def test_a_command_that_is_not_found_says_where_it_was_looked_for(
    command: str, reason: str, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = check(exported, [])
    (tmp_path / "locked").touch(mode=0o600)
    monkeypatch.chdir(tmp_path)
    for verdicts in (validator_verdicts, evaluator_verdicts):
        verdict, _ = verdicts(command.format(shlex.quote(sys.executable)), found, tmp_path)
        assert verdict.state is State.FAILED
        assert reason.format(tmp_path) in verdict.reason


def test_a_command_that_is_none_or_answers_nothing_says_so(exported: Path, tmp_path: Path) -> None:
    found = check(exported, [])
    verdict, _ = evaluator_verdicts("true", found, tmp_path)
    assert "true wrote no results" in verdict.reason
    for command in (" ", "judge 'open"):
        with pytest.raises(ArgumentError, match="a judge needs a command, got "):
            validator_verdicts(command, found, tmp_path)
