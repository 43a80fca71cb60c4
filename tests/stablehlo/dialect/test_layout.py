"""What the verifier takes and refuses of operations that move elements, statically or not."""

from __future__ import annotations

import pytest

from tests.stablehlo.claims import claim, reason
from topos.runtimes import verify

M = "tensor<2x3xf32>"
S = "tensor<f32>"
TAKEN = (
    ("reshape", ("tensor<?x2xf32>",), ("tensor<6xf32>",), ""),
    ("transpose", ("tensor<2x?xf32>",), ("tensor<3x2xf32>",), "permutation = array<i64: 1, 0>"),
    ("broadcast_in_dim", ("tensor<?xf32>",), (M,), "broadcast_dimensions = array<i64: 1>"),
    (
        "broadcast_in_dim",
        (S,),
        ("tensor<1x?xf32, #stablehlo.bounds<?, 5>>",),
        "broadcast_dimensions = array<i64>",
    ),
    ("concatenate", (M, "tensor<?x3xf32>"), ("tensor<9x3xf32>",), "dimension = 0 : i64"),
    ("iota", (), (M,), "iota_dimension = 1 : i64"),
    ("reverse", (M,), (M,), "dimensions = array<i64: 1, 0>"),
    (
        "pad",
        ("tensor<3xf32>", S),
        ("tensor<6xf32>",),
        "edge_padding_low = array<i64: -1>, edge_padding_high = array<i64: 2>,"
        " interior_padding = array<i64: 1>",
    ),
    (
        "slice",
        ("tensor<2x?xf32>",),
        ("tensor<1x2xf32>",),
        "start_indices = array<i64: 1, 0>, limit_indices = array<i64: 2, 3>,"
        " strides = array<i64: 1, 2>",
    ),
    (
        "dynamic_slice",
        (M, "tensor<i32>", "tensor<i32>"),
        ("tensor<2x1xf32>",),
        "slice_sizes = array<i64: 2, 1>",
    ),
    ("dynamic_reshape", (M, "tensor<1xindex>"), ("tensor<?xf32>",), ""),
    ("get_dimension_size", (M,), ("tensor<i32>",), "dimension = 1 : i64"),
    (
        "set_dimension_size",
        (M, "tensor<i32>"),
        ("tensor<2x?xf32, #stablehlo.bounds<?, 3>>",),
        "dimension = 1 : i64",
    ),
)
REFUSED = (
    (
        ("reshape", (M,), ("tensor<?x?xf32, #stablehlo.bounds<2, 3>>",), ""),
        "needs a static result, or one with a single bounded dimension,"
        " got tensor<?x?xf32, #stablehlo.bounds<2, 3>>",
    ),
    (
        ("transpose", (M,), ("tensor<3x2xf32>",), "permutation = array<i64: 1>"),
        "needs a permutation of 2 axes, got [1]",
    ),
    (
        ("broadcast_in_dim", (M,), (M,), "broadcast_dimensions = array<i64: 1>"),
        "needs 2 numbers as broadcast_dimensions, got [1]",
    ),
    (
        ("concatenate", (M, "tensor<2x2xf32>"), ("tensor<4x3xf32>",), "dimension = 0 : i64"),
        "cannot join tensor<2x3xf32> and tensor<2x2xf32> along 0",
    ),
    (
        ("concatenate", (M, M), ("tensor<5x3xf32>",), "dimension = 0 : i64"),
        "results in tensor<4x3xf32>, got tensor<5x3xf32>",
    ),
    (
        (
            "concatenate",
            (M, "tensor<?x3xf32, #stablehlo.bounds<4, ?>>"),
            ("tensor<7x3xf32>",),
            "dimension = 0 : i64",
        ),
        "results in tensor<?x3xf32, #stablehlo.bounds<6, ?>>, got tensor<7x3xf32>",
    ),
    (
        ("concatenate", (M,), (M,), "dimension = 0 : i32"),
        "needs dimension as a number of i64, got i32",
    ),
    ((("concatenate"), (), (M,), "dimension = 0 : i64"), "needs 1 operand or more, got 0"),
    (
        (
            "pad",
            ("tensor<3xf32>", S),
            ("tensor<0xf32>",),
            "edge_padding_low = array<i64: -4>, edge_padding_high = array<i64: 0>,"
            " interior_padding = array<i64: 0>",
        ),
        "needs extents of 0 or more, got [-1] of tensor<3xf32>",
    ),
    (
        (
            "slice",
            ("tensor<?xf32, #stablehlo.bounds<4>>",),
            ("tensor<5xf32>",),
            "start_indices = array<i64: 0>, limit_indices = array<i64: 5>, strides = array<i64: 1>",
        ),
        "needs ranges inside tensor<?xf32, #stablehlo.bounds<4>>, got 0:5:1",
    ),
    (
        (
            "slice",
            ("tensor<4xf32>",),
            ("tensor<1xf32>",),
            "start_indices = array<i64: 0>, limit_indices = array<i64: 1>,"
            " strides = array<i64: -1>",
        ),
        "needs ranges inside tensor<4xf32>, got 0:1:-1",
    ),
    (
        ("dynamic_slice", (M, "tensor<i32>"), (M,), "slice_sizes = array<i64: 2, 3>"),
        "needs 2 start indices, got 1",
    ),
    (
        ("dynamic_update_slice", (M, "tensor<3x3xf32>", "tensor<i32>", "tensor<i32>"), (M,), ""),
        "needs an update that fits into tensor<2x3xf32>, got tensor<3x3xf32>",
    ),
    (
        ("dynamic_update_slice", (M, M, "tensor<i32>", "tensor<i64>"), (M,), ""),
        "needs start indices of one element, got tensor<i32> and tensor<i64>",
    ),
    (
        ("real_dynamic_slice", (M, "tensor<2xi64>", "tensor<2xi64>", "tensor<3xi64>"), (M,), ""),
        "needs strides as tensor<2xi64>, got tensor<3xi64>",
    ),
    (
        ("dynamic_reshape", (M, "tensor<?xi64>"), ("tensor<6xf32>",), ""),
        "needs a static shape of output_shape, got tensor<?xi64>",
    ),
    (
        ("dynamic_reshape", (M, "tensor<2xi64>"), ("tensor<?xf32>",), ""),
        "needs 1 numbers as output_shape of tensor<?xf32>, got 2",
    ),
    (
        ("dynamic_iota", ("tensor<1xi64>",), ("tensor<?xf32>",), "iota_dimension = -1 : i64"),
        "needs iota_dimension of 0 or more, got -1",
    ),
    (
        ("get_dimension_size", (M,), ("tensor<i32>",), "dimension = 2 : i64"),
        "needs dimension below 2, got 2",
    ),
    (
        ("set_dimension_size", (M, "tensor<1xi32>"), (M,), "dimension = 1 : i64"),
        "needs a scalar as size, got tensor<1xi32>",
    ),
)
# The operation reads `%s`, a constant whose value the rule knows.
KNOWN = (
    (
        "dense<[3, -1]>",
        "dynamic_reshape %a, %s",
        "tensor<?x?xf32>",
        "needs output_shape of tensor<?x?xf32>, got [3, -1]",
    ),
    (
        "dense<[3, 2]>",
        "dynamic_reshape %a, %s",
        "tensor<?x?xf32>",
        "cannot turn tensor<4xf32> into tensor<?x?xf32>",
    ),
    (
        "dense<[3, 5]>",
        "dynamic_broadcast_in_dim %a, %s, dims = [1]",
        "tensor<3x?xf32>",
        "cannot broadcast tensor<4xf32> along [1] to tensor<3x?xf32>",
    ),
    (
        "dense<[3, 4]>",
        "dynamic_broadcast_in_dim %a, %s, dims = [1]",
        "tensor<2x4xf32>",
        "needs output_dimensions of tensor<2x4xf32>, got [3, 4]",
    ),
)

Case = tuple[str, tuple[str, ...], tuple[str, ...], str]


@pytest.mark.parametrize("case", TAKEN)
def test_an_operation_that_keeps_its_rule(case: Case) -> None:
    name, operands, results, attributes = case
    verify(claim(f"stablehlo.{name}", operands, results, attributes))


@pytest.mark.parametrize(("case", "message"), REFUSED)
def test_an_operation_that_breaks_its_rule(case: Case, message: str) -> None:
    name, operands, results, attributes = case
    text = claim(f"stablehlo.{name}", operands, results, attributes)
    assert reason(text) == f"stablehlo.{name} {message}"


@pytest.mark.parametrize(("value", "operation", "result", "message"), KNOWN)
def test_a_shape_that_is_a_constant(value: str, operation: str, result: str, message: str) -> None:
    text = (
        "func.func @main(%a: tensor<4xf32>) {\n"
        f"%s = stablehlo.constant {value} : tensor<2xi64>\n"
        f"%0 = stablehlo.{operation} : (tensor<4xf32>, tensor<2xi64>) -> {result}\nreturn\n}}"
    )
    assert reason(text) == f"stablehlo.{operation.split()[0]} {message}"


def test_a_padding_that_is_a_constant() -> None:
    text = (
        "func.func @main(%a: tensor<4xf32>, %f: tensor<f32>) {\n"
        "%s = stablehlo.constant dense<1> : tensor<1xi64>\n"
        "%0 = stablehlo.dynamic_pad %a, %f, %s, %s, %s : (tensor<4xf32>, tensor<f32>,"
        " tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8xf32>\nreturn\n}"
    )
    assert reason(text) == "stablehlo.dynamic_pad results in tensor<9xf32>, got tensor<8xf32>"
    verify(text.replace("tensor<8xf32>", "tensor<9xf32>"))


def test_a_size_that_is_the_bound_makes_a_dimension_static() -> None:
    text = (
        "func.func @main(%a: tensor<4xf32>) {\n"
        "%s = stablehlo.constant dense<4> : tensor<i32>\n"
        '%0 = "stablehlo.set_dimension_size"(%a, %s) {dimension = 0 : i64}'
        " : (tensor<4xf32>, tensor<i32>) -> tensor<3xf32>\nreturn\n}"
    )
    message = "stablehlo.set_dimension_size results in tensor<4xf32>, got tensor<3xf32>"
    assert reason(text) == message
    verify(text.replace("dense<4>", "dense<3>"))
