"""How often the bodies of operations are counted, and which of several branches is.

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


def branch(*lines: str) -> str:
    """Returns a region that makes `%0` of `%x` line by line and returns it."""
    return f"{{ {' '.join(lines)} stablehlo.return %0 : tensor<4x4xf32> }}"


ADD = "%0 = stablehlo.add %x, %x : tensor<4x4xf32>"
ADDED = branch(ADD)
MULTIPLIED = branch(
    "%0 = stablehlo.dot %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"
)
LONGER = branch("%1 = stablehlo.constant dense<1> : tensor<i32>", ADD)


@pytest.mark.parametrize(
    ("name", "choice", "branches", "counted", "flops"),
    [
        # XLA takes the maximum too.
        ("if", "i1", (ADDED, MULTIPLIED), ["if", "dot"], 128),
        ("case", "i32", (ADDED, MULTIPLIED, ADDED), ["case", "dot"], 128),
        # Of as many flops, the branch that runs more operations.
        ("case", "i32", (ADDED, LONGER), ["add", "case", "constant"], 16),
    ],
)
def test_the_branch_with_the_most_flops_counts(
    name: str, choice: str, branches: tuple[str, ...], counted: list[str], flops: int
) -> None:
    line = f'"stablehlo.{name}"(%c) ({", ".join(branches)}) : (tensor<{choice}>) -> tensor<4x4xf32>'
    cost = module(f"%c: tensor<{choice}>, %x: tensor<4x4xf32>", line, "4x4xf32").cost()
    assert sorted(each.name.partition(".")[2] for each in cost.operations) == sorted(counted)
    assert (cost.total.flops, cost.total.runs) == (flops, len(counted))
