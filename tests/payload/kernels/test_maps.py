"""Maps equal MPFR's correctly rounded functions, to the bit, in every format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gmpy2
import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from topos.errors import ElementError
from topos.payload.kernels import (
    exact,
    maps,
    maps_approximate,
    maps_circular,
    maps_expansion,
    maps_exponential,
    maps_logarithm,
    maps_root,
    maps_wide,
    tables_expansion,
)
from topos.payload.kernels.rounding import BINARY32, BINARY64

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
WIDE = gmpy2.context(precision=800, emax=2**40, emin=-(2**40))


def logistic(value: Any) -> Any:
    with WIDE:
        exact_result = 1 / (1 + gmpy2.exp(-value))
    return exact_result if gmpy2.is_nan(value) else gmpy2.mul(exact_result, 1)


def rsqrt(value: Any) -> Any:
    # MPFR says +inf at -0; IEEE 754 says -inf.
    return 1 / value if value == 0 else gmpy2.rec_sqrt(value)


MAPS: dict[str, Callable[[Any], Any]] = {
    "exp": gmpy2.exp,
    "expm1": gmpy2.expm1,
    "ln": gmpy2.log,
    "log1p": gmpy2.log1p,
    "tanh": gmpy2.tanh,
    "logistic": logistic,
    "sin": gmpy2.sin,
    "cos": gmpy2.cos,
    "erf": gmpy2.erf,
    "rsqrt": rsqrt,
    "sqrt": gmpy2.sqrt,
}
every_map = pytest.mark.parametrize("name", MAPS)


def bits(array: Array) -> Array:
    unsigned: Array = array.view(f"u{array.dtype.itemsize}")
    return unsigned


def reference(name: str, values: Array) -> Array:
    """Returns MPFR's results for one axis of values, every NaN the canonical one."""
    function = MAPS[name]
    with np.errstate(all="ignore"):
        numbers = values.astype(np.float64).tolist()
    with CONTEXTS[values.dtype].copy():
        results = np.array([float(function(gmpy2.mpfr(number))) for number in numbers])
    with np.errstate(all="ignore"):
        rounded = results.astype(values.dtype)
    bits(rounded)[np.isnan(results)] = QUIET[values.dtype]
    return rounded


def disagreements(name: str, values: Array) -> list[tuple[Any, Any, Any]]:
    result, expected = getattr(maps, name)(values), reference(name, values)
    lanes = np.flatnonzero(bits(result) != bits(expected))
    return [(values[i], result[i], expected[i]) for i in lanes[:5]]


def stratified(dtype: np.dtype[Any], count: int, seed: int) -> Array:
    """Returns about 9 * count numbers: any bits, moderate, tiny, near 1, huge, and edges."""
    generator = np.random.default_rng(seed)
    signs = generator.choice([-1.0, 1.0], count)
    unsigned, width = np.dtype(f"u{dtype.itemsize}"), 8 * dtype.itemsize
    parts = [
        generator.uniform(-4.0, 4.0, count),
        generator.uniform(-40.0, 40.0, count),
        generator.uniform(-760.0, 730.0, count),
        np.ldexp(signs, generator.integers(-60, 20, count)) * generator.uniform(1.0, 2.0, count),
        1.0 + np.ldexp(signs, generator.integers(-53, -1, count)),
        np.ldexp(signs, generator.integers(-1074, 1024, count)),
        np.ldexp(generator.uniform(-1.0, 1.0, count), generator.integers(0, 120, count)),
        [-745.1332191019411, -745.1332191019412, 709.782712893384, 709.7827128933841, 88.72284],
        [-103.97208, -103.97209, -37.42995, 5.9215871957945075, 19.061547465398498, 9.0109],
        [3.14159265358979, 1.5707963267948966, 6381956970095103.0 * 2.0**797, 1.0, -1.0],
    ]
    with np.errstate(all="ignore"):
        moderate = np.concatenate(parts).astype(dtype)
    patterns = generator.integers(0, 1 << width, count, unsigned).view(dtype)
    subnormals = generator.integers(0, 1 << 23, count // 4, unsigned).view(dtype)
    return np.concatenate([moderate, patterns, subnormals, -subnormals])


@every_map
@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_every_16_bit_number_is_correctly_rounded(name: str, dtype: np.dtype[Any]) -> None:
    assert disagreements(name, np.arange(1 << 16, dtype=np.uint16).view(dtype)) == []


@every_map
def test_float32_is_correctly_rounded(name: str) -> None:
    assert disagreements(name, stratified(F32, 5000, 1)) == []


@every_map
def test_float64_is_correctly_rounded(name: str) -> None:
    assert disagreements(name, stratified(F64, 5000, 2)) == []


@pytest.mark.parametrize("name", ["exp", "expm1", "ln", "log1p", "tanh", "erf", "logistic", "sin"])
def test_numbers_next_to_a_midpoint_are_correctly_rounded(name: str) -> None:
    # Where a map is c + x + ..., powers of two and their neighbours make almost exact midpoints.
    for dtype, last in ((F64, 70), (F32, 40)):
        powers = np.ldexp(1.0, np.arange(-last, -8)).astype(dtype)
        multiples = (powers[:, None] * np.arange(1, 12).astype(dtype)).reshape(-1)
        near = np.concatenate([multiples, np.nextafter(multiples, dtype.type(0)), -multiples])
        assert disagreements(name, 1 + near if name == "ln" else near) == []


OPEN: dict[str, tuple[maps_wide.Bracket, float, float]] = {
    "exp": (maps_exponential.bracket_exp, -20.0, 20.0),
    "expm1": (maps_exponential.bracket_expm1, -1.0, 1.0),
    "ln": (maps_logarithm.bracket_ln, 0.0, 8.0),
    "log1p": (maps_logarithm.bracket_log1p, -0.9, 8.0),
    "tanh": (maps_expansion.bracket_tanh, -4.0, 4.0),
    "logistic": (maps_exponential.bracket_logistic, -20.0, 20.0),
    "sin": (maps_circular.bracket_sin, -8.0, 8.0),
    "cos": (maps_circular.bracket_cos, -8.0, 8.0),
    "erf": (maps_expansion.bracket_erf, -3.0, 3.0),
}


@pytest.mark.parametrize("name", OPEN)
def test_lanes_that_a_bracket_leaves_open_are_correctly_rounded(name: str) -> None:
    bracket, lowest, highest = OPEN[name]
    values = np.random.default_rng(3).uniform(lowest, highest, 100_000)
    low, high = bracket(values)
    hard = values[low != high]
    assert 1 <= hard.size < 2000
    assert disagreements(name, hard) == []


INFINITY = float("inf")
SPECIALS: dict[str, list[tuple[float, float | None]]] = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INFINITY, INFINITY), (-INFINITY, 0.0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INFINITY, INFINITY), (-INFINITY, -1.0)],
    "ln": [(0.0, -INFINITY), (-0.0, -INFINITY), (1.0, 0.0), (INFINITY, INFINITY), (-1.0, None)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INFINITY), (INFINITY, INFINITY), (-2.0, None)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INFINITY, 1.0), (-INFINITY, -1.0)],
    "logistic": [(0.0, 0.5), (-0.0, 0.5), (INFINITY, 1.0), (-INFINITY, 0.0)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INFINITY, None), (-INFINITY, None)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INFINITY, None), (-INFINITY, None)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INFINITY, 1.0), (-INFINITY, -1.0)],
    "rsqrt": [(0.0, INFINITY), (-0.0, -INFINITY), (INFINITY, 0.0), (4.0, 0.5), (-1.0, None)],
    "sqrt": [(0.0, 0.0), (-0.0, -0.0), (INFINITY, INFINITY), (4.0, 2.0), (-1.0, None)],
}


@every_map
def test_special_values_are_those_of_the_standard(name: str, floating: np.dtype[Any]) -> None:
    arguments = np.array([argument for argument, _ in SPECIALS[name]], floating)
    values = [value for _, value in SPECIALS[name]]
    wanted = bits(np.array([0.0 if value is None else value for value in values], floating))
    wanted[[value is None for value in values]] = QUIET[floating]
    assert bits(getattr(maps, name)(arguments)).tolist() == wanted.tolist()


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
    expected = reference(name, array.reshape(-1)).reshape(shape)
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
    calls: list[float] = []

    def limit(value: float) -> float:
        calls.append(value)
        return 2.0

    counted = exact.ExactMap("counted", limit, exact.EXP.enclose)
    results = counted.each(np.array([0.5, 0.25] * 500), BINARY32)
    assert results.tolist() == [2.0] * 1000
    assert sorted(calls) == [0.25, 0.5]


@every_map
def test_chunks_join_without_a_seam(name: str, same: Same) -> None:
    for dtype in (F32, F64):
        values = np.linspace(0.1, 3.0, 40_000).astype(dtype)
        parts = [getattr(maps, name)(values[i : i + 777]) for i in range(0, 40_000, 777)]
        assert same(getattr(maps, name)(values), np.concatenate(parts))


def relative_errors(name: str, values: Array, head: Array, tail: Array | float) -> Array:
    """Returns |exact - head - tail| / |exact| with 300 bits."""
    tails = np.broadcast_to(tail, head.shape).tolist()
    found = []
    with gmpy2.context(precision=300):
        for value, high, low in zip(values.tolist(), head.tolist(), tails, strict=True):
            truth = MAPS[name](gmpy2.mpfr(value))
            found.append(float(abs((truth - high) - low) / abs(truth)))
    return np.array(found)


def centered(count: int, seed: int, reach: float) -> Array:
    generator = np.random.default_rng(seed)
    scales = np.ldexp(1.0, generator.integers(-26, 1, count))
    return np.concatenate(
        [generator.uniform(-reach, reach, count), generator.uniform(-reach, reach, count) * scales]
    )


Enclose = Callable[[Array], maps_wide.Enclosure]
CIRCLE = np.arange(1, 1500) * (np.pi / 2)
ENCLOSURES: list[tuple[str, Enclose, Array]] = [
    ("expm1", maps_exponential.small_expm1, centered(2000, 5, 2.0**-6)),
    ("ln", maps_logarithm.logarithm_parts, 1.0 + centered(3000, 6, 0.9)),
    ("ln", maps_logarithm.logarithm_parts, np.ldexp(centered(2000, 7, 1.0) ** 2 + 1e-9, 300)),
    ("sin", lambda x: maps_circular.circular(x, 0), centered(3000, 8, 2.0**18)),
    ("cos", lambda x: maps_circular.circular(x, 128), centered(3000, 9, 2.0**18)),
    ("sin", lambda x: maps_circular.circular(x, 0), CIRCLE),
    ("cos", lambda x: maps_circular.circular(x, 128), CIRCLE),
    (
        "tanh",
        lambda x: maps_expansion.expanded(x, tables_expansion.tanh_expansions()),
        np.abs(centered(3000, 10, 19.0)),
    ),
    (
        "erf",
        lambda x: maps_expansion.expanded(x, tables_expansion.erf_expansions()),
        np.abs(centered(3000, 11, 6.0)),
    ),
]


@pytest.mark.parametrize(("name", "enclose", "values"), ENCLOSURES)
def test_enclosures_hold_the_exact_result(name: str, enclose: Enclose, values: Array) -> None:
    head, tail, error = enclose(values)
    assert np.all(relative_errors(name, values, head, tail) * np.abs(head) <= 0.8 * error)


def test_the_exponential_is_within_its_error() -> None:
    values = np.random.default_rng(12).uniform(-700.0, 700.0, 4000)
    head, tail, power = maps_exponential.exponential_parts(values)
    scale = np.ldexp(1.0, power)
    errors = relative_errors("exp", values, head * scale, tail * scale)
    assert errors.max() <= 0.8 * maps_exponential.EXPONENTIAL_ERROR


def test_a_reciprocal_root_is_never_left_open() -> None:
    values = np.random.default_rng(13).integers(1, 0x7FF << 52, 100_000).view(np.float64)
    low, high = maps_root.bracket_rsqrt(values)
    assert low.tobytes() == high.tobytes()


APPROXIMATIONS: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "ln": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "logistic": maps_approximate.approximate_logistic,
    "sin": maps_approximate.approximate_sin,
    "cos": maps_approximate.approximate_cos,
    "erf": maps_approximate.approximate_erf,
    "rsqrt": maps_approximate.approximate_rsqrt,
}


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_float64_approximations_are_within_2_to_the_minus_48(name: str) -> None:
    # A quarter of what the rounding test of float32 grants; the arguments are float32 numbers.
    values = centered(4000, 14, 80.0).astype(np.float32).astype(np.float64)
    if name in ("ln", "rsqrt"):
        values = np.abs(values)
    if name == "log1p":
        values = np.maximum(values, -0.99)
    circle = CIRCLE.astype(np.float32).astype(np.float64)
    values = np.concatenate([values, circle]) if name in ("sin", "cos") else values
    with np.errstate(all="ignore"):
        results = APPROXIMATIONS[name](values)
    assert relative_errors(name, values, results, 0.0).max() <= 2.0**-48


def test_a_constant_tensor_of_a_hard_value_rounds_like_one_element(same: Same) -> None:
    hard = 2.0**-53
    result = maps.exp(np.full((200, 1000), hard))
    assert same(result, np.full((200, 1000), exact.EXP.at(hard, BINARY64)))
