"""Dense constants: every way to write one, and what is refused."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from topos.errors import ElementError, ParseError, UnsupportedError
from topos.runtimes import printed, verify
from topos.runtimes.interpreter import run_text
from topos.stablehlo.dense import decoded, dense_of
from topos.stablehlo.ir import Dense


def constant(body: str, type: str) -> Any:
    text = f"func.func @main() -> {type} {{\n  %0 = stablehlo.constant dense<{body}> : {type}\n"
    (array,) = run_text(f"{text}  return %0 : {type}\n}}", [])
    return array


CASES = (
    ("0x1", "tensor<2xi1>", np.array([True, True])),
    ("[0x00, -0x1, true]", "tensor<3xi1>", np.array([False, True, True])),
    ("[-0x1, 0xFFFFFFFE]", "tensor<2xi32>", np.array([-1, -2], np.int32)),
    ("-0x8", "tensor<i4>", np.array(-8, ml_dtypes.int4)),
    ("0.5", "tensor<2x2xf32>", np.full((2, 2), 0.5, np.float32)),
    ("-1.25e-1", "tensor<f64>", np.array(-0.125)),
    ("[1.0, 2.5e+00]", "tensor<2xf16>", np.array([1.0, 2.5], np.float16)),
    ("[[1, -2], [3, 4]]", "tensor<2x2xi32>", np.array([[1, -2], [3, 4]], np.int32)),
    ("[[[7]]]", "tensor<1x1x1xi64>", np.array([[[7]]])),
    ("[true, false]", "tensor<2xi1>", np.array([True, False])),
    ("true", "tensor<3xi1>", np.ones(3, np.bool_)),
    ("[255, 0]", "tensor<2xi8>", np.array([-1, 0], np.int8)),
    ("-128", "tensor<i8>", np.array(-128, np.int8)),
    ("18446744073709551615", "tensor<ui64>", np.array(2**64 - 1, np.uint64)),
    ("0xFF", "tensor<ui8>", np.array(255, np.uint8)),
    ("", "tensor<0xf32>", np.zeros(0, np.float32)),
    ("", "tensor<2x0xi8>", np.zeros((2, 0), np.int8)),
    ("[]", "tensor<0xi64>", np.zeros(0, np.int64)),
    ("[[],[]]", "tensor<2x0xi64>", np.zeros((2, 0), np.int64)),
    ("[[[], []]]", "tensor<1x2x0xcomplex<f32>>", np.zeros((1, 2, 0), np.complex64)),
    ('"0x0000803F000000C0"', "tensor<2xf32>", np.array([1.0, -2.0], np.float32)),
    ('"0x0000803F"', "tensor<3xf32>", np.ones(3, np.float32)),
    ('"0x0100FF7F"', "tensor<2xi16>", np.array([1, 32767], np.int16)),
    ('"0x010001"', "tensor<3xi1>", np.array([True, False, True])),
    ('"0x0501"', "tensor<9xi1>", np.unpackbits(np.array([5, 1], np.uint8), bitorder="little")[:9]),
    ('[1.0, // one > "two"\n 2.0]', "tensor<2xf32>", np.array([1.0, 2.0], np.float32)),
    ("3.140630e+00", "tensor<bf16>", np.array(3.140625, ml_dtypes.bfloat16)),
)


@pytest.mark.parametrize(("body", "type", "wanted"), CASES, ids=[case[0][:20] for case in CASES])
def test_a_constant_has_its_value(body: str, type: str, wanted: np.ndarray[Any, Any]) -> None:
    array = constant(body, type)
    assert array.shape == wanted.shape
    assert array.tobytes() == wanted.astype(array.dtype).tobytes()


def test_hexadecimal_digits_are_the_bits_of_a_float() -> None:
    array = constant("[0x7FC00000, 0xFF800000, 0x00000001, 1.0]", "tensor<4xf32>")
    assert array.view(np.uint32).tolist() == [0x7FC00000, 0xFF800000, 1, 0x3F800000]
    assert constant("0x7F80", "tensor<bf16>").view(np.uint16) == 0x7F80
    assert constant("0xFC00", "tensor<2xf16>").tolist() == [-np.inf, -np.inf]
    assert constant("0x7FF8000000000001", "tensor<f64>").view(np.uint64) == 0x7FF8000000000001


LIST = "a dense list needs the shape of "
REFUSED = (
    ("[1.0, 2.0, 3.0]", "tensor<2xf32>", LIST + "tensor<2xf32>, got 3 elements"),
    ("[1.0, 2.0]", "tensor<1x2xf32>", LIST + "tensor<1x2xf32>, got other brackets"),
    ("[1.0, , 2.0]", "tensor<3xf32>", LIST + "tensor<3xf32>, got 2 elements"),
    ("", "tensor<2xf32>", LIST + "tensor<2xf32>, got 0 elements"),
    ("[]", "tensor<0x2xf32>", LIST + "tensor<0x2xf32>, got other brackets"),
    ("[[], []]", "tensor<100000000x0xf32>", LIST + "tensor<100000000x0xf32>, got other brackets"),
    ("[]", "tensor<f32>", LIST + "tensor<f32>, got 0 elements"),
    ("[1.0, 2]", "tensor<2xf32>", "a dense constant needs elements of f32, got 2"),
    ("nan", "tensor<f32>", "a dense constant needs elements of f32, got nan"),
    (".5", "tensor<f32>", "a dense constant needs elements of f32, got .5"),
    ("[1, 2.0]", "tensor<2xi32>", "a dense constant needs elements of i32, got 2.0"),
    ("1_0", "tensor<i32>", "a dense constant needs elements of i32, got 1_0"),
    ("[1, 256]", "tensor<2xi8>", "a dense constant needs elements of i8, got 256"),
    ("-1", "tensor<ui8>", "a dense constant needs elements of ui8, got -1"),
    ("2", "tensor<i1>", "a dense constant needs elements of i1, got 2"),
    ("0x100000000", "tensor<f32>", "a dense constant needs elements of f32, got 0x100000000"),
    ('"0x0000"', "tensor<2xf32>", "a dense string of tensor<2xf32> needs 8 bytes, got 2"),
    ('"0x0"', "tensor<f32>", "a dense string needs 0x and pairs of digits"),
    ('"abcd"', "tensor<f32>", "a dense string needs 0x and pairs of digits"),
)


@pytest.mark.parametrize(("body", "type", "reason"), REFUSED, ids=[case[2] for case in REFUSED])
def test_a_constant_that_does_not_fit_is_refused(body: str, type: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        constant(body, type)
    assert caught.value.reason == reason
    assert (caught.value.line, caught.value.column) == (2, 27)
    assert caught.value.source_line.startswith("  %0 = stablehlo.constant dense<")


ELIDED = """func.func @main(%x: tensor<2xi64>) -> tensor<2x2xi64> {
  %0 = stablehlo.constant dense_resource<__elided__> : tensor<2xi64>
  %1 = stablehlo.dynamic_broadcast_in_dim %x, %0, dims = [0] : (tensor<2xi64>, tensor<2xi64>) -> \
tensor<2x2xi64>
  return %1 : tensor<2x2xi64>
}
"""


@pytest.mark.parametrize("name", ["__elided__", '"a b"'])
def test_a_constant_whose_bytes_are_left_out_is_valid_and_does_not_run(name: str) -> None:
    text = ELIDED.replace("__elided__", name)
    verify(text)
    assert f"dense_resource<{name}> : tensor<2xi64>" in printed(text)
    with pytest.raises(UnsupportedError, match=r"dense_resource<.*>, whose bytes the text leaves"):
        run_text(text, [np.zeros(2, np.int64)])


# The bytes of a resource behind its header, its type, and why they are refused.
MISFITS = (
    ("0x04000000" + "00" * 12, "4xf32", "needs 16 bytes for tensor<4xf32>, got 12"),
    ("0x04000000" + "01" * 9, "16xi1", "needs 16 bytes for tensor<16xi1>, got 9"),
    ("0x0400", "4xf32", "needs 0x and pairs of hexadecimal digits, got '0x0400'"),
    ("zz000000", "4xf32", "needs 0x and pairs of hexadecimal digits, got 'zz000000'"),
)
RESOURCE = """func.func @main() -> tensor<TYPE> {
  %0 = stablehlo.constant dense_resource<w> : tensor<TYPE>
  return %0 : tensor<TYPE>
}
{-# dialect_resources: { builtin: { w: "BLOB" } } #-}
"""


@pytest.mark.parametrize(("blob", "type", "reason"), MISFITS)
def test_a_resource_whose_bytes_do_not_fit_is_refused(blob: str, type: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        verify(RESOURCE.replace("BLOB", blob).replace("TYPE", type))
    assert caught.value.reason == f"the resource w {reason}"
    assert (caught.value.line, caught.value.column) == (2, 27)


@pytest.mark.parametrize(("blob", "type"), [("0x0400000001", "5xi1"), ("0x0400000003", "5xi8")])
def test_one_element_of_a_resource_stands_for_all(blob: str, type: str) -> None:
    (result,) = run_text(RESOURCE.replace("BLOB", blob).replace("TYPE", type), [])
    assert result.tolist() == [int(blob[-2:])] * 5


def test_a_large_constant_is_read_as_numpy_reads_it() -> None:
    numbers = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    listed = str(numbers.tolist())
    assert constant(listed, "tensor<40x50xf32>").tobytes() == numbers.tobytes()
    blob = f'"0x{numbers.tobytes().hex().upper()}"'
    assert constant(blob, "tensor<40x50xf32>").tobytes() == numbers.tobytes()


def test_an_array_is_written_as_short_as_it_reads_back() -> None:
    many, few = np.arange(65), np.arange(64)
    # Equal elements once, many by the digits of their bytes but for floats and truths of one byte.
    assert dense_of(np.full((2, 3), 7), "i8").body == "7"
    assert dense_of(np.ones(1), "f32").body == "[1.000000e+00]"
    assert dense_of(many, "i8").body.startswith('"0x000102')
    assert dense_of(many, "i16").body.startswith('"0x00000100')
    assert dense_of(many, "f32").body.startswith('"0x000000000000803F')
    assert dense_of(few, "i8").body.startswith("[0, 1, 2")
    assert dense_of(many % 2, "i1").body.startswith("[false, true")
    assert dense_of(many % 9, "f8E4M3FN").body.startswith("[0.000000e+00, 1.000000e+00")
    for element in ("i8", "i16", "f32", "bf16", "f8E4M3FN", "i4", "complex<f64>"):
        made = dense_of(many % 8, element)
        again = decoded(Dense(made.body, made.type, 0, 0))
        assert made.array is not None
        assert again.tobytes() == made.array.tobytes()


@pytest.mark.parametrize(
    ("value", "element"),
    [(128, "i8"), (-1, "ui8"), (0.5, "i32"), (1e39, "f32"), (2, "i1"), (1j, "f64"), (8, "i4")],
)
def test_an_element_that_does_not_hold_an_array_is_told(value: complex, element: str) -> None:
    with pytest.raises(ElementError, match=f"^{element} holds not every element of"):
        dense_of(value, element)
