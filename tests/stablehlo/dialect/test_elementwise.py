"""What the verifier takes and refuses of operations that work element by element."""

from __future__ import annotations

import pytest

from tests.stablehlo.claims import claim, reason
from topos.runtimes import verify

BOUNDED = "tensor<?x3xf32, #stablehlo.bounds<4, ?>>"
EQ = "comparison_direction = #stablehlo<comparison_direction EQ>"


def accuracy(absolute: str, relative: str, units: int, mode: str) -> str:
    return (
        f"result_accuracy = #stablehlo.result_accuracy<atol = {absolute}, rtol = {relative},"
        f" ulps = {units}, mode = #stablehlo.result_accuracy_mode<{mode}>>"
    )


TAKEN = (
    ("stablehlo.add", ("tensor<?xf32>", "tensor<2xf32>"), ("tensor<?xf32>",), ""),
    ("stablehlo.add", ("tensor<?xf32>", "tensor<?xf32>"), ("tensor<2xf32>",), ""),
    ("stablehlo.multiply", (BOUNDED, "tensor<4x3xf32>"), ("tensor<?x?xf32>",), ""),
    ("stablehlo.and", ("tensor<i1>", "tensor<i1>"), ("tensor<i1>",), ""),
    ("stablehlo.abs", ("tensor<2xcomplex<f64>>",), ("tensor<2xf64>",), ""),
    ("stablehlo.is_finite", ("tensor<?xf8E5M2>",), ("tensor<3xi1>",), ""),
    ("stablehlo.real", ("tensor<2xf32>",), ("tensor<2xf32>",), ""),
    ("stablehlo.complex", ("tensor<?xf64>", "tensor<2xf64>"), ("tensor<2xcomplex<f64>>",), ""),
    ("stablehlo.convert", ("tensor<2xi1>",), ("tensor<2xcomplex<f32>>",), ""),
    ("stablehlo.bitcast_convert", ("tensor<2x2xi4>",), ("tensor<2xui8>",), ""),
    ("stablehlo.bitcast_convert", ("tensor<?xf64>",), ("tensor<?x?xf16>",), ""),
    ("stablehlo.compare", ("tensor<2xf32>", "tensor<?xf32>"), ("tensor<2xi1>",), EQ),
    ("stablehlo.select", ("tensor<i1>", "tensor<?xi8>", "tensor<2xi8>"), ("tensor<2xi8>",), ""),
    ("stablehlo.clamp", ("tensor<i8>", "tensor<2xi8>", "tensor<?xi8>"), ("tensor<2xi8>",), ""),
    ("stablehlo.tanh", ("tensor<f32>",), ("tensor<f32>",), accuracy("0.5", "0.0", 2, "TOLERANCE")),
    (
        "stablehlo.reduce_precision",
        ("tensor<2xf32>",),
        ("tensor<2xf32>",),
        "exponent_bits = 3 : i32, mantissa_bits = 0 : i32",
    ),
)
REFUSED = (
    (
        ("stablehlo.add", ("tensor<2xf32>", "tensor<2xf64>"), ("tensor<2xf32>",), ""),
        "stablehlo.add needs operands of one element, got tensor<2xf32>, tensor<2xf64>",
    ),
    (
        ("stablehlo.add", ("tensor<2xf32>", "tensor<3xf32>"), ("tensor<?xf32>",), ""),
        "stablehlo.add needs operands of one shape, got tensor<2xf32> and tensor<3xf32>",
    ),
    (
        ("stablehlo.add", (BOUNDED, "tensor<5x3xf32>"), ("tensor<?x3xf32>",), ""),
        f"stablehlo.add needs operands of one shape, got {BOUNDED} and tensor<5x3xf32>",
    ),
    (
        ("stablehlo.negate", ("tensor<?x2xf32>",), ("tensor<2xf32>",), ""),
        "stablehlo.negate results in tensor<?x2xf32>, got tensor<2xf32>",
    ),
    (
        ("stablehlo.negate", ("tensor<2xf32>",), ("tensor<*xf32>",), ""),
        "stablehlo.negate results in tensor<2xf32>, got tensor<*xf32>",
    ),
    (
        ("stablehlo.negate", ("!stablehlo.token",), ("!stablehlo.token",), ""),
        "stablehlo.negate needs a ranked tensor as operand, got !stablehlo.token",
    ),
    (
        ("stablehlo.subtract", ("tensor<i1>", "tensor<i1>"), ("tensor<i1>",), ""),
        "stablehlo.subtract takes no elements of i1 as operand",
    ),
    (
        ("stablehlo.abs", ("tensor<ui8>",), ("tensor<ui8>",), ""),
        "stablehlo.abs takes no elements of ui8 as operand",
    ),
    (
        ("stablehlo.shift_left", ("tensor<i1>", "tensor<i1>"), ("tensor<i1>",), ""),
        "stablehlo.shift_left takes no elements of i1 as operand",
    ),
    (
        ("stablehlo.or", ("tensor<f32>", "tensor<f32>"), ("tensor<f32>",), ""),
        "stablehlo.or takes no elements of f32 as operand",
    ),
    (
        ("stablehlo.complex", ("tensor<f16>", "tensor<f16>"), ("tensor<f16>",), ""),
        "stablehlo.complex takes no elements of f16 as operand",
    ),
    (
        ("stablehlo.bitcast_convert", ("tensor<2x3xi8>",), ("tensor<2xi32>",), ""),
        "stablehlo.bitcast_convert cannot turn tensor<2x3xi8> into tensor<2xi32>",
    ),
    (
        ("stablehlo.bitcast_convert", ("tensor<2xcomplex<f32>>",), ("tensor<2xf64>",), ""),
        "stablehlo.bitcast_convert cannot turn tensor<2xcomplex<f32>> into tensor<2xf64>:"
        " only one of them is complex",
    ),
    (
        ("stablehlo.compare", ("tensor<f32>", "tensor<f64>"), ("tensor<i1>",), EQ),
        "stablehlo.compare needs operands of one element, got tensor<f32> and tensor<f64>",
    ),
    (
        (
            "stablehlo.select",
            ("tensor<3xi1>", "tensor<2xf32>", "tensor<2xf32>"),
            ("tensor<f32>",),
            "",
        ),
        "stablehlo.select needs a mask of i1 that is scalar or as tensor<2xf32>, got tensor<3xi1>",
    ),
    (
        ("stablehlo.clamp", ("tensor<1xi8>", "tensor<2xi8>", "tensor<i8>"), ("tensor<2xi8>",), ""),
        "stablehlo.clamp needs a minimum that is scalar or as tensor<2xi8>, got tensor<1xi8>",
    ),
    (
        (
            "stablehlo.sine",
            ("tensor<f32>",),
            ("tensor<f32>",),
            accuracy("0.0", "0.0", 1, "HIGHEST"),
        ),
        "stablehlo.sine takes no tolerances with the mode HIGHEST, got [0.0, 0.0, 1]",
    ),
    (
        (
            "stablehlo.sine",
            ("tensor<f32>",),
            ("tensor<f32>",),
            accuracy("-1.0", "0.0", 1, "TOLERANCE"),
        ),
        "stablehlo.sine needs tolerances of 0 or more, got [-1.0, 0.0, 1]",
    ),
    (
        (
            "stablehlo.reduce_precision",
            ("tensor<f32>",),
            ("tensor<f32>",),
            "exponent_bits = 5 : i64, mantissa_bits = 2 : i32",
        ),
        "stablehlo.reduce_precision needs exponent_bits as a number of i32, got i64",
    ),
    (
        (
            "stablehlo.reduce_precision",
            ("tensor<f32>",),
            ("tensor<f32>",),
            "exponent_bits = 0 : i32, mantissa_bits = 2 : i32",
        ),
        "stablehlo.reduce_precision needs exponent_bits above 0, got 0",
    ),
)

Case = tuple[str, tuple[str, ...], tuple[str, ...], str]


@pytest.mark.parametrize("case", TAKEN)
def test_an_operation_that_keeps_its_rule(case: Case) -> None:
    verify(claim(*case))


@pytest.mark.parametrize(("case", "message"), REFUSED)
def test_an_operation_that_breaks_its_rule(case: Case, message: str) -> None:
    assert reason(claim(*case)) == message
