"""The printer: its text reads back as the same tree, and in jaxlib as the same module."""

from __future__ import annotations

from pathlib import Path

import pytest

from topos.errors import UnsupportedError
from topos.stablehlo.equality import same
from topos.stablehlo.ir import Module
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.printer import printed

# As it is printed, to the letter.
GOLDEN = """\
module @m attributes {mhlo.num_partitions = 1 : i32, mhlo.unit, "mhlo.a b" = [1, 2.500000e-01]} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<2x3xf32> {jax.buffer_donor = true}, %b: tensor<2x3xf32>, \
%s: tensor<f32>) -> (tensor<2x3xf32> {jax.result_info = "\\C3\\A9\\22"}, tensor<i1>) {
    %cst = stablehlo.constant {k = 1 : i64} dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : \
tensor<2x3xf32>
    %0 = stablehlo.add %a, %b : tensor<2x3xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] {tag} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0], precision = \
[HIGHEST, DEFAULT] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %3 = stablehlo.slice %0 [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
    %4 = stablehlo.compare GT, %2, %3, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> \
tensor<2x2xi1>
    %5 = stablehlo.select %4, %2, %3 : tensor<2x2xi1>, tensor<2x2xf32>
    %6 = stablehlo.reduce(%5 init: %s) applies stablehlo.maximum across dimensions = [0, 1] : \
(tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
    %7 = stablehlo.reduce(%a init: %s) across dimensions = [0, 1] : \
(tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
      reducer(%x: tensor<f32>, %y: tensor<f32>) {
        %19 = stablehlo.subtract %x, %y : tensor<f32>
        stablehlo.return %19 : tensor<f32>
      }
    %8:2 = stablehlo.while(%i = %6, %j = %b) : tensor<f32>, tensor<2x3xf32> attributes {loop}
    cond {
      %20 = stablehlo.is_finite %i : (tensor<f32>) -> tensor<i1>
      stablehlo.return %20 : tensor<i1>
    } do {
      stablehlo.return %i, %j : tensor<f32>, tensor<2x3xf32>
    }
    %9 = "stablehlo.sort"(%0) ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %21 = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %21 : tensor<i1>
    }) {dimension = 1 : i64, is_stable = true} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %10 = stablehlo.complex %a, %b : tensor<2x3xcomplex<f32>>
    %11 = chlo.erf %a : tensor<2x3xf32> -> tensor<2x3xf32>
    %12:2 = chlo.top_k(%a, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
    %13 = stablehlo.custom_call @"my target"(%a) {api_version = 4 : i32} : (tensor<2x3xf32>) -> \
tensor<2x3xf32>
    %14:2 = stablehlo.optimization_barrier %a, %s : tensor<2x3xf32>, tensor<f32>
    %15 = stablehlo.tuple %a, %s : tuple<tensor<2x3xf32>, tensor<f32>>
    %16 = stablehlo.get_tuple_element %15[1] : (tuple<tensor<2x3xf32>, tensor<f32>>) -> tensor<f32>
    %17 = call @f(%8#1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %18 = stablehlo.is_finite %s : (tensor<f32>) -> tensor<i1>
    return %17, %18 : tensor<2x3xf32>, tensor<i1>
  }
  func.func private @f(tensor<2x3xf32>) -> tensor<2x3xf32>
}
"""


def around(line: str, arguments: str = "%a: tensor<2x3xf32>, %b: tensor<2x3xf32>") -> str:
    return f"func.func @main({arguments}) {{\n  {line}\n  return\n}}\n"


T = "tensor<2x3xf32>"
IMAGES = "%a: tensor<1x4x4x1xf32>, %b: tensor<3x3x1x1xf32>"
CONVOLVED = (
    "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],"
    " window = WINDOW {batch_group_count = 1 : i64, feature_group_count = 1 : i64REST}"
    " : (tensor<1x4x4x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x4x4x1xf32>"
)


def convolved(window: str, rest: str = "") -> str:
    return around(CONVOLVED.replace("WINDOW", f"{{{window}}}").replace("REST", rest), IMAGES)


# Texts whose tree only the printer's less usual ways keep whole.
TEXTS = (
    GOLDEN,
    (Path(__file__).parent / "dialect" / "forms.mlir").read_text(encoding="utf-8"),
    around(f'%0 = "stablehlo.add"(%a, %b) : ({T}, {T}) -> {T}'),
    around(f"stablehlo.add %a, %b : {T}"),
    around(f'%0 = "stablehlo.compare"(%a, %b) {{comparison_direction ='
           f" #stablehlo<comparison_direction NE>}} : ({T}, {T}) -> tensor<2x3xi1>"),
    around(f'%0 = stablehlo.exponential %a {{result_accuracy = #stablehlo.result_accuracy<ulps = 2,'
           f" mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}} : {T}"),
    around(f'%0 = "stablehlo.transpose"(%a) {{permutation = array<i64: 0, 1>, other = array<i8: 1>,'
           f" none = array<f32>, hex = array<f32: 0x7FC00000, 1.5>}} : ({T}) -> {T}"),
    around(f"%0 = stablehlo.negate %a {{a = 0x7F800000 : f32, b = 1.0e-40 : f64, c = -3 : i8,"
           f' d = (i1) -> (i8, i1), e = {T}, f = "s" : i1, g = @x::@"y z", h = {{}}, i = [],'
           f" j = dense<[1, // one\n 2]> : tensor<2xi64>, "
           f" l = [{T}, i8, tuple<i1>, tensor<*xf32>], k = #sdy.sharding<@m, [{{}}]>}} : {T}"),
    around(f"%0 = stablehlo.reduce_precision %a, format = e5m10 : {T}"),
    around(f"%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims ="
           f" [1] x [1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32,"
           " accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1,"
           " num_primitive_operations = 1, allow_imprecise_accumulation = false>"
           f" : ({T}, {T}) -> tensor<2xf32>"),
    convolved("pad = [[1, 1], [1, 1]], reverse = [false, true]"),
    convolved("stride = [1, 1]", ", padding = dense<1> : tensor<2x2xi64>"),
    around('%0 = "stablehlo.while"(%a) ({\n^bb0(%x: tensor<2x3xf32>):\n'
           "%c = stablehlo.constant dense<false> : tensor<i1>\n"
           "stablehlo.return %c : tensor<i1>\n}, {\n^bb0(%y: tensor<2x3xf32>):\n"
           f"stablehlo.return %y : {T}\n}}) : ({T}) -> {T}"),
    around("stablehlo.optimization_barrier()\n%0 = stablehlo.after_all : !stablehlo.token"),
    # Names stand for parts of types and attributes, and for types that a form leaves unsaid.
    "!t = tensor<2x3xf32>\n!s = tensor<f32>\n!e = f32\n#swapped = affine_map<(i, j) -> (j, i)>\n"
    "#bound = #stablehlo.bounds<3, ?>\n#all = #sdy.sharding<mesh<[\"x\"=2]>, [{\"x\"}, {}]>\n"
    + around("%0 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [0, 1] :"
             " (!t, !s) -> !s\n%1 = stablehlo.constant dense<1.0> : tensor<2x3x!e>\n"
             "%2 = sdy.manual_computation(%a) in_shardings=[#all] out_shardings=[#all]"
             ' manual_axes={"x"} (%b: tensor<1x3x!e>) {\n sdy.return %b : tensor<1x3x!e>\n}'
             " : (!t) -> !t", "%a: !t, %s: !s, %m: memref<2x4x!e, #swapped>,"
             ' %d: tensor<?x2x!e, #bound> {k.l = "#all !t"}'),
    convolved("stride = [1, 1], pad = [[1, 1], [1, 1]],"),
    'sdy.mesh @mesh = <["x"=2]> {a.b = [1 : i8]}\n'
    + around(f'%0 = sdy.sharding_constraint %a <@mesh, [{{"x"}}, {{}}]> : {T}\n'
             f'%1 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"x"}}, {{}}]>]'
             f' out_shardings=[<@mesh, [{{"x"}}, {{}}]>] manual_axes={{"x"}}'
             " (%arg: tensor<1x3xf32>) {\n sdy.return %arg : tensor<1x3xf32>\n"
             f" }} : ({T}) -> {T}"),
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_what_is_printed_reads_back_as_the_same_tree(text: str) -> None:
    module = parse(text)
    assert same(parse(printed(module)), module)


def test_a_generic_form_is_printed_in_its_pretty_form() -> None:
    text = around(f'%0 = "stablehlo.add"(%a, %b) : ({T}, {T}) -> {T}')
    assert "%0 = stablehlo.add %a, %b : tensor<2x3xf32>\n" in printed(parse(text))


def test_a_region_where_none_is_taken_is_kept_in_generic_form() -> None:
    region = "({\n^bb0(%x: i1):\nstablehlo.return %x : i1\n})"
    module = parse(around(f'%0 = "stablehlo.negate"(%a) {region} : ({T}) -> {T}'))
    assert same(parse(printed(module)), module)
    assert "^bb0(%x: i1)" in printed(module)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_jaxlib_reads_the_same_module_from_what_is_printed(text: str) -> None:
    mlir = pytest.importorskip("jax.interpreters.mlir")
    ir = pytest.importorskip("jax.extend.mlir.ir")
    with mlir.make_ir_context(), ir.Location.unknown():
        before, after = (
            ir.Module.parse(each).operation.get_asm(print_generic_op_form=True)
            for each in (text, printed(parse(text)))
        )
    assert after == before


DIFFERENT = (
    ("%0 = stablehlo.negate %a {k = 1 : i32} : tensor<f32>", "1 : i32", "1 : i64"),
    ("%0 = stablehlo.negate %a {k = 1.0} : tensor<f32>", "1.0", "1"),
    ("%0 = stablehlo.negate %a {k = true} : tensor<f32>", "k = true", "k"),
    ("%0 = stablehlo.negate %a {k = [1]} : tensor<f32>", "[1]", "array<i64: 1>"),
    ('%0 = stablehlo.negate %a {k = "f32"} : tensor<f32>', '"f32"', "f32"),
    ("%0 = stablehlo.negate %a {k = {a}} : tensor<f32>", "{a}", "{b}"),
    ("%0 = stablehlo.constant dense<1> : tensor<1xi8>", "dense<1>", "dense<[1]>"),
    ("%0 = stablehlo.negate %a : tensor<f32>", "%0", "%1"),
    ("%0 = stablehlo.negate %a : tensor<f32>", "f32", "f64"),
    ("%0 = stablehlo.negate %a {k = array<i64: 1>} : tensor<f32>", "i64", "i32"),
    ('"x.y"() ({}) : () -> ()', "{}", "{^bb0:}"),
    ('"cf.br"()[^a] : () -> ()', "^a", "^b"),
)


@pytest.mark.parametrize(("line", "old", "new"), DIFFERENT)
def test_trees_that_differ_are_told_apart(line: str, old: str, new: str) -> None:
    one, other = (parse(around(each)) for each in (line, line.replace(old, new)))
    assert same(one, parse("\n\n" + around(line)))
    assert not same(one, other)


def test_what_nests_too_deep_to_be_read_back_is_refused() -> None:
    value: object = 1
    for _ in range(5000):
        value = (value,)
    module = Module("", {"deep": value}, ())
    with pytest.raises(UnsupportedError, match="nested this deep"):
        printed(module)
