"""Numpy's maps are within the envelope that their coverage states."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos import TensorType, f32, f64
from topos.backend import Backend, Formula, MapTask, serve, simd
from topos.payload import Element, kernels
from topos.runtimes.distance import largest_distance

COUNT = 50_000
NONNEGATIVE = (Formula.LN, Formula.SQRT, Formula.RSQRT)


def arguments(formula: Formula, element: Element) -> npt.NDArray[Any]:
    """Returns numbers of every magnitude for which the result is normal, and moderate ones."""
    random = np.random.default_rng(3)
    values = np.ldexp(random.uniform(1.0, 2.0, COUNT), random.integers(-30, 6, COUNT))
    if formula not in NONNEGATIVE:
        values[::2] *= -1.0
    if formula is Formula.LOG1P:
        values = np.maximum(values, -0.999)
    return values.astype(element.dtype)


@pytest.mark.parametrize("element", [f64, f32], ids=str)
@pytest.mark.parametrize("formula", simd.ULP, ids=lambda formula: formula.value)
def test_a_fast_map_is_within_its_bound(formula: Formula, element: Element) -> None:
    values = arguments(formula, element)
    kernel, backend, _ = serve(formula, MapTask(TensorType(values.shape, element)), False)
    assert backend is Backend.SIMD
    ours, oracle = kernel(values), getattr(kernels.maps, formula.value)(values)
    normal = np.abs(oracle) >= np.finfo(element.dtype).smallest_normal
    assert largest_distance(ours[normal], oracle[normal]) <= simd.ULP[formula]
    out = np.empty_like(values)
    assert kernel(values, out=out) is out
    assert out.tobytes() == ours.tobytes()
