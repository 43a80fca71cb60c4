"""What the verifier takes and refuses of products, random numbers and constants."""

from __future__ import annotations

import pytest

from tests.stablehlo.claims import claim, reason
from topos.errors import ParseError
from topos.runtimes import verify

M = "tensor<2x3xf32>"
N = "tensor<3x4xf32>"


def axes(left: str, right: str, batch: str = "") -> str:
    return (
        f"dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [{batch}],"
        f" rhs_batching_dimensions = [{batch}], lhs_contracting_dimensions = [{left}],"
        f" rhs_contracting_dimensions = [{right}]>"
    )


def algorithm(left: str, right: str, total: str, counts: str, imprecise: str = "false") -> str:
    components, others, products = counts.split()
    return (
        f"{axes('1', '0')}, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = {left},"
        f" rhs_precision_type = {right}, accumulation_type = {total},"
        f" lhs_component_count = {components}, rhs_component_count = {others},"
        f" num_primitive_operations = {products}, allow_imprecise_accumulation = {imprecise}>"
    )


UNIFORM = "rng_distribution = #stablehlo<rng_distribution UNIFORM>"
NORMAL = UNIFORM.replace("UNIFORM", "NORMAL")
PHILOX = "rng_algorithm = #stablehlo<rng_algorithm PHILOX>"
R = "tensor<2x4xf32>"
TAKEN = (
    ("dot", (M, "tensor<?xf32>"), ("tensor<?xf64>",), ""),
    ("dot_general", (M, N), (R,), axes("1", "0")),
    (
        "dot_general",
        ("tensor<2x?x3xi4>", "tensor<?x3xi8>"),
        ("tensor<2x5xi32>",),
        axes("2", "1", "0"),
    ),
    ("dot_general", (M, N), (R,), algorithm("bf16", "bf16", "f32", "1 1 9")),
    ("dot_general", (M, N), (R,), algorithm("f8E5M2", "f8E4M3FN", "f32", "1 1 1", "true")),
    ("einsum", (M, N), (R,), 'einsum_config = "ij,jk->ik"'),
    ("rng", ("tensor<i8>", "tensor<i8>", "tensor<2xi64>"), ("tensor<2x?xi8>",), UNIFORM),
    ("rng_bit_generator", ("tensor<2xui64>",), ("tensor<2xui64>", "tensor<5xui8>"), PHILOX),
    ("replica_id", (), ("tensor<ui32>",), ""),
)
REFUSED = (
    (("dot", (M, M), (M,), ""), "cannot multiply tensor<2x3xf32> by tensor<2x3xf32>"),
    (("dot", (M, N), (M,), ""), "results in tensor<2x4xf32>, got tensor<2x3xf32>"),
    (
        ("dot_general", (M, N), (R,), axes("1", "")),
        "needs as many lhs_contracting_dimensions as rhs_contracting_dimensions, got [1] and []",
    ),
    (
        ("dot_general", (M, N), (R,), axes("0", "0", "0")),
        "needs distinct axes below 2 as batching and contracting dimensions, got [0, 0]",
    ),
    (
        ("dot_general", (M, N), (R,), axes("2", "0")),
        "needs distinct axes below 2 as batching and contracting dimensions, got [2]",
    ),
    (
        ("dot_general", (M, N), (R,), axes("0", "0")),
        "cannot pair axis 0 of tensor<2x3xf32> with axis 0 of tensor<3x4xf32>",
    ),
    (
        ("dot_general", (M, N), (R,), algorithm("bf16", "bf16", "f32", "1 1 5")),
        "needs an algorithm that some hardware has, got bf16 by bf16 to f32 with counts of"
        " [1, 1, 5]",
    ),
    (
        ("dot_general", (M, N), (R,), algorithm("bf16", "bf16", "f32", "1 1 3", "true")),
        "needs an algorithm that some hardware has, got bf16 by bf16 to f32 with counts of"
        " [1, 1, 3]",
    ),
    (
        ("dot_general", (M, N), (R,), algorithm("f32", "f32", "f32", "0 1 1")),
        "needs counts of 1 or more in its algorithm, got [0, 1, 1]",
    ),
    (
        (
            "dot_general",
            (M, N),
            (R,),
            algorithm("f32", "f32", "f32", "1 1 1")
            + ", precision_config = [#stablehlo<precision HIGH>]",
        ),
        "needs the precision DEFAULT beside an algorithm, got ('HIGH',)",
    ),
    (
        ("einsum", (M, N), (R,), 'einsum_config = "ij,jk,kl->il"'),
        "needs an einsum_config of 2 operands, got 'ij,jk,kl->il'",
    ),
    (
        ("einsum", (M, N), (R,), 'einsum_config = "ij,ik->jk"'),
        "needs one extent of 'i' in 'ij,ik->jk', got tensor<3x4xf32>",
    ),
    (
        ("rng", ("tensor<i8>", "tensor<i8>", "tensor<1xi64>"), ("tensor<2xi8>",), NORMAL),
        "needs floating-point parameters of NORMAL, got tensor<i8>",
    ),
    (
        ("rng", ("tensor<f32>", "tensor<f32>", "tensor<1xi64>"), (M,), UNIFORM),
        "results in tensor<?xf32>, got tensor<2x3xf32>",
    ),
    (
        ("rng_bit_generator", ("tensor<2xui64>",), ("tensor<3xui64>", "tensor<5xui8>"), PHILOX),
        "results in tensor<2xui64>, got tensor<3xui64>",
    ),
    (("replica_id", (), ("tensor<i32>",), ""), "results in tensor<ui32>, got tensor<i32>"),
    (
        ("constant", (), ("tensor<?xi32>",), "value = dense<1> : tensor<i32>"),
        "needs a static shape, got tensor<?xi32>",
    ),
    (
        ("constant", (), ("tensor<i32>",), "value = dense<1> : tensor<i64>"),
        "results in tensor<i64>, got tensor<i32>",
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


def test_a_constant_that_does_not_fill_its_type() -> None:
    text = claim(
        "stablehlo.constant", (), ("tensor<3xi8>",), "value = dense<[1, 2]> : tensor<3xi8>"
    )
    with pytest.raises(ParseError, match="needs the shape of tensor<3xi8>, got 2 elements"):
        verify(text)
