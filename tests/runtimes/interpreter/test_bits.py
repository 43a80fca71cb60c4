"""Logic, shifts, counts, reinterpretation and reduced precision, against plain integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import NAMES, Run
from topos.stablehlo.types import ELEMENTS, width

INTEGERS = ("i32", "i8", "ui8", "i4", "ui4", "i2", "ui2")


def every(element: str) -> tuple[list[int], np.ndarray[Any, Any]]:
    """Returns the bits of some elements, of all where there are few, and their array."""
    bits = width(element)
    patterns = list(range(1 << bits)) if bits < 8 else [0, 1, 5, 100, 127, (1 << bits) - 1]
    patterns += [1 << (bits - 1), (1 << bits) - 2]
    unsigned = np.array(patterns, f"u{ELEMENTS[element].itemsize}")
    return patterns, unsigned.view(ELEMENTS[element])


def signed(bits: int, count: int) -> int:
    return bits - (1 << count) if bits >> (count - 1) else bits


def arithmetic_right(value: int, amount: int, count: int) -> int:
    return signed(value, count) >> min(amount, count - 1)


BINARY: tuple[tuple[str, Callable[[int, int, int], int]], ...] = (
    ("and", lambda a, b, n: a & b),
    ("or", lambda a, b, n: a | b),
    ("xor", lambda a, b, n: a ^ b),
    ("shift_left", lambda a, b, n: a << b if b < n else 0),
    ("shift_right_logical", lambda a, b, n: a >> b if b < n else 0),
    ("shift_right_arithmetic", arithmetic_right),
)
UNARY: tuple[tuple[str, Callable[[int, int], int]], ...] = (
    ("not", lambda a, n: ~a),
    ("popcnt", lambda a, n: a.bit_count()),
    ("count_leading_zeros", lambda a, n: n - a.bit_length()),
)


def patterns_of(array: np.ndarray[Any, Any]) -> list[int]:
    return [int(bits) for bits in array.view(f"u{array.dtype.itemsize}")]


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize(("name", "meaning"), BINARY, ids=[case[0] for case in BINARY])
def test_two_operands_meet_bit_by_bit(run: Run, name: str, meaning: Any, element: str) -> None:
    patterns, array = every(element)
    left, right = np.repeat(array, len(patterns)), np.tile(array, len(patterns))
    type = f"tensor<{left.size}x{element}>"
    result = run(f"%r = stablehlo.{name} %a, %b : {type}", type, left, right)
    bits = width(element)
    wanted = [meaning(a, b, bits) % (1 << bits) for a in patterns for b in patterns]
    assert patterns_of(result) == wanted


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize(("name", "meaning"), UNARY, ids=[case[0] for case in UNARY])
def test_one_operand_is_read_by_its_own_width(
    run: Run, name: str, meaning: Any, element: str
) -> None:
    patterns, array = every(element)
    type = f"tensor<{array.size}x{element}>"
    result = run(f"%r = stablehlo.{name} %a : {type}", type, array)
    bits = width(element)
    assert patterns_of(result) == [meaning(a, bits) % (1 << bits) for a in patterns]


BITCASTS: tuple[tuple[str, Any, Any, str, Any, Any], ...] = (
    # The low bits of a wide element are the first narrow one.
    ("i16", (2,), [0x1234, 0xABCD], "i8", (2, 2), [[0x34, 0x12], [0xCD, 0xAB]]),
    ("ui8", (2, 2), [[0x34, 0x12], [0xCD, 0xAB]], "ui16", (2,), [0x1234, 0xABCD]),
    ("ui8", (2,), [0x21, 0xF3], "ui4", (2, 2), [[1, 2], [3, 15]]),
    ("i4", (2, 2), [[1, 2], [3, 15]], "i8", (2,), [0x21, 0xF3]),
    ("ui8", (), 0b11100100, "i2", (4,), [0, 1, 2, 3]),
    ("i4", (3,), [0, 8, 15], "ui4", (3,), [0, 8, 15]),
    ("f32", (1,), [0x3F800000], "ui8", (1, 4), [[0, 0, 0x80, 0x3F]]),
    ("f4E2M1FN", (2,), [2, 7], "ui8", (), 0x72),
    ("f8E4M3FN", (1,), [0x7F], "i8", (1,), [0x7F]),
    ("ui8", (1,), [0b10100101], "i1", (1, 8), [[1, 0, 1, 0, 0, 1, 0, 1]]),
    ("i8", (0,), [], "i4", (0, 2), []),
)


@pytest.mark.parametrize(
    ("source", "shape", "bits", "target", "wanted_shape", "wanted"),
    BITCASTS,
    ids=[f"{case[0]} to {case[3]}" for case in BITCASTS],
)
def test_a_bitcast_keeps_the_order_of_bits(
    run: Run, source: str, shape: Any, bits: Any, target: str, wanted_shape: Any, wanted: Any
) -> None:
    before, after = ELEMENTS[source], ELEMENTS[target]
    array = np.array(bits, f"u{before.itemsize}").view(before).reshape(shape)
    types = ["x".join([*map(str, shape), source]), "x".join([*map(str, wanted_shape), target])]
    body = f"%r = stablehlo.bitcast_convert %a : (tensor<{types[0]}>) -> tensor<{types[1]}>"
    result = run(body, f"tensor<{types[1]}>", array)
    assert (result.dtype, result.shape) == (after, wanted_shape)
    assert result.tobytes() == np.array(wanted, f"u{after.itemsize}").tobytes()


def test_a_bitcast_reads_a_complex_number_as_its_parts(run: Run) -> None:
    array = np.array([1.0 - 2.0j, 0.5j])
    body = (
        "%r = stablehlo.bitcast_convert %a : (tensor<2xcomplex<f64>>) -> tensor<2x2xcomplex<f32>>"
    )
    result = run(body, "tensor<2x2xcomplex<f32>>", array)
    assert result.shape == (2, 2)
    assert result.tobytes() == array.tobytes()


PRECISIONS = (
    # A bfloat16 of f32; ties go to the even mantissa.
    (np.float32, 8, 7, [1 + 2.0**-8, 1 + 3 * 2.0**-8, -3.14159274], [1.0, 1 + 2.0**-6, -3.140625]),
    # The range of f16: the largest number, what rounds past it, the least, and what is below.
    (
        np.float32,
        5,
        10,
        [65504.0, 65520.0, 2.0**-14, -(2.0**-15)],
        [65504.0, np.inf, 2.0**-14, -0.0],
    ),
    (np.float64, 5, 2, [7.5, -np.inf, 61441.0, 1e300], [8.0, -np.inf, np.inf, np.inf]),
    (np.float64, 11, 52, [5e-324, 1e300], [5e-324, 1e300]),
    (np.float16, 8, 23, [6e-8, 0.1], [6e-8, 0.1]),
    # Without mantissa bits a tie goes to the even exponent.
    (np.float16, 5, 0, [1.5, 1.25, 3.0], [2.0, 1.0, 2.0]),
)


@pytest.mark.parametrize(("dtype", "exponent", "mantissa", "values", "wanted"), PRECISIONS)
def test_reduced_precision_is_that_of_the_narrow_format(
    run: Run, dtype: Any, exponent: int, mantissa: int, values: Any, wanted: Any
) -> None:
    array = np.array(values, dtype)
    type = f"tensor<{array.size}x{NAMES[array.dtype.name]}>"
    body = f"%r = stablehlo.reduce_precision %a, format = e{exponent}m{mantissa} : {type}"
    assert run(body, type, array).tobytes() == np.array(wanted, dtype).tobytes()


def test_reduced_precision_keeps_a_nan(run: Run) -> None:
    array = np.array([0x7F800001, 0xFFC00000], np.uint32).view(np.float32)
    body = "%r = stablehlo.reduce_precision %a, format = e5m2 : tensor<2xf32>"
    assert run(body, "tensor<2xf32>", array).tobytes() == array.tobytes()
    small = np.array([0x7F, 0x30], np.uint8).view(ELEMENTS["f8E4M3FN"])
    body = "%r = stablehlo.reduce_precision %a, format = e8m7 : tensor<2xf8E4M3FN>"
    assert run(body, "tensor<2xf8E4M3FN>", small).tobytes() == small.tobytes()


def test_without_a_mantissa_a_nan_becomes_infinity(run: Run) -> None:
    array = np.array([0x7F800001, 0xFFC00000, 0xBF800000], np.uint32).view(np.float32)
    body = "%r = stablehlo.reduce_precision %a, format = e8m0 : tensor<3xf32>"
    assert run(body, "tensor<3xf32>", array).tolist() == [np.inf, np.inf, -1.0]
    small = np.array([0xFE, 0x3C], np.uint8).view(ELEMENTS["f8E5M2"])
    body = "%r = stablehlo.reduce_precision %a, format = e5m0 : tensor<2xf8E5M2>"
    assert run(body, "tensor<2xf8E5M2>", small).tolist() == [np.inf, 1.0]


def test_bitcast_reads_the_bits_anew(run: Run) -> None:
    array = np.array([1.0, -0.0], np.float32)
    body = "%r = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2xui32>"
    assert run(body, "tensor<2xui32>", array).tolist() == [0x3F800000, 0x80000000]
