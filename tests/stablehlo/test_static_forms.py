"""Static forms: what each dynamic operation is once its sizes are known, and sizes computed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stablehlo.test_specialize import static
from topos.errors import ArgumentError, TextError
from topos.runtimes.interpreter import run_text
from topos.stablehlo.printer import printed

OPEN, BOUND = "tensor<?x3xf32>", "tensor<?xf32, #stablehlo.bounds<24>>"


def around(lines: str, result: str) -> str:
    """Returns a function of rows, of which there are %n, that returns `%0`."""
    return f"""func.func @main(%x: {OPEN}) -> {result} {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %n = stablehlo.get_dimension_size %x, dim = 0 : ({OPEN}) -> tensor<i32>
      %rows = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %c = stablehlo.constant dense<[3, 1]> : tensor<2xi32>
      {lines}
      return %0 : {result}
    }}"""


ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
GATHERED = (
    "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],"
    " start_index_map = [0], index_vector_dim = 1>"
)
# Lines that make %0 of four rows of three, its type as stated, and its elements.
FORMS = {
    "dynamic_gather": (
        f"""%i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
        %s = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
        %0 = "stablehlo.dynamic_gather"(%x, %i, %s) {{{GATHERED}}}
            : ({OPEN}, tensor<2x1xi32>, tensor<2xi32>) -> tensor<?x?xf32>""",
        "tensor<?x?xf32>",
        ROWS[[2, 0], :2],
    ),
    "dynamic_pad": (
        f"""%low = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
        %high = stablehlo.constant dense<[0, -1]> : tensor<2xi32>
        %inner = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
        %0 = stablehlo.dynamic_pad %x, %zero, %low, %high, %inner : ({OPEN}, tensor<f32>,
            tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>""",
        "tensor<?x?xf32>",
        np.stack([np.r_[0.0, ROWS[:, c]] if c != 9 else np.zeros(5) for c in (0, 9, 1, 9)], axis=1),
    ),
    "real_dynamic_slice": (
        f"""%from = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
        %by = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
        %three = stablehlo.constant dense<2> : tensor<1xi32>
        %to = stablehlo.concatenate %rows, %three, dim = 0
            : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %0 = stablehlo.real_dynamic_slice %x, %from, %to, %by
            : ({OPEN}, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>""",
        "tensor<?x?xf32>",
        ROWS[1:4:2, :2],
    ),
    "dynamic_conv": (
        f"""%k = stablehlo.constant dense<1.0> : tensor<2x1x1xf32>
        %p = stablehlo.constant dense<[[0, 1]]> : tensor<1x2xi32>
        %w = stablehlo.slice %x [0:4, 0:1] : ({OPEN}) -> tensor<4x1xf32>
        %v = stablehlo.reshape %w : (tensor<4x1xf32>) -> tensor<1x4x1xf32>
        %0 = "stablehlo.dynamic_conv"(%v, %k, %p) {{dimension_numbers =
            #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64,
            feature_group_count = 1 : i64}}
            : (tensor<1x4x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> tensor<1x?x1xf32>""",
        "tensor<1x?x1xf32>",
        (ROWS[:, 0] + np.r_[ROWS[1:, 0], 0.0]).reshape(1, 4, 1),
    ),
    "set_dimension_size": (
        f"""%two = stablehlo.constant dense<2> : tensor<i32>
        %0 = stablehlo.set_dimension_size %x, %two, dim = 0 : ({OPEN}, tensor<i32>) -> {OPEN}""",
        OPEN,
        ROWS[:2],
    ),
    "its own size": (
        f"%0 = stablehlo.set_dimension_size %x, %n, dim = 0 : ({OPEN}, tensor<i32>) -> {OPEN}",
        OPEN,
        ROWS,
    ),
    "cast": (f'%0 = "tensor.cast"(%x) : ({OPEN}) -> tensor<4x?xf32>', "tensor<4x?xf32>", ROWS),
    "bounded reshape": (f"%0 = stablehlo.reshape %x : ({OPEN}) -> {BOUND}", BOUND, ROWS.ravel()),
    "bounded broadcast": (
        f"""%f = stablehlo.reshape %x : ({OPEN}) -> {BOUND}
        %0 = stablehlo.broadcast_in_dim %f, dims = [1]
            : ({BOUND}) -> tensor<2x?xf32, #stablehlo.bounds<?, 24>>""",
        "tensor<2x?xf32, #stablehlo.bounds<?, 24>>",
        np.stack([ROWS.ravel()] * 2),
    ),
    "dynamic_top_k": (
        f"""%k = stablehlo.constant dense<2> : tensor<i32>
        %0, %i = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k)
            : ({OPEN}, tensor<i32>) -> (tensor<?x?xf32>, tensor<?x?xi32>)""",
        "tensor<?x?xf32>",
        ROWS[:, :0:-1],
    ),
    # [0, 1] -> [3, 2] -> [3, 2, 2] -> [[3, 2, 2], [3, 2, 2]], of which one row is the shape.
    "sizes computed": (
        """%i = stablehlo.iota dim = 0 : tensor<2xi32>
        %two = stablehlo.constant dense<2> : tensor<2xi32>
        %least = stablehlo.constant dense<1> : tensor<i32>
        %most = stablehlo.constant dense<3> : tensor<i32>
        %less = stablehlo.subtract %c, %i : tensor<2xi32>
        %clamped = stablehlo.clamp %two, %less, %c : tensor<2xi32>
        %test = stablehlo.compare LT, %i, %two : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
        %one = stablehlo.clamp %least, %i, %most
            : (tensor<i32>, tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
        %d = stablehlo.select %test, %c, %two : tensor<2xi1>, tensor<2xi32>
        %m = stablehlo.broadcast_in_dim %d, dims = [1] : (tensor<2xi32>) -> tensor<3x2xi32>
        %t = stablehlo.transpose %m, dims = [1, 0] : (tensor<3x2xi32>) -> tensor<2x3xi32>
        %s = stablehlo.slice %t [0:2, 0:3:2] : (tensor<2x3xi32>) -> tensor<2x2xi32>
        %r = stablehlo.slice %s [0:1, 0:2] : (tensor<2x2xi32>) -> tensor<1x2xi32>
        %u = stablehlo.reshape %r : (tensor<1x2xi32>) -> tensor<2xi32>
        %v = stablehlo.multiply %u, %one : tensor<2xi32>
        %w = stablehlo.maximum %v, %two : tensor<2xi32>
        %0 = stablehlo.dynamic_iota %w, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>""",
        "tensor<?x?xf32>",
        np.broadcast_to(np.arange(3, dtype=np.float32), (3, 3)),
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_dynamic_operation_is_static_once_its_sizes_are_known(name: str) -> None:
    lines, result, wanted = FORMS[name]
    made = printed(static(around(lines, result), (4, 3)))
    assert "dynamic" not in made
    assert "set_dimension" not in made
    (got,) = run_text(made, [ROWS])
    np.testing.assert_array_equal(got, wanted)


REFUSED = (
    (
        f"""%five = stablehlo.constant dense<5> : tensor<i32>
        %0 = stablehlo.set_dimension_size %x, %five, dim = 0 : ({OPEN}, tensor<i32>) -> {OPEN}""",
        *(OPEN, "needs a size up to 4, which tensor<4x3xf32> has, got 5"),
    ),
    (
        f'%0 = "tensor.cast"(%x) : ({OPEN}) -> tensor<5x?xf32>',
        *("tensor<5x?xf32>", "cannot turn tensor<4x3xf32> into tensor<5x?xf32>"),
    ),
    (
        "%0 = stablehlo.dynamic_iota %rows, dim = 0 : (tensor<1xi32>) -> tensor<3xf32>",
        *("tensor<3xf32>", "results in tensor<3xf32>, got [4] as output_shape"),
    ),
    (
        f"""%bad = stablehlo.constant dense<1> : tensor<i32>
        %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %bad)
            : ({OPEN}, tensor<i32>) -> {OPEN}""",
        *(OPEN, "needs windows beside its inputs, got 2 operands"),
    ),
)


@pytest.mark.parametrize(("lines", "result", "told"), REFUSED, ids=range(len(REFUSED)))
def test_sizes_that_do_not_fit_are_refused(lines: str, result: str, told: str) -> None:
    with pytest.raises((TextError, ArgumentError)) as caught:
        static(around(lines, result), (4, 3))
    assert told in str(caught.value)


def test_a_function_that_an_attribute_names_is_specialized_with_its_own_types() -> None:
    text = around(
        f"""%0 = stablehlo.custom_call @made(%x) {{called_computations = [@one, @one]}}
            : ({OPEN}) -> tensor<4x3xf32>""",
        "tensor<4x3xf32>",
    )
    one = "func.func private @one(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }"
    made = static(f"{text}\n{one}", (4, 3))
    assert [each.name for each in made.functions] == ["main", "one"]
    assert "called_computations = [@one, @one]" in printed(made)
