"""Storage: what numbers, lists and arrays become, and what is refused."""

from __future__ import annotations

import math
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.exact import exactly
from topos import Element, Tensor, bf16, bool_, f16, f32, f64, i32, i64
from topos.compiler import ELEMENTS
from topos.errors import ElementError
from topos.payload.storage import frozen, iota, literal, row_major, stored
from topos.runtimes._placed import owned


def test_python_numbers_take_the_default_and_arrays_bring_their_own() -> None:
    assert stored(1.5, f32, None)[1] is f32
    assert stored([1, 2], f16, None)[1] is f16
    assert stored([1, 2], f16, i64)[1] is i64
    assert stored(np.zeros(2), f32, None)[1] is f64
    assert stored(np.float64(1.0), f32, None)[1] is f64
    assert stored(np.zeros(2, ml_dtypes.bfloat16), f32, None)[1] is bf16


def test_a_payload_is_a_read_only_copy() -> None:
    array = np.zeros(2, np.float32)
    payload, _ = stored(array, f32, None)
    array[0] = 1.0
    assert payload.tolist() == [0.0, 0.0]
    assert not payload.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        payload[0] = 1.0
    strided, _ = stored(np.arange(6.0).reshape(2, 3).T[::-1], f64, None)
    assert strided.tolist() == [[2.0, 5.0], [1.0, 4.0], [0.0, 3.0]]


@pytest.mark.parametrize(
    ("payload", "element", "message"),
    [
        ("x", f32, "a payload of f32 needs numbers, got 'x'"),
        (None, f32, "a payload of f32 needs numbers, got None"),
        ([1j], f32, "a payload of f32 needs numbers, got [1j]"),
        ([[1], [2, 3]], f32, "a payload of f32 needs numbers, got [[1], [2, 3]]"),
        ([1.5], i64, "a payload of i64 needs numbers, got [1.5]"),
        (0.5, bool_, "a payload of bool needs numbers, got 0.5"),
    ],
)
def test_what_is_no_number_of_the_element_is_refused(
    payload: Any, element: Element, message: str
) -> None:
    with pytest.raises(ElementError, match=exactly(message)):
        stored(payload, element, None)


def test_an_array_converts_to_no_other_element() -> None:
    message = "a payload of f32 needs an array of float32, got float64"
    with pytest.raises(ElementError, match=exactly(message)):
        stored(np.zeros(2), f32, f32)
    with pytest.raises(ElementError, match=re.escape("no element is stored as uint8; there are")):
        stored(np.zeros(2, np.uint8), f32, None)


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=str)
def test_a_literal_has_rank_zero_and_the_element(element: Element) -> None:
    number = literal(1, element)
    assert number.shape == ()
    assert number.dtype == element.dtype
    assert float(number) == 1.0
    assert not number.flags.writeable


def test_a_literal_keeps_signs_and_infinities() -> None:
    assert literal(-0.0, f32).tobytes() == np.float32(-0.0).tobytes()
    assert literal(math.inf, f16) == np.inf
    assert stored([-math.inf, 1.0], f32, None)[0].tolist() == [-math.inf, 1.0]
    assert np.isnan(literal(math.nan, bf16))
    # What rounds to the largest number is not beyond it.
    assert literal(65519, f16) == 65504
    assert literal(3.4028235e38, f32) == np.finfo(np.float32).max


def test_a_literal_rounds_to_nearest_even() -> None:
    assert literal(0.1, f32) == np.float32(0.1)
    assert literal(2**24 + 1, f32) == 2.0**24


LARGEST = "whose largest number is about"
WITHIN = "needs to fit in 64 bits"
AS_FLOAT = "write it as a float,"
WIDER = ", or record in f64"


@pytest.mark.parametrize(
    ("number", "element", "message"),
    [
        (0.5, i64, "a literal beside i64 must be an integer, got 0.5"),
        (1.0, i32, "a literal beside i32 must be an integer, got 1.0"),
        (math.nan, bool_, "a literal beside bool must be an integer, got nan"),
        (
            2**31,
            i32,
            f"2147483648 is beyond i32, which holds {-(2**31)} to {2**31 - 1}: record in i64",
        ),
        (-(2**63) - 1, i64, f"{-(2**63) - 1} is beyond i64, which holds {-(2**63)} to {2**63 - 1}"),
        (1e300, f32, f"1e+300 is beyond f32, {LARGEST} 3.4028e+38: write inf{WIDER}"),
        (
            -1e300,
            bf16,
            f"-1e+300 is beyond bf16, {LARGEST} 3.3895e+38: write -inf{WIDER}",
        ),
        (65520, f16, f"65520 is beyond f16, {LARGEST} 65504: write inf{WIDER}"),
        (-1e6, f16, f"-1000000.0 is beyond f16, {LARGEST} 65504: write -inf{WIDER}"),
        (10**30, f32, f"an integer literal of f32 {WITHIN}, got {10**30}: {AS_FLOAT} 1e+30"),
        (
            -(2**63) - 1,
            bf16,
            f"an integer literal of bf16 {WITHIN}, got {-(2**63) - 1}: {AS_FLOAT} {-(2.0**63)!r}",
        ),
        (2**70, bool_, f"an integer literal of bool {WITHIN}, got {2**70}"),
        (10**60, f32, f"1e+60 is beyond f32, {LARGEST} 3.4028e+38: write inf{WIDER}"),
        (
            10**400,
            f32,
            f"an integer of 1329 bits is beyond f32, {LARGEST} 3.4028e+38: write inf{WIDER}",
        ),
        pytest.param(
            -(10**5000),
            f64,
            f"an integer of 16610 bits is beyond f64, {LARGEST} 1.7977e+308: write -inf",
            id="long float",
        ),
        pytest.param(
            10**5000,
            i64,
            f"an integer of 16610 bits is beyond i64, which holds {-(2**63)} to {2**63 - 1}",
            id="long integer",
        ),
    ],
)
def test_a_literal_that_does_not_fit_is_refused(
    number: float, element: Element, message: str
) -> None:
    with pytest.raises(ElementError, match=exactly(message)):
        literal(number, element)
    if "literal beside" not in message:
        with pytest.raises(ElementError, match=exactly(message)):
            Tensor([1, number] if isinstance(number, int) else [1.0, number], element)


def test_a_payload_lies_row_by_row_where_a_runtime_reads_it_in_place() -> None:
    array = np.arange(2048.0, dtype=np.float32).reshape(32, 64)
    payload, _ = stored(array.T, f32, None)
    assert payload.tobytes() == np.ascontiguousarray(array.T).tobytes()
    assert owned(payload) is payload
    small, _ = stored(array[:2, :2].T, f32, None)
    assert small.flags.c_contiguous
    assert row_major(small) is small
    turned = row_major(payload.T)
    assert owned(turned) is turned
    assert turned.tobytes() == array.tobytes()


def test_one_number_repeated_keeps_its_bits() -> None:
    for number in (0.0, -0.0, 2.5):
        spread = np.broadcast_to(np.float32(number), (64, 32))
        copy = row_major(spread)
        assert copy.tobytes() == spread.tobytes()
        assert copy.ctypes.data % 64 == 0
        assert not copy.flags.writeable


def test_zeros_take_memory_only_once_they_are_written_to() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    copy = row_major(np.broadcast_to(np.float32(0.0), (4096, 4096)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 100
    assert not copy[::512, ::512].any()


def test_iota_counts_in_row_major_order() -> None:
    assert iota((2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert iota(()).tolist() == 0
    assert iota((0, 2)).shape == (0, 2)
    assert iota((2,)).dtype == np.int64
    assert not iota((2,)).flags.writeable


def test_frozen_is_the_same_array() -> None:
    array = np.zeros(2)
    assert frozen(array) is array
    assert not array.flags.writeable


def test_a_literal_and_a_payload_round_once() -> None:
    above = 1 + 2.0**-8 + 2.0**-30
    assert float(literal(above, bf16)) == 1 + 2.0**-7
    assert float(Tensor(above, bf16)) == 1 + 2.0**-7


def test_an_integer_payload_fits() -> None:
    for number, element in [(2**40, i32), (2**63, i64)]:
        with pytest.raises(ElementError):
            Tensor(number, element)


def test_an_empty_list_is_of_any_element() -> None:
    assert Tensor([], i64).shape == (0,)


def test_an_unsigned_number_fits_too() -> None:
    ui8 = Element("ui8", np.uint8, differentiable=False)
    with pytest.raises(
        ElementError, match=r"^300 is beyond ui8, which holds 0 to 255: record in i64$"
    ):
        Tensor([1, 300], ui8)
    with pytest.raises(
        ElementError, match=r"^-1 is beyond ui8, which holds 0 to 255: record in i64$"
    ):
        literal(-1, ui8)
