"""Indices that point anywhere, on IREE: what StableHLO says of them, from texts of anyone's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.joined import joined
from topos.errors import UnsupportedError
from topos.runtimes import load
from topos.runtimes._mlir import parse
from topos.runtimes.iree.bounds import keep_inside

pytest.importorskip("iree.compiler")
pytest.importorskip("iree.runtime")

IREE = load("iree")

Array = npt.NDArray[Any]

INDICES = {
    "i32": [0, 4, 5, -1, 2**31 - 1, -(2**31), 2, 299],
    "i64": [0, -1, 2**63 - 1, -(2**63), 2**32 + 1, 5, 1, -(2**32)],
    "i8": [0, 1, 5, -1, 127, -128, 2, 42],
    "ui8": [0, 1, 5, 255, 200, 4, 2, 128],
    "ui64": [0, 3, 2**64 - 1, 2**63, 2**32, 5, 2, 6],
}
DTYPES = {"i32": np.int32, "i64": np.int64, "i8": np.int8, "ui8": np.uint8, "ui64": np.uint64}

# Rows; pieces of two by two, whose starts are a column and a row; rows of more than an i8 counts.
READING = """
func.func @main(%a: tensor<5x3xf32>, %b: tensor<300x3xf32>, %i: tensor<8xTYPE>) -> (
    tensor<8x3xf32>, tensor<4x2x2xf32>, tensor<8x3xf32>, tensor<8x3xf32>, tensor<2x3xf32>,
    tensor<300x3xf32>) {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<8xTYPE>) -> tensor<8x3xf32>
  %j = stablehlo.reshape %i : (tensor<8xTYPE>) -> tensor<4x2xTYPE>
  %1 = "stablehlo.gather"(%a, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2],
    start_index_map = [1, 0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 2>}>
    : (tensor<5x3xf32>, tensor<4x2xTYPE>) -> tensor<4x2x2xf32>
  %s = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
  %2 = "stablehlo.dynamic_gather"(%b, %i, %s) <{dimension_numbers = #stablehlo.gather<
    offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}>
    : (tensor<300x3xf32>, tensor<8xTYPE>, tensor<2xi64>) -> tensor<8x3xf32>
  %3 = "stablehlo.torch_index_select"(%a, %i) <{dim = 0 : i64, batch_dims = 0 : i64}>
    : (tensor<5x3xf32>, tensor<8xTYPE>) -> tensor<8x3xf32>
  %4 = stablehlo.slice %i [3:4] : (tensor<8xTYPE>) -> tensor<1xTYPE>
  %k = stablehlo.reshape %4 : (tensor<1xTYPE>) -> tensor<TYPE>
  %z = stablehlo.constant dense<0> : tensor<TYPE>
  %5 = stablehlo.dynamic_slice %b, %k, %z, sizes = [2, 3]
    : (tensor<300x3xf32>, tensor<TYPE>, tensor<TYPE>) -> tensor<2x3xf32>
  %6 = stablehlo.dynamic_update_slice %b, %a, %k, %z
    : (tensor<300x3xf32>, tensor<5x3xf32>, tensor<TYPE>, tensor<TYPE>) -> tensor<300x3xf32>
  return %0, %1, %2, %3, %5, %6 : tensor<8x3xf32>, tensor<4x2x2xf32>, tensor<8x3xf32>,
    tensor<8x3xf32>, tensor<2x3xf32>, tensor<300x3xf32>
}
"""
BODY = """({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %t = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %t : tensor<f32>
  })"""
# Rows, and single elements at pairs; the first result is read by the second scatter.
WRITING = f"""
func.func @main(%a: tensor<300x3xf32>, %i: tensor<8xTYPE>, %u: tensor<8x3xf32>, %v: tensor<4xf32>)
    -> (tensor<300x3xf32>, tensor<300x3xf32>) {{
  %0 = "stablehlo.scatter"(%a, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<
    update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
    index_vector_dim = 1>}}> {BODY}
    : (tensor<300x3xf32>, tensor<8xTYPE>, tensor<8x3xf32>) -> tensor<300x3xf32>
  %j = stablehlo.reshape %i : (tensor<8xTYPE>) -> tensor<4x2xTYPE>
  %1 = "stablehlo.scatter"(%0, %j, %v) <{{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}}>
    {BODY} : (tensor<300x3xf32>, tensor<4x2xTYPE>, tensor<4xf32>) -> tensor<300x3xf32>
  return %0, %1 : tensor<300x3xf32>, tensor<300x3xf32>
}}
"""
# Values, so that a place that is read or written wrongly shows.
SMALL = np.arange(15, dtype=np.float32).reshape(5, 3)
LARGE = np.arange(900, dtype=np.float32).reshape(300, 3)
ROWS, ELEMENTS = 100 * np.arange(1, 25, dtype=np.float32).reshape(8, 3), np.ones(4, np.float32)


def indices(element: str) -> Array:
    return np.array(INDICES[element], DTYPES[element])


def bits(results: tuple[Array, ...]) -> list[bytes]:
    return [each.tobytes() for each in results]


def references(element: str) -> list[str]:
    """The interpreter, and XLA where it is installed and reads indices of that element rightly."""
    ready = load("xla").status().ready and element in ("i32", "i64")
    return ["interpreter", "xla"] if ready else ["interpreter"]


@pytest.mark.parametrize(("read", "written"), [("i32", "i64"), ("i8", "i8"), ("ui64", "ui8")])
def test_reading_is_clamped_and_writing_outside_is_dropped(read: str, written: str) -> None:
    # One module, for a compilation costs most of a second.
    text = joined([READING.replace("TYPE", read), WRITING.replace("TYPE", written)])
    arguments = (SMALL, LARGE, indices(read), LARGE, indices(written), ROWS, ELEMENTS)
    found = bits(IREE.compile(text)(*arguments))
    for name in references(read):
        assert bits(load(name).compile(text)(*arguments)) == found, name


def rewritten(text: str) -> str:
    from iree.compiler import ir

    with ir.Context():
        module = parse(ir, text)
        keep_inside(ir, module)
        assert module.operation.verify()
        return str(module)


BOUNDED = """
func.func @main(%a: tensor<300x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf32>)
    -> tensor<300x3xf32> {
  %low = stablehlo.constant dense<0> : tensor<i64>
  %high = stablehlo.constant dense<HIGH> : tensor<i64>
  %c = stablehlo.clamp %low, %i, %high : (tensor<i64>, tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %n = stablehlo.convert %c : (tensor<2xi64>) -> tensor<2xi8>
  %0 = "stablehlo.scatter"(%a, %n, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
    update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
    index_vector_dim = 1>}> BODY : (tensor<300x3xf32>, tensor<2xi8>, tensor<2x3xf32>)
    -> tensor<300x3xf32>
  return %0 : tensor<300x3xf32>
}
""".replace("BODY", BODY)


@pytest.mark.parametrize(("high", "padded"), [(100, False), (300, True), (260, True)])
def test_what_a_text_bounds_already_stays_as_it_is(high: int, padded: bool) -> None:
    # A conversion of 260 to eight bits wraps around.
    assert ("stablehlo.pad" in rewritten(BOUNDED.replace("HIGH", str(high)))) == padded


def test_a_gather_of_constant_indices_stays_as_it_is() -> None:
    text = READING.replace("TYPE", "i32").replace("%i: tensor<8xi32>", "%unused: tensor<8xi32>")
    inside = "{\n  %i = stablehlo.constant dense<[0, 1, 2, 1, 0, 1, 1, 3]> : tensor<8xi32>\n  %0 ="
    chosen = text.replace("{\n  %0 =", inside, 1)
    # Of the pieces of two by two, those of column three would stick out.
    assert rewritten(chosen).count("stablehlo.clamp") == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%s = stablehlo.convert %i : (tensor<2xi32>) -> tensor<2xi64>\n"
            '%0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<'
            "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],"
            " index_vector_dim = 1>}> : (tensor<2x3xf32>, tensor<2xi32>, tensor<2xi64>)"
            " -> tensor<2x3xf32>",
            r"^iree takes a dynamic_gather of constant slice sizes alone$",
        ),
        (
            '%0 = "stablehlo.scatter"(%a, %i, %a) <{scatter_dimension_numbers ='
            " #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims ="
            f" [0, 1]>}}> {BODY} : (tensor<2x3xf32>, tensor<2xi32>, tensor<2x3xf32>)"
            " -> tensor<2x3xf32>",
            r"^iree takes no scatter whose windows may overlap in part$",
        ),
        (
            "%c = arith.constant 7 : index\n%e = tensor.extract %a[%c, %c] : tensor<2x3xf32>\n"
            "%0 = tensor.splat %e : tensor<2x3xf32>",
            r"^iree takes StableHLO and CHLO, got arith\.constant$",
        ),
    ],
)
def test_what_cannot_be_kept_inside_is_refused(body: str, message: str) -> None:
    text = (
        "func.func @main(%a: tensor<2x3xf32>, %i: tensor<2xi32>) -> tensor<2x3xf32> {\n"
        f"{body}\nreturn %0 : tensor<2x3xf32>\n}}"
    )
    with pytest.raises(UnsupportedError, match=message):
        IREE.compile(text)
