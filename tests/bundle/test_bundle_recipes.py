"""The programs of the guide load bundles where topos cannot be imported."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.bundle.bundled_models import mlp, rewritten
from tests.project.paths import ROOT
from topos import Activation, Tape, bf16, bool_, f16, f64, i32, i64
from topos.bundle import deviation, export

Array = npt.NDArray[Any]

GUIDE = (ROOT / "docs" / "guides" / "export.md").read_text(encoding="utf-8")
NEEDS = {"jax": ("jax", "safetensors"), "IREE": ("iree.compiler", "iree.runtime", "safetensors")}
SHARE = r"(?ms)^def share\(.*?^    return max\(.*?$"
BLOCKED = """
import sys
sys.modules["topos"] = None
try:
    import topos
except ImportError:
    code = compile(open(sys.argv[1]).read(), "recipe", "exec")
for bundle in sys.argv[2:]:
    sys.argv[1:] = [bundle]
    exec(code, {"__name__": "__main__"})
    print("--")
"""


def recipe(name: str) -> str:
    found = re.search(
        rf"^### Plain {name}\n.*?```python\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE
    )
    assert found
    return found[1]


def answers(name: str, folder: Path, *bundles: Path) -> list[list[tuple[str, str]]]:
    """Returns what the program of the guide prints of each bundle: names and places."""
    path = folder / "recipe.py"
    path.write_text(recipe(name), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-P", "-c", BLOCKED, str(path), *map(str, bundles)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    *parts, end = done.stdout.split("--\n")
    assert not end
    told = [[line.rsplit(" ", 2) for line in part.splitlines()] for part in parts]
    return [[(each, place) for each, _, place in part] for part in told]


@pytest.fixture(params=NEEDS)
def name(request: pytest.FixtureRequest) -> str:
    for package in NEEDS[request.param]:
        pytest.importorskip(package)
    return str(request.param)


def every_kind(folder: Path) -> list[str]:
    """Exports results of every kind into `folder`, and returns their names."""
    tape = Tape()
    x, scale = tape.input(shape=[2, 3], name="x"), tape.input(shape=[], name="scale")
    others = {
        each: tape.input(shape=[2, 3], element=each, name=str(each))
        for each in (f64, f16, bf16, i32, i64)
    }
    flag = tape.input(shape=[2, 3], element=bool_, name="flag")
    none = tape.input(shape=[0, 3], name="none")
    weights = tape.parameter(np.arange(9, dtype=np.float32).reshape(3, 3), name="weights")
    results = {
        **{f"{each} product": value * value for each, value in others.items()},
        **{"product": x @ weights, "compared": x.greater(0.25), "chosen": flag.select(x, -x)},
        **{"empty": none + none, "scalar": x.sum() * scale, "truth": x.sum().greater(0.0)},
        **{
            "zeros": x - x,
            "no integers": others[i64] - others[i64],
            "flags": flag.select(flag, flag),
        },
        **{"nothing": (x - x) / (x - x), "infinite": x.exp() / (x - x)},
    }
    for label, value in results.items():
        value.named(label)
    plan = tape.into_network().entry(list(results)).lower()
    sample = {
        "i32": np.array([[1, 2, 3], [-4, 2**15, 6]], np.int32),
        "i64": np.array([[1, 2, 3], [-4, 2**31, 6]]),
        "flag": np.array([[True, False, True], [False, False, True]]),
    }
    plan.export(folder, samples=[sample])
    return list(results)


def test_a_program_of_the_guide_agrees_with_the_oracle_and_tells_wrong_weights(
    name: str, tmp_path: Path
) -> None:
    # A GELU is one operation of CHLO in the text, and StableHLO in the artifact.
    rows = [mlp(rows, activation=Activation.GELU) for rows in (2, 5)]
    export(tmp_path / "rows", rows, batched=True)
    results = every_kind(tmp_path / "kinds")
    mlp(seed=1).export(tmp_path / "wrong")
    other = mlp(seed=2).export(tmp_path / "other").path
    shutil.copy(other / "weights.safetensors", tmp_path / "wrong")
    rewritten(tmp_path / "wrong")
    batched, kinds, wrong = answers(
        name, tmp_path, *(tmp_path / each for each in ("rows", "kinds", "wrong"))
    )
    assert batched == [("scores", "inside")] * 2
    assert kinds == [(each, "inside") for each in results]
    assert wrong == [("scores", "OUTSIDE")] * 2


NAN = np.array([1, np.nan, 2], np.float32)
PAIRS: dict[str, tuple[Array, Array]] = {
    "equal flags": (np.array([True, False]), np.array([True, False])),
    "other flags": (np.array([True, False]), np.array([False, False])),
    "no flag": (np.array([False]), np.array([True])),
    "empty": (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)),
    "zeros": (np.zeros(3, bf16.dtype), np.zeros(3, bf16.dtype)),
    "zeros and not": (np.zeros(3, np.float16), np.full(3, 1e-3, np.float16)),
    "signs of zero": (np.zeros(3, np.float32), -np.zeros(3, np.float32)),
    "integers": (np.array([3, -4]), np.array([3, -2])),
    "large integers": (np.array([2**62, 1]), np.array([2**62 + 1, 1])),
    "the least integer": (np.array([-(2**63)]), np.array([2**63 - 1])),
    "unsigned": (np.array([1, 200], np.uint8), np.array([3, 200], np.uint8)),
    "bf16": (np.array([1, 2], bf16.dtype), np.array([1, 2.03125], bf16.dtype)),
    "f16": (np.array([1, 60000], np.float16), np.array([-60000, 60000], np.float16)),
    "a scalar": (np.array(4.0, np.float32), np.array(5.0, np.float32)),
    "NaN": (NAN, NAN.copy()),
    "NaN and more": (NAN, NAN + np.float32(0.5)),
    "NaN and none": (NAN, np.nan_to_num(NAN)),
    "infinity": (np.array([np.inf, 1]), np.array([np.inf, 1.5])),
    "signs of infinity": (np.array([np.inf, 1]), np.array([-np.inf, 1])),
    "infinity and none": (np.array([1.0, 1]), np.array([np.inf, 1])),
    "shapes": (np.ones((1, 2)), np.ones(2)),
    "elements": (np.ones(2), np.ones(2, np.float32)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_its_share_is_the_deviation_of_a_check(pair: str) -> None:
    own = {found[0] for each in NEEDS if (found := re.search(SHARE, recipe(each)))}
    (text,) = own
    scope: dict[str, Any] = {"np": np}
    exec(text, scope)
    oracle, answer = PAIRS[pair]
    assert float(scope["share"](oracle, answer)) == pytest.approx(deviation(oracle, answer))
