"""The error functions of Fast plans are near the exact ones, and alike at every special point."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.project.paths import ROOT
from topos import runtimes
from topos.payload.kernels import fast_error_functions, maps
from topos.runtimes.distance import largest_distance
from topos.runtimes.interpreter.special import gamma

EXACT: dict[str, Any] = {"erf": maps.erf, "erfc": gamma.erfc, "erf_inv": gamma.erf_inv}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan]


def arguments(name: str, dtype: Any) -> np.ndarray[Any, Any]:
    """Returns numbers of every magnitude, most where the function changes."""
    random = np.random.default_rng(7)
    magnitudes = np.exp2(random.uniform(np.log2(np.finfo(dtype).smallest_normal), 0, 2_000))
    wide = [random.uniform(-2, 2, 20_000), random.uniform(-7, 28, 20_000)]
    if name == "erf_inv":
        wide = [random.uniform(-1, 1, 20_000), 1 - np.exp2(random.uniform(-53, 0, 20_000))]
    values = np.concatenate([*wide, magnitudes, -magnitudes]).astype(dtype)
    return values[np.abs(values) < 1] if name == "erf_inv" else values


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", EXACT)
def test_a_result_is_within_its_units_of_the_exact_one(name: str, dtype: Any) -> None:
    values = arguments(name, dtype)
    fast = getattr(fast_error_functions, name)
    ours, exact = fast(values), EXACT[name](values.astype(np.float64)).astype(dtype)
    normal = np.abs(exact) >= np.finfo(dtype).smallest_normal
    assert normal.sum() > values.size // 2
    assert largest_distance(ours[normal], exact[normal]) <= fast_error_functions.UNITS[name]
    special = np.array([*SPECIAL, *([1.0, -1.0, 1.5] if name == "erf_inv" else [30.0])], dtype)
    want = EXACT[name](special.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(fast(special), want)
    assert (np.signbit(fast(special[:2])) == np.signbit(want[:2])).all()
    out = np.empty((2, values.size // 2), dtype)
    matrix = values[: out.size].reshape(out.shape).T.copy().T
    assert fast(matrix, out=out) is out
    assert out.reshape(-1).tobytes() == ours[: out.size].tobytes()


@pytest.mark.parametrize("name", EXACT)
def test_the_interpreter_takes_it_where_speed_is_asked_for(name: str) -> None:
    text = f"""func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {{
      %y = chlo.{name} %x : tensor<3xf32> -> tensor<3xf32>
      return %y : tensor<3xf32>
    }}"""
    values = np.array([0.25, -0.5, 0.9], np.float32)
    (fast,) = runtimes.load("interpreter").compile(text, numerics="fast")(values)
    assert fast.tobytes() == getattr(fast_error_functions, name)(values).tobytes()


def test_the_coefficients_are_those_that_the_command_derives() -> None:
    command = [sys.executable, str(ROOT / "tools" / "fast_error_functions.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
