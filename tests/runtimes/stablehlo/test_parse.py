"""The syntax tree of texts in every form they are written in."""

from __future__ import annotations

import pytest

from topos.runtimes._stablehlo.parse import parse
from topos.runtimes._stablehlo.syntax import Crossed, Operation, Symbol, Tensor, TupleType

F = Tensor((), "f32")
M = Tensor((2, 3), "f32")


def only(line: str) -> Operation:
    """Returns the operation that `line` spells."""
    (function,) = parse(f"func.func @main() {{\n  {line}\n  return\n}}").functions
    assert function.body is not None
    return function.body.blocks[0].operations[0]


def test_a_module_with_everything_around_its_operations() -> None:
    text = """
    // A comment, then aliases.
    #loc1 = loc("file.py":12:8)
    #loc2 = loc(fused["a", callsite("b"(#loc1) at "c.py":1:2 to :9)])
    module @topos attributes {mhlo.num_partitions = 1 : i32, unit, "quoted key" = [1, "two"]} {
      func.func public @main(%v0: tensor<2x3xf32> {jax.buffer_donor = true} loc("w"),
                             %v1: tensor<f32> {tf.aliasing_output = 0 : i32})
          -> (tensor<2x3xf32> {jax.result_info = ""}, tensor<f32>) attributes {a.b = "c"} {
        %0 = call @f(%v1) : (tensor<f32>) -> tensor<f32> loc(#loc2)
        return %v0, %0 : tensor<2x3xf32>, tensor<f32> loc(unknown)
      } loc(#loc1)
      func.func private @f(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }
    } loc(#loc)
    #loc = loc(unknown)
    """
    module = parse(text)
    assert module.name == "topos"
    assert module.attributes == {
        "mhlo.num_partitions": 1,
        "unit": True,
        "quoted key": (1, "two"),
    }
    main, inner = module.functions
    assert (main.name, inner.name) == ("main", "f")
    assert [argument.name for argument in main.arguments] == ["%v0", "%v1"]
    assert [argument.type for argument in main.arguments] == [M, F]
    assert [argument.attributes for argument in main.arguments] == [
        {"jax.buffer_donor": True},
        {"tf.aliasing_output": 0},
    ]
    assert [result.type for result in main.results] == [M, F]
    assert main.attributes == {"a.b": "c"}
    assert main.body is not None
    call, end = main.body.blocks[0].operations
    assert call == Operation(
        "func.call", ("%0",), ("%v1",), {"callee": "f"}, (), (F,), (F,), 9, 14, "#loc2"
    )
    assert isinstance(call.attributes["callee"], Symbol)
    assert (end.name, end.operands, end.operand_types) == ("func.return", ("%v0", "%0"), (M, F))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("unknown", "unknown"),
        ('"w"', "w"),
        ('"a\\22b\\\\"', 'a"b\\'),
        ('"file.py":12:8', "file.py:12:8"),
        ('"file.py":12:8 to 13:9', "file.py:12:8"),
        ('"w"("file.py":1:2)', "w (file.py:1:2)"),
        ("#loc7", "#loc7"),
        ('fused["a", "b"]', "fused[a, b]"),
        ('fused<{k = 1}>["a", unknown]', "fused[a, unknown]"),
        ('callsite("a" at callsite("b" at "c.py":1:2))', "a at b at c.py:1:2"),
    ],
)
def test_a_location_of_every_kind(written: str, read: str) -> None:
    assert only(f"%0 = stablehlo.negate %a : tensor<f32> loc({written})").location == read


T = "tensor<2x3xf32>"
PAIRS = (
    (
        f"stablehlo.transpose %a, dims = [1, 0] : ({T}) -> tensor<3x2xf32>",
        f'"stablehlo.transpose"(%a) <{{permutation = array<i64: 1, 0>}}> : ({T})'
        " -> tensor<3x2xf32>",
    ),
    (
        f"stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> {T}",
        f'"stablehlo.broadcast_in_dim"(%a) {{broadcast_dimensions = array<i64>}}'
        f" : (tensor<f32>) -> {T}",
    ),
    (
        f"stablehlo.slice %a [0:2, 1:3:2] : ({T}) -> tensor<2x1xf32>",
        '"stablehlo.slice"(%a) <{start_indices = array<i64: 0, 1>,'
        f" limit_indices = array<i64: 2, 3>, strides = array<i64: 1, 2>}}> : ({T})"
        " -> tensor<2x1xf32>",
    ),
    (
        f"stablehlo.compare GE, %a, %b, FLOAT : ({T}, {T}) -> tensor<2x3xi1>",
        '"stablehlo.compare"(%a, %b) <{compare_type = #stablehlo<comparison_type FLOAT>,'
        f" comparison_direction = #stablehlo<comparison_direction GE>}}> : ({T}, {T})"
        " -> tensor<2x3xi1>",
    ),
    (
        f"stablehlo.pad %a, %b, low = [0, 1], high = [-1, 0], interior = [0, 2]"
        f" : ({T}, tensor<f32>) -> {T}",
        '"stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, 1>,'
        " edge_padding_high = array<i64: -1, 0>, interior_padding = array<i64: 0, 2>}>"
        f" : ({T}, tensor<f32>) -> {T}",
    ),
    (
        f"stablehlo.concatenate %a, %b, dim = 1 : ({T}, {T}) -> tensor<2x6xf32>",
        f'"stablehlo.concatenate"(%a, %b) <{{dimension = 1 : i64}}> : ({T}, {T})'
        " -> tensor<2x6xf32>",
    ),
    (
        f"stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [1] x [0],"
        f" precision = [HIGHEST, DEFAULT] : ({T}, {T}) -> tensor<2xf32>",
        '"stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<'
        "lhs_batching_dimensions = [0], rhs_batching_dimensions = [1],"
        " lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>,"
        " precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]}>"
        f" : ({T}, {T}) -> tensor<2xf32>",
    ),
    (
        f"stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0],"
        f" window = {{stride = [2], pad = [[1, 1]]}} {{feature_group_count = 1 : i64}}"
        f" : ({T}, {T}) -> {T}",
        '"stablehlo.convolution"(%a, %b) <{dimension_numbers ='
        " #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, window_strides = array<i64: 2>,"
        f" padding = [[1, 1]], feature_group_count = 1 : i64}}> : ({T}, {T}) -> {T}",
    ),
)


@pytest.mark.parametrize(("pretty", "generic"), PAIRS, ids=[pair[0][10:22] for pair in PAIRS])
def test_a_pretty_form_is_its_generic_form(pretty: str, generic: str) -> None:
    assert only(f"%0 = {pretty}")._replace(column=0) == only(f"%0 = {generic}")._replace(column=0)


def test_a_form_without_an_arrow_types_the_results() -> None:
    added = only("%0 = stablehlo.add %a, %b : tensor<2x3xf32>")
    assert (added.operand_types, added.result_types) == (None, (M,))
    chosen = only("%0 = stablehlo.select %p, %a, %b : tensor<i1>, tensor<2x3xf32>")
    assert chosen.operand_types == (Tensor((), "i1"), M, M)
    assert chosen.result_types == (M,)
    barrier = only("%0:2 = stablehlo.optimization_barrier %a, %b : tensor<f32>, tensor<2x3xf32>")
    assert (barrier.results, barrier.result_types) == (("%0#0", "%0#1"), (F, M))
    erf = only("%0 = chlo.erf %a : tensor<f32> -> tensor<f32>")
    assert (erf.operand_types, erf.result_types) == ((F,), (F,))


def test_reduce_by_name_is_reduce_by_a_region_of_that_operation() -> None:
    head = "%0 = stablehlo.reduce(%a init: %z)"
    types = "across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>"
    named = only(f"{head} applies stablehlo.add {types}")
    spelled = only(
        f"{head} {types} reducer(%left: tensor<f32>, %right: tensor<f32>) {{"
        " %result = stablehlo.add %left, %right : tensor<f32>"
        " stablehlo.return %result : tensor<f32> }"
    )
    assert named.attributes == spelled.attributes == {"dimensions": (0, 1)}
    for read in (named, spelled):
        (block,) = read.regions[0].blocks
        assert [argument[:2] for argument in block.arguments] == [("%left", F), ("%right", F)]
        assert [step.name for step in block.operations] == ["stablehlo.add", "stablehlo.return"]
        assert block.operations[0].operands == ("%left", "%right")


def test_several_operands_reduce_with_all_left_arguments_first() -> None:
    read = only(
        "%0:2 = stablehlo.reduce(%a init: %y), (%b init: %z) across dimensions = [0]"
        " : (tensor<2xf32>, tensor<2xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)"
        " reducer(%l: tensor<f32>, %r: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {"
        " stablehlo.return %l, %i : tensor<f32>, tensor<i32> }"
    )
    assert read.operands == ("%a", "%b", "%y", "%z")
    names = [argument.name for argument in read.regions[0].blocks[0].arguments]
    assert names == ["%l", "%i", "%r", "%j"]


def test_a_while_names_its_values_in_both_regions() -> None:
    read = only(
        "%0:2 = stablehlo.while(%i = %a, %x = %b) : tensor<i32>, tensor<f32> attributes {k}"
        " cond { stablehlo.return %c : tensor<i1> }"
        " do { stablehlo.return %i, %x : tensor<i32>, tensor<f32> }"
    )
    assert (read.operands, read.attributes) == (("%a", "%b"), {"k": True})
    for region in read.regions:
        assert [argument.name for argument in region.blocks[0].arguments] == ["%i", "%x"]


def test_attributes_of_every_kind() -> None:
    read = only(
        '%0 = "x.y"() {a = -1 : i8, b = 2.5e-1, c = true, d = "s", e = @f, g = [1, [2]],'
        " h = {i = 1}, j = array<i1: true, false>, k = array<f32: 1.5>, l = f32,"
        " m = tensor<2x3xf32>, n = 0x1F : i64, o = #stablehlo<precision HIGH>,"
        " p = #mhlo.other<{1 -> <2>}>, q = #stablehlo.gather<offset_dims = [0], index_vector_dim ="
        " 1>, r = #stablehlo.conv<raw a = 1, b = 2>, s = (i1, i1) -> i1, t = loc(unknown)}"
        " : () -> tuple<tensor<f32>, tuple<>>"
    )
    values = dict(read.attributes)
    for key, wanted in (
        ("a", -1),
        ("b", 0.25),
        ("c", True),
        ("d", "s"),
        ("e", "f"),
        ("g", (1, (2,))),
        ("h", {"i": 1}),
        ("j", (True, False)),
        ("k", (1.5,)),
        ("l", "f32"),
        ("m", M),
        ("n", 31),
        ("o", "HIGH"),
        ("p", ("#mhlo.other<{1 -> <2>}>",)),
        ("q", {"offset_dims": (0,), "index_vector_dim": 1}),
        ("r", {"a": 1, "b": 2}),
    ):
        assert values[key] == wanted, key
    assert str(values["s"]) == "(i1, i1) -> (i1)"
    assert read.result_types == (TupleType((F, TupleType(()))),)
    assert str(read.result_types[0]) == "tuple<tensor<f32>, tuple<>>"


def test_the_generic_form_of_a_module_is_its_pretty_form() -> None:
    pretty = parse(
        "module @m { func.func private @main(%a: tensor<f32>) -> (tensor<f32> {k = 1}) {\n"
        " return %a : tensor<f32> } }"
    )
    generic = parse(
        '"builtin.module"() <{sym_name = "m"}> ({\n'
        ' "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "main",'
        ' res_attrs = [{k = 1}], sym_visibility = "private"}> ({\n ^bb0(%a: tensor<f32>):\n'
        ' "func.return"(%a) : (tensor<f32>) -> () }) : () -> () }) : () -> ()'
    )
    assert (generic.name, generic.functions[0].name) == (pretty.name, pretty.functions[0].name)
    for one, other in zip(generic.functions[0][1:3], pretty.functions[0][1:3], strict=True):
        assert one == other


def test_an_alias_stands_for_its_attribute_or_its_type() -> None:
    text = """
    #axes = array<i64: 1, 0>
    #all = {k = [#axes, #other]}
    !matrix = tensor<2x3xf32>
    func.func @main(%a: !matrix) -> !matrix {
      %0 = "x.y"(%a) ({
        %1 = stablehlo.negate %a : !matrix
        stablehlo.return %1 : !matrix
      }) {permutation = #axes, all = #all} : (!matrix) -> tuple<!matrix>
      return %a : !matrix
    }
    """
    (function,) = parse(text).functions
    assert (function.arguments[0].type, function.results[0].type) == (M, M)
    assert function.body is not None
    operation, end = function.body.blocks[0].operations
    assert operation.attributes["permutation"] == (1, 0)
    assert operation.attributes["all"] == {"k": ((1, 0), ("#other",))}
    assert (operation.operand_types, operation.result_types) == ((M,), (TupleType((M,)),))
    assert operation.regions[0].blocks[0].operations[0].result_types == (M,)
    assert end.operand_types == (M,)


def test_types_are_written_as_they_were_read() -> None:
    for text in ("tensor<f32>", "tensor<2x?x3xi8>", "tensor<3xcomplex<f32>>", "tensor<2xf32, #a>"):
        (type,) = only(f"%0 = stablehlo.negate %a : {text}").result_types
        assert str(type) == text


def test_crossed_lists_keep_their_sides() -> None:
    read = only("%0 = x.y %a, dims = [0] x [1] : tensor<f32>")
    assert read.attributes["dims"] == Crossed(((0,), (1,)))
