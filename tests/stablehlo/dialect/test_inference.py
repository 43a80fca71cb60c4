"""Results that operands, attributes and constants tell, where no text states them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topos.errors import VerifyError
from topos.stablehlo import Builder, dialect
from topos.stablehlo.dimension_numbers import (
    ConvolutionNumbers,
    DotNumbers,
    GatherNumbers,
    RaggedDotNumbers,
    ScatterNumbers,
)


def inferred(name: str, *operands: Any, results: Any = None, **attributes: Any) -> str:
    """Returns the type of an operation on arguments of types, and on constants of lists."""
    builder = Builder()
    values = [
        builder.argument(each) if isinstance(each, str) else builder.constant(np.array(each))
        for each in operands
        if not callable(each)
    ]
    bodies = [each for each in operands if callable(each)]
    made = getattr(dialect, name)(*values, *bodies, result=results, **attributes)
    return ", ".join([str(each.type) for each in (made if isinstance(made, tuple) else (made,))])


M = "tensor<4x6xf32>"
DYNAMIC: tuple[tuple[str, tuple[Any, ...], dict[str, Any], str], ...] = (
    ("dynamic_reshape", (M, [3, 8]), {}, "tensor<3x8xf32>"),
    (
        "dynamic_broadcast_in_dim",
        ("tensor<?xf32>", [2, 5]),
        {"broadcast_dimensions": [1]},
        "tensor<2x5xf32>",
    ),
    ("dynamic_pad", (M, "tensor<f32>", [1, 0], [0, 2], [1, 0]), {}, "tensor<8x8xf32>"),
    ("real_dynamic_slice", (M, [1, 0], [4, 6], [2, 1]), {}, "tensor<2x6xf32>"),
    (
        "dynamic_gather",
        ("tensor<?x6xf32>", "tensor<5x1xi32>", [1, 6]),
        {
            "dimension_numbers": GatherNumbers(
                offset_dims=(1,),
                collapsed_slice_dims=(0,),
                start_index_map=(0,),
                index_vector_dim=1,
            )
        },
        "tensor<5x6xf32>",
    ),
    (
        "dynamic_conv",
        ("tensor<1x8x3xf32>", "tensor<3x3x4xf32>", [[1, 1]]),
        {
            "dimension_numbers": ConvolutionNumbers(*(0, 2, (1,)), *(1, 2, (0,)), *(0, 2, (1,))),
            "feature_group_count": 1,
            "batch_group_count": 1,
        },
        "tensor<1x8x4xf32>",
    ),
    (
        "dot_general",
        ("tensor<2x3x4xbf16>", "tensor<2x4x5xbf16>"),
        {
            "dot_dimension_numbers": DotNumbers((0,), (0,), (2,), (1,)),
            "precision_config": ["HIGHEST", "DEFAULT"],
        },
        "tensor<2x3x5xbf16>",
    ),
)


@pytest.mark.parametrize(("name", "operands", "attributes", "wanted"), DYNAMIC)
def test_constants_and_attributes_tell_the_type(
    name: str, operands: tuple[Any, ...], attributes: dict[str, Any], wanted: str
) -> None:
    assert inferred(name, *operands, **attributes) == wanted


def test_a_constant_tells_the_shape_of_an_iota_and_its_text_the_element() -> None:
    stated = "tensor<?x?xui8>"
    assert inferred("dynamic_iota", [2, 3], results=stated, iota_dimension=1) == "tensor<2x3xui8>"
    with pytest.raises(VerifyError, match="needs the type of its result"):
        inferred("dynamic_iota", [2, 3], iota_dimension=1)


def test_a_constant_size_is_an_extent() -> None:
    builder = Builder()
    for size, wanted in ((3, "4x3"), (0, "4x0"), (6, "4x6")):
        known = builder.constant(np.int32(size))
        made = dialect.set_dimension_size(builder.argument(M), known, dimension=1)
        assert str(made.type) == f"tensor<{wanted}xf32>"


def test_a_shape_that_no_constant_tells_is_the_stated_one() -> None:
    operands = (M, "tensor<2xi64>")
    assert inferred("dynamic_reshape", *operands) == "tensor<?x?xf32>"
    assert inferred("dynamic_reshape", *operands, results="tensor<8x?xf32>") == "tensor<8x?xf32>"


def test_a_builder_gives_regions_what_they_take() -> None:
    reduced = inferred("reduce", M, "tensor<f32>", dialect.add, dimensions=[0])
    assert reduced == "tensor<6xf32>"
    windows = {"window_dimensions": [2, 3], "padding": [(0, 0), (1, 1)]}
    assert inferred("reduce_window", M, "tensor<f32>", dialect.add, **windows) == "tensor<3x6xf32>"
    ordered = dialect.compare
    selected = inferred(
        "select_and_scatter",
        *(M, "tensor<2x3xf32>", "tensor<f32>"),
        lambda one, other: ordered(one, other, comparison_direction="GE"),
        dialect.add,
        window_dimensions=[2, 2],
        window_strides=[2, 2],
    )
    assert selected == M
    less = inferred(
        "sort",
        *(M, "tensor<4x6xi32>"),
        lambda one, other, *_: ordered(one, other, comparison_direction="LT"),
        dimension=0,
    )
    assert less == f"{M}, tensor<4x6xi32>"
    assert inferred("map", M, M, dialect.multiply, dimensions=[0, 1]) == M


def test_what_is_left_of_dimension_numbers_is_zero_or_empty() -> None:
    for kind in (ConvolutionNumbers, DotNumbers, GatherNumbers, ScatterNumbers, RaggedDotNumbers):
        assert not any(kind())
    numbers = ConvolutionNumbers(3, 4, (5, 6), 7, 8, (9,), 10, 11, (12,))
    sides = (numbers.input, numbers.kernel, numbers.output)
    assert sides == ((3, 4, 5, 6), (7, 8, 9), (10, 11, 12))


def test_a_product_has_the_element_of_its_first_operand() -> None:
    mixed = ("tensor<2x3xbf16>", "tensor<3x4xf32>")
    assert inferred("einsum", *mixed, einsum_config="ij,jk->ik") == "tensor<2x4xbf16>"
    assert inferred("dot", *mixed) == "tensor<2x4xbf16>"


def test_a_builder_gives_a_scatter_its_numbers() -> None:
    numbers = ScatterNumbers(
        update_window_dims=(1,),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
    )
    operands = (M, "tensor<3x1xi32>", "tensor<3x6xf32>")
    made = inferred("scatter", *operands, dialect.add, scatter_dimension_numbers=numbers)
    assert made == M


def test_a_builder_writes_a_scan() -> None:
    builder = Builder()
    rows, start = builder.argument("tensor<7x2xf32>"), builder.argument("tensor<2xf32>")

    def body(row: Any, total: Any) -> list[Any]:
        added = dialect.add(row, total)
        return [added, added]

    stacked, last = dialect.chlo.scan(
        rows,
        start,
        body,
        dimension=0,
        operand_segment_sizes=[1, 1],
        result_segment_sizes=[1, 1],
    )
    assert (str(stacked.type), str(last.type)) == ("tensor<7x2xf32>", "tensor<2xf32>")
    builder.returns(stacked, last)
    assert "chlo.scan(%arg0) inits (%arg1) dimension = 0" in builder.module().text()


@pytest.mark.parametrize(
    ("name", "attributes", "reason"),
    [
        ("dot", {}, "needs 2 operands, got 1"),
        ("einsum", {"einsum_config": "ij,jk->ik"}, "needs 2 operands, got 1"),
        ("dynamic_reshape", {}, "needs output_shape as an operand, got 1 operands"),
    ],
)
def test_operands_that_are_missing_are_refused_before_anything_is_inferred(
    name: str, attributes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(VerifyError, match=reason):
        inferred(name, M, **attributes)
