"""Power equals MPFR's correctly rounded power, to the bit, in every format."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gmpy2
import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from topos.errors import ElementError
from topos.payload.kernels import power_exact
from topos.payload.kernels.maps_wide import ends
from topos.payload.kernels.power import power
from topos.payload.kernels.power_wide import bracket_power, enclosed_power
from topos.payload.kernels.rounding import BINARY64, nearest

Array = npt.NDArray[Any]
Same = Callable[[Any, Any], bool]
Layouts = Callable[[Array], list[Array]]

F64, F32, F16 = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)
QUIET = {F64: 0x7FF8000000000000, F32: 0x7FC00000, F16: 0x7E00, BF16: 0x7FC0}
CONTEXTS = {
    F64: gmpy2.ieee(64),
    F32: gmpy2.ieee(32),
    F16: gmpy2.ieee(16),
    BF16: gmpy2.context(precision=8, emax=128, emin=-132, subnormalize=True),
}
INFINITY, NAN = math.inf, math.nan


def bits(array: Array) -> Array:
    unsigned: Array = array.view(f"u{array.dtype.itemsize}")
    return unsigned


def reference(bases: Array, exponents: Array) -> Array:
    """Returns MPFR's powers for one axis of pairs, every NaN the canonical one."""
    with np.errstate(all="ignore"):
        first, second = bases.astype(np.float64), exponents.astype(np.float64)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    with CONTEXTS[bases.dtype].copy():
        results = np.array([float(gmpy2.mpfr(x) ** gmpy2.mpfr(y)) for x, y in pairs])
    with np.errstate(all="ignore"):
        rounded = results.astype(bases.dtype)
    bits(rounded)[np.isnan(results)] = QUIET[bases.dtype]
    return rounded


def disagreements(bases: Array, exponents: Array) -> list[tuple[Any, ...]]:
    result, expected = power(bases, exponents), reference(bases, exponents)
    lanes = np.flatnonzero(bits(result) != bits(expected))
    return [(bases[i], exponents[i], result[i], expected[i]) for i in lanes[:5]]


def stratified(dtype: np.dtype[Any], count: int, seed: int) -> tuple[Array, Array]:
    """Returns about 6 * count pairs: any bits, moderate, near 1, far apart, whole numbers."""
    generator = np.random.default_rng(seed)
    unsigned, width = np.dtype(f"u{dtype.itemsize}"), 8 * dtype.itemsize
    near_one = np.ldexp(generator.uniform(-1.0, 1.0, count), generator.integers(-50, -1, count))
    wide = np.ldexp(generator.uniform(1.0, 2.0, count), generator.integers(-1070, 1023, count))
    bases = [
        generator.uniform(0.01, 60.0, count),
        generator.uniform(0.5, 2.0, count),
        1.0 + near_one,
        wide,
        -np.rint(generator.uniform(0.0, 30.0, count)),
    ]
    exponents = [
        generator.uniform(-20.0, 20.0, count),
        generator.uniform(-1100.0, 1100.0, count),
        np.ldexp(generator.uniform(-1.0, 1.0, count), generator.integers(0, 50, count)),
        generator.uniform(-1.1, 1.1, count),
        np.rint(generator.uniform(-12.0, 12.0, count)),
    ]
    patterns = generator.integers(0, 1 << width, (2, count), unsigned).view(dtype)
    with np.errstate(all="ignore"):
        base = np.concatenate([np.concatenate(bases).astype(dtype), patterns[0]])
        exponent = np.concatenate([np.concatenate(exponents).astype(dtype), patterns[1]])
    return base, exponent


def crossed(first: Array, second: Array) -> tuple[Array, Array]:
    left, right = np.meshgrid(first, second)
    return left.reshape(-1), right.reshape(-1)


def test_random_pairs_are_correctly_rounded(floating: np.dtype[Any]) -> None:
    assert disagreements(*stratified(floating, 5000, 1)) == []


def test_exact_powers_and_midpoints_are_correctly_rounded(floating: np.dtype[Any]) -> None:
    # The squares of 17, 49, 4097 and 2**27 - 1 are midpoints; roots of squares are exact.
    wholes = np.array([*range(1, 300), *range(4097, 4197, 2), *(2**27 - 1 - 2 * np.arange(50))])
    small = np.array([-3.0, -2.0, -1.0, -0.5, 0.25, 0.5, 0.75, 1.5, 2.0, 3.0, 4.0, 5.0, 9.0])
    with np.errstate(all="ignore"):
        base, exponent = wholes.astype(floating), small.astype(floating)
    assert disagreements(*crossed(base, exponent)) == []
    with np.errstate(all="ignore"):
        squares = (base * base).astype(floating)
    assert disagreements(*crossed(squares, exponent)) == []


def test_edges_of_every_kind_are_correctly_rounded(
    floating: np.dtype[Any], specials: Callable[[np.dtype[Any]], Array]
) -> None:
    edges = specials(floating)
    # A signalling NaN is no operand of the tables in the standard.
    with np.errstate(all="ignore"):
        edges = np.concatenate([edges[~np.isnan(edges)], np.array([NAN], floating)])
    more = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 1.5, 1000.0, 1 / 3, 1001.0]).astype(floating)
    numbers = np.concatenate([edges, more, -more])
    assert disagreements(*crossed(numbers, numbers)) == []


def test_every_square_is_correctly_rounded(floating: np.dtype[Any]) -> None:
    base, _ = stratified(floating, 3000, 4)
    if floating.itemsize == 2:
        base = np.arange(1 << 16, dtype=np.uint16).view(floating)
    assert disagreements(base, np.full(base.size, 2.0, floating)) == []


# The special cases of pow in IEEE 754-2019 clause 9.2.1, which are those of C99 F.9.4.4.
SPECIALS = [
    *[(base, zero, 1.0) for base in (0.0, INFINITY, NAN, -3.0) for zero in (0.0, -0.0)],
    *[(1.0, exponent, 1.0) for exponent in (NAN, INFINITY, -INFINITY, 0.5)],
    (-1.0, INFINITY, 1.0),
    (-1.0, -INFINITY, 1.0),
    (0.0, -3.0, INFINITY),
    (-0.0, -3.0, -INFINITY),
    (-0.0, -2.0, INFINITY),
    (-0.0, -0.5, INFINITY),
    (-0.0, -INFINITY, INFINITY),
    (0.0, 3.0, 0.0),
    (-0.0, 3.0, -0.0),
    (-0.0, 2.0, 0.0),
    (-0.0, 0.5, 0.0),
    (0.5, INFINITY, 0.0),
    (0.5, -INFINITY, INFINITY),
    (-2.0, INFINITY, INFINITY),
    (-2.0, -INFINITY, 0.0),
    (INFINITY, 0.5, INFINITY),
    (INFINITY, -0.5, 0.0),
    (-INFINITY, 3.0, -INFINITY),
    (-INFINITY, 2.0, INFINITY),
    (-INFINITY, 0.5, INFINITY),
    (-INFINITY, -3.0, -0.0),
    (-INFINITY, -2.0, 0.0),
    (-2.0, 3.0, -8.0),
    (-2.0, 2.0, 4.0),
    (-2.0, -1.0, -0.5),
]
INVALID = [(-2.0, 0.5), (-0.5, -1.5), (NAN, 2.0), (2.0, NAN), (NAN, NAN), (-1.0, NAN), (NAN, 1.0)]


def test_special_cases_are_those_of_the_standard(floating: np.dtype[Any], same: Same) -> None:
    base, exponent, expected = (
        np.array(column, floating) for column in zip(*SPECIALS, strict=True)
    )
    assert same(power(base, exponent), expected)
    left, right = (np.array(column, floating) for column in zip(*INVALID, strict=True))
    assert bits(power(left, right)).tolist() == [QUIET[floating]] * len(INVALID)


def test_a_signalling_nan_to_the_zeroth_is_one(floating: np.dtype[Any], same: Same) -> None:
    signalling = np.array([QUIET[floating] - 1], f"u{floating.itemsize}").view(floating)
    one, zero = np.ones(1, floating), np.zeros(1, floating)
    assert same(power(signalling, zero), one)
    assert same(power(one, signalling), one)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (5, 7)])
def test_shape_and_strides_do_not_matter(
    shape: tuple[int, ...], floating: np.dtype[Any], layouts: Layouts, same: Same
) -> None:
    generator = np.random.default_rng(2)
    base = np.asarray(generator.uniform(0.1, 3.0, shape)).astype(floating).reshape(shape)
    exponent = np.asarray(generator.uniform(-3.0, 3.0, shape)).astype(floating).reshape(shape)
    expected = reference(base.reshape(-1), exponent.reshape(-1)).reshape(shape)
    for first in layouts(base):
        for second in layouts(exponent):
            result = power(first, second)
            assert same(result, expected)
            assert result.flags.c_contiguous
            assert result.flags.writeable


def test_operands_broadcast(same: Same) -> None:
    base, exponent = np.array([[2.0], [3.0]]), np.array([0.0, 1.0, 2.0])
    assert same(power(base, exponent), np.array([[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]))
    assert same(power(np.float32(3.0), np.float32(2.0)), np.array(9.0, np.float32))


def test_no_flag_of_the_caller_is_raised(floating: np.dtype[Any]) -> None:
    numbers = np.array([-np.inf, -1e4, -1.5, -0.0, 0.0, 1e-7, 1e4, np.inf, np.nan])
    with np.errstate(all="ignore"):
        pairs = crossed(numbers.astype(floating), numbers.astype(floating))
    with np.errstate(all="raise"):
        power(*pairs)


def test_other_and_unequal_elements_are_refused() -> None:
    with pytest.raises(ElementError, match=r"^power needs .* twice, got int64 and int64$"):
        power(np.ones(2, np.int64), np.ones(2, np.int64))
    with pytest.raises(ElementError, match=r"^power needs .* twice, got float64 and float32$"):
        power(np.ones(2), np.ones(2, np.float32))


def test_a_constant_tensor_of_a_midpoint_rounds_like_one_element(same: Same) -> None:
    base, exponent = np.full(100_000, 2.0**27 - 1.0), np.full(100_000, 2.0)
    low, high = bracket_power(base[:1], exponent[:1])
    assert low != high
    expected = nearest((2**27 - 1) ** 2, 0, BINARY64)
    assert same(power(base, exponent), np.full(100_000, expected))
    assert power_exact.power_at(2.0**27 - 1.0, 2.0, BINARY64) == expected


def test_the_enclosure_holds_the_exact_power() -> None:
    generator = np.random.default_rng(3)
    near_one = np.ldexp(generator.uniform(-1.0, 1.0, 2000), generator.integers(-40, -8, 2000))
    bases = np.concatenate([generator.uniform(0.3, 3.0, 3000), 1.0 + near_one])
    exponents = generator.uniform(-550.0, 550.0, 5000)
    enclosure, binary = enclosed_power(bases, exponents)
    assert np.all(np.diff(ends(*enclosure), axis=0) >= 0.0)
    rows = zip(bases, exponents, *enclosure, binary.tolist(), strict=True)
    with gmpy2.context(precision=300):
        for base, exponent, head, tail, error, scale in rows:
            exact = gmpy2.mpfr(float(base)) ** float(exponent) / gmpy2.exp2(scale)
            assert abs((exact - float(head)) - float(tail)) <= 0.8 * float(error)
