"""How many flops an operation is, and how often the bodies of operations run.

The flops that XLA's `HloCostAnalysis` gives for the same modules stand beside ours: where a body
combines n elements it counts n - 1 applications, for the first one is not combined with anything.
"""

from __future__ import annotations

import pytest

from topos.stablehlo import Module, parse


def body(operation: str = "add", returned: str = "f32") -> str:
    """Returns the region of one operation on two scalars."""
    if operation == "compare":
        applied = "stablehlo.compare GT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>"
    else:
        applied = f"stablehlo.{operation} %p, %q : tensor<f32>"
    return f"""{{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = {applied}
      stablehlo.return %r : tensor<{returned}>
    }}"""


def module(arguments: str, line: str, result: str) -> Module:
    """Returns a verified module of one operation that makes `%0`."""
    return parse(f"""func.func @main({arguments}) -> tensor<{result}> {{
    %0 = {line}
    return %0 : tensor<{result}>
    }}""").verify()


@pytest.mark.parametrize(
    ("contracting", "shapes"),
    [
        # Rows in two groups: each is multiplied by the columns of its own group.
        ("[1]", ("4x5", "2x5x3", "4x3")),
        # The summed axis in two groups: each of its places is in the sum of its own group.
        ("[0]", ("5x4", "5x3", "2x4x3")),
    ],
)
def test_a_ragged_product_counts_each_of_its_products_once(
    contracting: str, shapes: tuple[str, str, str]
) -> None:
    left, right, result = shapes
    grouped = "[0]" if left == "4x5" else "[]"
    line = f"""\"chlo.ragged_dot\"(%x, %y, %sizes) <{{ragged_dot_dimension_numbers =
        #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [],
        lhs_contracting_dimensions = {contracting}, rhs_contracting_dimensions = {contracting},
        lhs_ragged_dimensions = [0], rhs_group_dimensions = {grouped}>}}>
        : (tensor<{left}xf32>, tensor<{right}xf32>, tensor<2xi64>) -> tensor<{result}xf32>"""
    arguments = f"%x: tensor<{left}xf32>, %y: tensor<{right}xf32>, %sizes: tensor<2xi64>"
    assert module(arguments, line, f"{result}xf32").cost().total.flops == 2 * 4 * 5 * 3


SELECT = body("compare", "i1")
# Each with how often its bodies' operations run, and with its flops.
BODIES = {
    # XLA: 15.
    "reduce": (
        ("%x: tensor<4x4xf32>, %z: tensor<f32>", "f32"),
        """stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>""",
        ({"add": 16}, 16),
    ),
    # The updates have 6 elements, the operand 3000. XLA: 6.
    "scatter": (
        ("%x: tensor<1000x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>", "1000x3xf32"),
        f"""\"stablehlo.scatter\"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<
        update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
        index_vector_dim = 1>}}> ({body()})
        : (tensor<1000x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<1000x3xf32>""",
        ({"add": 6}, 6),
    ),
    # 9 windows of 4 elements. XLA: 27.
    "reduce_window": (
        ("%x: tensor<4x4xf32>, %z: tensor<f32>", "3x3xf32"),
        f"""\"stablehlo.reduce_window\"(%x, %z) <{{window_dimensions = array<i64: 2, 2>}}>
        ({body()}) : (tensor<4x4xf32>, tensor<f32>) -> tensor<3x3xf32>""",
        ({"add": 36}, 36),
    ),
    # As jax lowers it: 8 windows of 8 elements, many of which are padding. XLA: 56.
    "cumsum": (
        ("%x: tensor<8xf32>, %z: tensor<f32>", "8xf32"),
        f"""\"stablehlo.reduce_window\"(%x, %z) <{{window_dimensions = array<i64: 8>,
        padding = dense<[[7, 0]]> : tensor<1x2xi64>}}>
        ({body()}) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>""",
        ({"add": 64}, 64),
    ),
    # 4 windows of 4 elements, one of which takes the source's. A comparison is no flop here; XLA,
    # to which it is: 16.
    "select_and_scatter": (
        ("%x: tensor<4x4xf32>, %s: tensor<2x2xf32>, %z: tensor<f32>", "4x4xf32"),
        f"""\"stablehlo.select_and_scatter\"(%x, %s, %z) <{{window_dimensions = array<i64: 2, 2>,
        window_strides = array<i64: 2, 2>}}> ({SELECT}, {body()})
        : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>""",
        ({"compare": 16, "add": 4}, 4),
    ),
    "map": (
        ("%x: tensor<2x3xf32>", "2x3xf32"),
        f"""\"stablehlo.map\"(%x, %x) <{{dimensions = array<i64: 0, 1>}}> ({body()})
        : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>""",
        ({"add": 6}, 6),
    ),
    # 2 columns of 5: each element takes part in ceil(log2(5)) comparisons.
    "sort": (
        ("%x: tensor<5x2xf32>", "5x2xf32"),
        f"""\"stablehlo.sort\"(%x) <{{dimension = 0 : i64}}> ({SELECT})
        : (tensor<5x2xf32>) -> tensor<5x2xf32>""",
        ({"compare": 30}, 0),
    ),
    # Seven places.
    "scan": (
        ("%x: tensor<7xf32>, %z: tensor<f32>", "f32"),
        f"""chlo.scan(%x) inits (%z) dimension = 0 {body()}
        : (tensor<7xf32>, tensor<f32>) -> tensor<f32>""",
        ({"add": 7}, 7),
    ),
    # XLA, which takes two devices for granted: 6.
    "all_reduce": (
        ("%x: tensor<2x3xf32>", "2x3xf32"),
        f"""\"stablehlo.all_reduce\"(%x) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}>
        ({body()}) : (tensor<2x3xf32>) -> tensor<2x3xf32>""",
        ({"add": 6}, 6),
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_counts_once_for_each_element_that_it_combines(name: str) -> None:
    (arguments, result), line, (runs, flops) = BODIES[name]
    cost = module(arguments, line, result).cost()
    counted = {each.name.partition(".")[2]: each.runs for each in cost.operations}
    assert {key: counted[key] for key in runs} == runs
    assert cost.total.flops == flops


CONVOLVED = (
    "stablehlo.convolution(%x, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}"
    " {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : TYPES"
)
PRODUCTS = (
    ("4x5", "5x3", "4x3", "stablehlo.dot %x, %y : TYPES", 2 * 4 * 5 * 3),
    (
        *("2x4x5", "2x5x3", "2x4x3"),
        "stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1]"
        " : TYPES",
        2 * 2 * 4 * 5 * 3,
    ),
    ("4x5", "5x3", "4x3", 'stablehlo.einsum %x, %y, config = "ij,jk->ik" : TYPES', 2 * 4 * 5 * 3),
    ("4x5", "5x3", "", 'stablehlo.einsum %x, %y, config = "ij,jk->" : TYPES', 2 * 4 * 5 * 3),
    # 5 places of a window of 3, of one of two input features each.
    ("1x7x4", "3x2x6", "1x5x6", CONVOLVED, 2 * 5 * 6 * 3 * 2),
    ("4x5", "4x5", "4x5", "stablehlo.add %x, %y : tensor<4x5xf32>", 20),
    ("4", "4", "4", "stablehlo.select %p, %x, %y : tensor<i1>, tensor<4xf32>", 0),
)  # fmt: skip


@pytest.mark.parametrize(("left", "right", "result", "line", "flops"), PRODUCTS)
def test_a_product_counts_a_multiplication_and_an_addition_for_each_term(
    left: str, right: str, result: str, line: str, flops: int
) -> None:
    one, other = f"tensor<{left}xf32>", f"tensor<{right}xf32>"
    made = f"{result}xf32" if result else "f32"
    types = f"({one}, {other}) -> tensor<{made}>"
    arguments = f"%x: {one}, %y: {other}, %p: tensor<i1>"
    assert module(arguments, line.replace("TYPES", types), made).cost().total.flops == flops
