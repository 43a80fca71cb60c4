"""Maps keep special values, shapes, flags and NaNs; tests/conformance has their roundings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.conformance import mpfr
from tests.conformance.mpfr import bits
from topos.errors import ElementError
from topos.payload.kernels import (
    exact,
    maps,
)
from topos.payload.kernels.rounding import BINARY32, BINARY64

Array = npt.NDArray[Any]
Same = Callable[[Any, Any], bool]
Layouts = Callable[[Array], list[Array]]

F64, F32, F16, BF16 = mpfr.FLOATS
QUIET = mpfr.QUIET
MAPS = mpfr.MAPS
every_map = pytest.mark.parametrize("name", MAPS)


@pytest.mark.parametrize("name", ["expm1", "log1p", "tanh", "sin", "erf"])
def test_zeros_keep_their_sign_among_small_numbers(name: str, floating: np.dtype[Any]) -> None:
    # Infinities and NaN may send their chunk another way.
    values = np.array([0.5, -0.0, 0.0, 0.25]).astype(floating)
    result = getattr(maps, name)(values)
    assert bits(result)[1:3].tolist() == bits(values)[1:3].tolist()


@every_map
def test_every_nan_becomes_the_canonical_one(name: str, floating: np.dtype[Any]) -> None:
    quiet, width = QUIET[floating], 8 * floating.itemsize
    # Quiet and signalling, with payloads and either sign.
    sign = 1 << (width - 1)
    payloads = [quiet, quiet + 1, quiet - 1, quiet | sign, (quiet - 1) | sign]
    values = np.array(payloads, f"u{floating.itemsize}").view(floating)
    assert bits(getattr(maps, name)(values)).tolist() == [quiet] * 5


@every_map
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (5, 7)])
def test_shape_and_strides_do_not_matter(
    name: str, shape: tuple[int, ...], floating: np.dtype[Any], layouts: Layouts, same: Same
) -> None:
    values = np.random.default_rng(4).uniform(0.1, 3.0, shape)
    array = np.asarray(values).astype(floating).reshape(shape)
    expected = mpfr.mapped(name, array.reshape(-1)).reshape(shape)
    for view in layouts(array):
        result = getattr(maps, name)(view)
        assert same(result, expected)
        assert result.flags.c_contiguous
        assert result.flags.writeable


@every_map
def test_no_flag_of_the_caller_is_raised(name: str, floating: np.dtype[Any]) -> None:
    values = np.array([-np.inf, -1e4, -1.0, -0.0, 0.0, 1e-7, 1e4, np.inf, np.nan]).astype(floating)
    with np.errstate(all="raise"):
        getattr(maps, name)(values)


@every_map
def test_a_scalar_of_numpy_is_an_array_of_rank_zero(name: str) -> None:
    result = getattr(maps, name)(np.float32(0.75))
    assert type(result) is np.ndarray
    assert (result.shape, result.dtype) == ((), F32)


@every_map
def test_other_elements_are_refused(name: str) -> None:
    with pytest.raises(ElementError, match=f"^{name} needs f64, f32, f16 or bf16, got int32$"):
        getattr(maps, name)(np.zeros(3, np.int32))


def test_a_hard_value_is_computed_once() -> None:
    calls: list[tuple[int, int]] = []

    def enclose(integer: int, exponent: int, places: int) -> tuple[int, int]:
        calls.append((integer, exponent))
        return 1 << places, 1 - places

    counted = replace(exact.EXP, enclose=enclose)
    results = counted.each(np.array([0.5, 0.25] * 500), BINARY32)
    assert results.tolist() == [2.0] * 1000
    assert sorted(calls) == [(1, -2), (1, -1)]


@every_map
def test_chunks_join_without_a_seam(name: str, same: Same) -> None:
    for dtype in (F32, F64):
        values = np.linspace(0.1, 3.0, 40_000).astype(dtype)
        parts = [getattr(maps, name)(values[i : i + 777]) for i in range(0, 40_000, 777)]
        assert same(getattr(maps, name)(values), np.concatenate(parts))


def test_a_constant_tensor_of_a_hard_value_rounds_like_one_element(same: Same) -> None:
    hard = 2.0**-53
    result = maps.exp(np.full((200, 1000), hard))
    assert same(result, np.full((200, 1000), exact.EXP.at(hard, BINARY64)))
