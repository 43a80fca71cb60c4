"""The circular and hyperbolic functions of CHLO: every element the nearest number, by MPFR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gmpy2
import ml_dtypes
import numpy as np
import pytest

from tests.runtimes.interpreter.high_precision import Array, applied, differing, exactly
from topos.runtimes.interpreter.run import compiled

CURVES: dict[str, Callable[[Any], Any]] = {
    name: getattr(gmpy2, name)
    for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan")
}
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 1 - 2.0**-53, 1 + 2.0**-52, 2.0**-28, 2.0**-30, 5e-324, 1e-310]


def samples(dtype: Any) -> Array:
    rng = np.random.default_rng(7)
    sign = rng.choice([-1.0, 1.0], 120)
    parts = (
        EDGES,
        rng.uniform(-1, 1, 120),
        rng.uniform(-60, 60, 60),
        rng.uniform(-720, 720, 60),
        sign * 10.0 ** rng.uniform(-320, 308, 120),
        1 + 10.0 ** rng.uniform(-16, 0, 60),
    )
    with np.errstate(all="ignore"):
        return np.concatenate(parts).astype(dtype)


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_a_curve_is_the_nearest_number(name: str, dtype: Any) -> None:
    values = samples(dtype)
    values = values[np.isfinite(values.astype(np.float64))]
    wanted = exactly(CURVES[name], values)
    result = applied(f"chlo.{name}", values)
    # A zero has the sign that MPFR gives it; float(-0) keeps it.
    assert differing(result, wanted) == []


SPECIAL = {
    "acos": [np.nan, np.nan],
    "acosh": [np.inf, np.nan],
    "asin": [np.nan, np.nan],
    "asinh": [np.inf, -np.inf],
    "atan": [np.pi / 2, -np.pi / 2],
    "atanh": [np.nan, np.nan],
    "cosh": [np.inf, np.inf],
    "sinh": [np.inf, -np.inf],
    "tan": [np.nan, np.nan],
}


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_at_the_infinities_and_at_nan(name: str) -> None:
    result = applied(f"chlo.{name}", np.array([np.inf, -np.inf, np.nan]))
    assert differing(result, np.array([*SPECIAL[name], np.nan])) == []
    canonical = np.array([np.nan]).view(np.uint64)[0]
    assert set(result[np.isnan(result)].view(np.uint64).tolist()) == {canonical}


@pytest.mark.parametrize("name", CURVES)
def test_a_fast_curve_is_close(name: str) -> None:
    values = np.linspace(-0.9, 0.9, 40) + (2.0 if name == "acosh" else 0.0)
    text = f"""func.func @main(%a: tensor<40xf64>) -> tensor<40xf64> {{
      %r = chlo.{name} %a : tensor<40xf64> -> tensor<40xf64>
      return %r : tensor<40xf64>
    }}"""
    (result,) = compiled(text, exact=False)(values)
    wanted = exactly(CURVES[name], values)
    assert np.all(np.abs(result - wanted) <= 4 * np.spacing(np.abs(wanted)))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (3, 1500)])
def test_a_curve_keeps_the_shape(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(3).uniform(-1, 1, shape)
    result = applied("chlo.asin", values)
    assert result.shape == shape
    assert np.allclose(result, np.arcsin(values), rtol=1e-14, atol=0)
