"""`topos export` and `topos check` as a shell would call them."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from tests.bundle.bundled_models import mlp, rewritten
from topos import runtimes
from topos.bundle import Bundle, export
from topos.cli import main
from topos.runtimes import Status

Captured = pytest.CaptureFixture[str]

MODEL = """
from topos import Tape, i64
import beside


def plan(rows=2):
    tape = Tape()
    weight = tape.parameter([[1.0], [2.0]], name="weight")
    (tape.input(shape=[rows, 2], name="x") @ weight).named("y")
    return tape.into_network().entry(["y"]).lower()


one = plan()
pair = (one, one.network.parameters().scale(2.0))
plans = [plan(1), plan(2)]
single = plan(1)


def batched():
    return {"plans": [plan(1), plan(4)], "batched": True, "name": "lines"}


def listed():
    return plans, {"weight": [[3.0], [4.0]]}


def faulty():
    return 1 / 0


def missing():
    import no_such_package


def slow():
    open("ran", "w").close()
    return one


def counted():
    tape = Tape()
    counts = tape.input(shape=[2], element=i64, name="counts")
    (counts + counts).named("twice")
    return tape.into_network().entry(["twice"]).lower()


def sampled():
    return {"plans": counted(), "samples": [{"counts": [1.5, 2.5]}]}


needs = lambda rows, *rest, of=1, width, **more: rows
number = 3
unknown = {"plans": one, "color": "red"}
without = {"parameters": None}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of models and one that it imports, which is gone afterwards."""
    (tmp_path / "lines.py").write_text(MODEL)
    (tmp_path / "beside.py").write_text("")
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    for name in ("lines", "beside"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def weights(folder: Path) -> list[float]:
    values: list[float] = Bundle.load(folder).weights()["weight"].ravel().tolist()
    return values


def test_a_target_is_a_plan_a_pair_or_a_function(project: Path, capsys: Captured) -> None:
    assert main(["export", "lines.py:one", "a"]) == 0
    version = Bundle.load("a").version
    assert capsys.readouterr().out == f"a: a {version}\n(x: f32[2, 2]) -> (y: f32[2, 1])\n"
    assert main(["export", f"{project}/lines.py:pair", "b"]) == 0
    assert (weights(project / "a"), weights(project / "b")) == ([1, 2], [2, 4])
    assert main(["export", "lines:batched", "c"]) == 0
    told = capsys.readouterr().out
    assert told.endswith("1 or 4 rows a call\n(x: f32[2]) -> (y: f32[1])\n")
    assert Bundle.load("c").name == "lines"
    assert main(["export", "lines.py:listed", "d", "--batched", "--name", "other"]) == 0
    assert (weights(project / "d"), Bundle.load("d").name) == ([3, 4], "other")


def test_a_module_is_looked_for_in_the_working_folder(project: Path) -> None:
    assert str(project) not in sys.path
    assert main(["export", "lines:one", "a"]) == 0
    assert weights(project / "a") == [1, 2]


def test_options_reach_the_export(project: Path) -> None:
    assert main(["export", "lines.py:one", "a", "--compatibility", "1.9.0", "--seed", "4"]) == 0
    assert Bundle.load("a").compatibility == "1.9.0"
    assert main(["export", "lines.py:one", "b"]) == 0
    samples = [Bundle.load(name).programs[0].sample()[0].inputs["x"] for name in "ab"]
    assert samples[0].tobytes() != samples[1].tobytes()


REFUSED = {
    ("lines.py",): (2, "a target needs the form MODULE:NAME or FILE.py:NAME, got 'lines.py'"),
    ("none.py:one",): (2, "none.py is no file"),
    ("none.such:one",): (2, "no module is called 'none.such'"),
    ("lines.py:two",): (2, "lines.py has no 'two'; it has batched, counted, faulty, listed,"),
    ("lines.py:needs",): (2, "lines.py:needs is called without arguments, but needs rows, width"),
    ("lines.py:number",): (2, "lines.py:number needs a plan, a list of plans, (plans, parameters)"),
    ("lines.py:unknown",): (2, "gives 'color', and an export takes plans, parameters, resident"),
    ("lines.py:without",): (2, "gives no 'plans'"),
    ("lines.py:faulty",): (1, "ZeroDivisionError"),
    ("lines.py:missing",): (1, "no_such_package"),
    ("lines.py:plans",): (1, "lines.py:plans: a bundle of 2 plans needs batched=True"),
    ("lines.py:one", "--compatibility", "new"): (2, "compatibility needs a version"),
    ("lines.py:one", "--name", "a/b"): (2, "a bundle's name needs letters"),
    ("lines.py:bached",): (2, "lines.py has no 'bached'; did you mean 'batched'? It has batched,"),
    ("lines.py:counted",): (1, 'TARGET gives values in a dict: {"plans": ..., "parameters": ...,'),
}


@pytest.mark.parametrize("words", REFUSED, ids=lambda words: " ".join(words))
def test_a_target_that_cannot_be_exported_says_why(
    project: Path, capsys: Captured, words: tuple[str, ...]
) -> None:
    status, reason = REFUSED[words]
    assert main(["export", words[0], "out", *words[1:]]) == status
    captured = capsys.readouterr()
    assert reason in captured.err
    assert captured.out == ""
    assert not (project / "out").exists()


def test_whoever_gave_a_dict_is_not_told_of_one(project: Path, capsys: Captured) -> None:
    assert main(["export", "lines.py:sampled", "out"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("lines.py:sampled: ")
    assert "counts" in told
    assert "TARGET gives" not in told


def test_a_model_of_one_row_is_told_so(project: Path, capsys: Captured) -> None:
    assert main(["export", "lines.py:single", "a", "--batched"]) == 0
    assert " 1 row a call\n" in capsys.readouterr().out


def test_a_fault_of_the_users_code_is_told_from_its_own_place(
    project: Path, capsys: Captured
) -> None:
    assert main(["export", "lines.py:faulty", "out"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].startswith(f'  File "{project / "lines.py"}", line ')
    assert lines[-1] == "lines.py:faulty failed"


def test_what_needs_no_plan_is_refused_before_the_users_code_runs(
    project: Path, capsys: Captured
) -> None:
    (project / "taken").mkdir()
    (project / "taken" / "note.txt").write_text("mine")
    wrong = {
        ("taken",): "an export replaces bundles only",
        ("lines.py/out",): "lines.py/out: Not a directory",
        ("out", "--compatibility", "week-13"): "compatibility needs a version",
        ("out", "--name", "a/b"): "a bundle's name needs letters",
    }
    for words, reason in wrong.items():
        assert main(["export", "lines.py:slow", *words]) == 2
        assert reason in capsys.readouterr().err
        assert not (project / "ran").exists()
    assert main(["export", "lines.py:slow", "out/of/sight"]) == 0
    assert (project / "ran").exists()


def test_what_is_no_bundle_is_not_replaced(project: Path, capsys: Captured) -> None:
    assert main(["export", "lines.py:one", "."]) == 2
    assert "an export replaces " in capsys.readouterr().err
    assert (project / "lines.py").read_text() == MODEL


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_takes_nothing_is_told(project: Path, capsys: Captured) -> None:
    (project / "locked").mkdir(mode=0o500)
    assert main(["export", "lines.py:one", "locked/out"]) == 2
    assert "locked/out: Permission denied" in capsys.readouterr().err


def test_a_file_for_a_folder_is_told(project: Path, capsys: Captured) -> None:
    assert main(["export", "lines.py:one", "lines.py/out"]) == 2
    assert "lines.py/out: " in capsys.readouterr().err


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "model"
    export(folder, mlp())
    return folder


def test_a_check_prints_a_table(exported: Path, capsys: Captured) -> None:
    assert main(["check", str(exported), "--runtime", "interpreter", "--numerics", "exact"]) == 0
    lines = capsys.readouterr().out.splitlines()
    version = Bundle.load(exported).version
    assert lines[0] == f"model {version}: every file as its digest says"
    assert lines[1].split() == [*("judge", "program", "result", "deviation", "envelope", "verdict")]
    assert lines[-2].split()[:4] == ["interpreter", "main", "scores", "0.0e+00"]
    assert lines[-2].endswith("bits equal")
    assert lines[-1] == "holds on interpreter"


def test_a_check_prints_json(exported: Path, capsys: Captured) -> None:
    assert main(["check", str(exported), "--runtime", "interpreter", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["name"], document["passed"]) == ("model", True)
    last = document["verdicts"][-1]
    assert (last["judge"], last["state"], last["result"]) == ("interpreter", "inside", "scores")


def test_a_check_fails_where_a_result_is_outside(tmp_path: Path, capsys: Captured) -> None:
    mlp().export(tmp_path / "b")
    text = tmp_path / "b" / "main.mlir"
    text.write_text(text.read_text().replace("stablehlo.maximum", "stablehlo.minimum"))
    assert main(["check", str(tmp_path / "b")]) == 1
    found, wanted = hashlib.sha256(text.read_bytes()), Bundle.glance(tmp_path / "b").programs[0]
    assert capsys.readouterr().err == (
        f"{tmp_path / 'b'} has a main.mlir whose digest is another: {found.hexdigest()[:12]} where "
        f"the manifest has {wanted.digest[:12]}; copy or export it again\n"
    )
    rewritten(tmp_path / "b")
    assert main(["check", str(tmp_path / "b"), "--runtime", "interpreter"]) == 1
    out = capsys.readouterr().out
    assert "OUTSIDE" in out
    assert out.splitlines()[-1].endswith("do not hold")


def test_a_check_of_nothing_or_by_nobody_says_so(
    exported: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["check", str(tmp_path / "none")]) == 2
    assert "none: No such file or directory" in capsys.readouterr().err
    away = Status(False, "the xla runtime is away")
    monkeypatch.setattr(type(runtimes.load("xla")), "status", lambda self: away)
    assert main(["check", str(exported), "--runtime", "xla"]) == 2
    assert capsys.readouterr().err == "the xla runtime is away\n"
    with pytest.raises(SystemExit) as ended:
        main(["check", str(exported), "--runtime", "tpu"])
    assert ended.value.code == 2


@pytest.mark.parametrize("name", ["export", "check"])
def test_a_command_explains_itself_with_an_example(name: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert f"usage: topos {name}" in out
    assert "    topos check" in out
    assert "exit status: 0" in out


def test_a_check_honours_the_commands_of_the_environment(
    project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["export", "lines.py:one", "a"]) == 0
    monkeypatch.setenv("TOPOS_STABLEHLO_VALIDATOR", "true")
    monkeypatch.setenv("TOPOS_STABLEHLO_EVALUATOR", "false")
    assert main(["check", "a", "--runtime", "interpreter"]) == 1
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "validator main holds" in rows
    assert "evaluator main FAILED: false ended with 1: it said nothing" in rows
