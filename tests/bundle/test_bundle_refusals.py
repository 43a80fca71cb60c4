"""What cannot become a bundle is refused by its name, and the good one that stands there stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bundle.bundled_models import mlp, tokens
from topos import Plan, Tape, Value
from topos.bundle import Bundle, check, export, exporting
from topos.bundle.envelope import MOST, demand_telling
from topos.errors import ArgumentError, BundleError, FeedError, ToposError


def of(body: Callable[[Value], Value], *shape: int, name: str = "x") -> Plan:
    tape = Tape()
    body(tape.input(shape=list(shape), name=name)).named("y")
    return tape.into_network().entry(["y"]).lower()


def nothing_but_rounding(x: Value) -> Value:
    # Zero for the oracle, and the root of a negative number for whoever rounds otherwise.
    return (x * x - x * x * 1.0).sqrt()


UNTOLD: dict[str, Callable[[], Plan]] = {
    "sample says nothing of 'y': its envelope would be inf": lambda: of(nothing_but_rounding, 64),
    "sample says nothing of 'y': its envelope": lambda: of(lambda x: (x + 1e7) - 1e7, 8),
    "needs names of 1000 characters at most, got 1001 of 'xxxxxxxxxxxxxxxxxxxx'": (
        lambda: of(lambda x: x * 2.0, 1, name="x" * 1001)
    ),
}


@pytest.mark.parametrize("reason", UNTOLD)
def test_what_nobody_could_read_or_check_takes_no_place(tmp_path: Path, reason: str) -> None:
    version = mlp().export(tmp_path / "b").version
    with pytest.raises(BundleError) as refused:
        UNTOLD[reason]().export(tmp_path / "b")
    assert reason in str(refused.value)
    assert Bundle.load(tmp_path / "b").version == version
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_the_longest_name_is_kept(tmp_path: Path) -> None:
    name = "x" * 1000
    assert of(lambda x: x * 2.0, 1, name=name).export(tmp_path / "b").inputs[0].name == name


@pytest.mark.parametrize("envelope", [MOST, 1.0, float("inf"), float("nan")])
def test_an_envelope_that_holds_nothing_is_refused(envelope: float) -> None:
    demand_telling({"x": 0.0, "y": MOST / 2})
    with pytest.raises(BundleError, match="the sample says nothing of 'y'"):
        demand_telling({"x": 0.0, "y": envelope})


def test_what_was_written_is_loaded_before_it_takes_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = mlp().export(tmp_path / "b").version
    # Whatever an export may get wrong that nobody thought of.
    monkeypatch.setattr(exporting, "encoded", lambda manifest: b'{"format": 1}')
    with pytest.raises(BundleError, match="an export needs what can be loaded again: the bundle"):
        mlp(seed=3).export(tmp_path / "b")
    assert Bundle.load(tmp_path / "b").version == version
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


REFUSED: dict[str, dict[str, Any]] = {
    "samples need a sequence of mappings, one a call, such as [{'x': array}], got int": {
        "samples": 5
    },
    "samples need a sequence of mappings, one a call, such as [{'x': array}], got NoneType": {
        "samples": None
    },
    "samples need a sequence of mappings, one a call, such as [{'x': array}], got dict": {
        "samples": {"features": 1}
    },
    "samples need mappings of names to values, got int": {"samples": [5]},
    "a bundle's name needs a string, got int": {"name": 5},
    "a bundle's name needs a string, got bytes": {"name": b"x"},
    "batched needs True or False, got 'yes'": {"batched": "yes"},
    "batched needs True or False, got 1": {"batched": 1},
    "batched needs True or False, got None": {"batched": None},
    "batched needs True or False, got np.True_": {"batched": np.True_},
    "compatibility needs a version such as 1.13.7 or one of": {"compatibility": "9" * 9999 + ".1"},
    "week-4, week-12, max, got '999": {"compatibility": "9" * 9999 + ".1.1"},
    "max, got '\\u0661.\\u0661.\\u0661'": {"compatibility": "\u0661.\u0661.\u0661"},
    "week-12, max, got []": {"compatibility": []},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_an_option_of_another_kind_is_refused_by_its_name(tmp_path: Path, reason: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        export(tmp_path / "b", mlp(), **REFUSED[reason])
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 200
    assert list(tmp_path.iterdir()) == []


PATHS: dict[str, Any] = {
    "NoneType": None,
    "int": 5,
    "bytes": b"x",
    "''": "",
    "'a\\x00b'": "a\0b",
}


@pytest.mark.parametrize("got", PATHS)
def test_what_is_no_path_is_refused_by_whoever_is_given_it(got: str) -> None:
    path = PATHS[got]
    acts: list[Callable[[], object]] = [
        lambda: mlp().export(path),
        lambda: Bundle.load(path),
        lambda: Bundle.glance(path),
        lambda: check(path),
    ]
    for act in acts:
        with pytest.raises(ArgumentError) as refused:
            act()
        assert str(refused.value).endswith(f"needs the path of a folder, got {got}")


def test_the_working_folder_is_not_taken_from_under_anyone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = mlp().export(tmp_path / "b").version
    monkeypatch.chdir(tmp_path / "b")
    with pytest.raises(BundleError, match="b is the working folder: name it from another one"):
        mlp(seed=3).export(".")
    assert os.listdir() != []
    assert Bundle.load(".").version == version


def test_integers_of_ragged_rows_are_refused(tmp_path: Path) -> None:
    for batched in (True, False):
        with pytest.raises(ToposError, match="'tokens'") as refused:
            tokens(2).export(tmp_path / "b", samples=[{"tokens": [[1], [2, 3]]}], batched=batched)
        assert isinstance(refused.value, FeedError)


def test_a_check_takes_one_name_or_several(tmp_path: Path) -> None:
    bundle = mlp().export(tmp_path / "b")
    assert check(bundle, "interpreter").summary() == "holds on interpreter"
    assert check(bundle, ["interpreter"]).summary() == "holds on interpreter"
    wrong: list[Any] = [5, [None], [b"xla"]]
    for names in wrong:
        with pytest.raises(ArgumentError, match="a check needs names of runtimes, got"):
            check(bundle, names)


NEEDS = "a bundle needs msgspec: pip install 'topos-compiler[export]'"


def test_without_its_packages_a_bundle_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['msgspec'] = None\n"
        "from topos import bundle\n"
        "try: bundle.Bundle\n"
        "except bundle.UnavailableError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == f"{NEEDS}\n"


def test_an_export_without_its_packages_has_one_traceback() -> None:
    program = (
        "import sys; sys.modules['msgspec'] = None\n"
        "from topos import Tape\n"
        "tape = Tape()\n"
        "y = tape.input([1.0], name='x') + 1.0\n"
        "tape.into_network().entry([y.symbol]).lower().export('nowhere')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.endswith(f"UnavailableError: {NEEDS}\n")
