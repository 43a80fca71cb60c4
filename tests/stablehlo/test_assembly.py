"""The forms of operations: the pretty ones are their generic ones, and some are refused."""

from __future__ import annotations

import pytest

from topos.errors import UnsupportedError
from topos.stablehlo.equality import same
from topos.stablehlo.ir import UNIT, Operation, Tensor
from topos.stablehlo.parser.parse import parse

F = Tensor((), "f32")
M = Tensor((2, 3), "f32")


def only(line: str) -> Operation:
    """Returns the operation that `line` spells."""
    (function,) = parse(f"func.func @main() {{\n  {line}\n  return\n}}").functions
    assert function.body is not None
    return function.body.blocks[0].operations[0]


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
        " padding = dense<[[1, 1]]> : tensor<1x2xi64>, feature_group_count = 1 : i64}>"
        f" : ({T}, {T}) -> {T}",
    ),
    (
        f"stablehlo.reduce_precision %a, format = e5m10 : {T}",
        '"stablehlo.reduce_precision"(%a) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}>'
        f" : ({T}) -> {T}",
    ),
    (
        "stablehlo.get_tuple_element %a[1] : (tuple<i1, i8>) -> i8",
        '"stablehlo.get_tuple_element"(%a) <{index = 1 : i32}> : (tuple<i1, i8>) -> i8',
    ),
    (
        "stablehlo.fft %a, type = RFFT, length = [3] : (tensor<3xf32>) -> tensor<2xcomplex<f32>>",
        '"stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 3>}>'
        " : (tensor<3xf32>) -> tensor<2xcomplex<f32>>",
    ),
    (
        f"stablehlo.rng %a, %b, %c, distribution = NORMAL : (i1, i1, i1) -> {T}",
        '"stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}>'
        f" : (i1, i1, i1) -> {T}",
    ),
    (
        f"stablehlo.cholesky %a, lower = true : {T}",
        f'"stablehlo.cholesky"(%a) <{{lower = true}}> : ({T}) -> {T}',
    ),
    (
        f"stablehlo.custom_call @f(%a) {{api_version = 4 : i32}} : ({T}) -> {T}",
        '"stablehlo.custom_call"(%a) <{call_target_name = "f", api_version = 4 : i32}>'
        f" : ({T}) -> {T}",
    ),
    (
        f'stablehlo.composite "a.b" %a {{decomposition = @f}} : ({T}) -> {T}',
        f'"stablehlo.composite"(%a) <{{name = "a.b", decomposition = @f}}> : ({T}) -> {T}',
    ),
    (
        f"call @f(%a) : ({T}) -> {T}",
        f'"func.call"(%a) <{{callee = @f}}> : ({T}) -> {T}',
    ),
    (
        f"chlo.constant dense<1.0> : {T}",
        f'"chlo.constant"() <{{value = dense<1.0> : {T}}}> : () -> {T}',
    ),
    (
        f"stablehlo.constant() <{{value = dense<1.0> : {T}}}> : () -> {T}",
        f'"stablehlo.constant"() {{value = dense<1.0> : {T}}} : () -> {T}',
    ),
    (
        f"builtin.unrealized_conversion_cast %a : {T} to tensor<2x3xi32> {{k}}",
        f'"builtin.unrealized_conversion_cast"(%a) {{k}} : ({T}) -> tensor<2x3xi32>',
    ),
    (
        f'sdy.sharding_constraint %a <@mesh, [{{"x"}}, {{}}]> : {T}',
        f'"sdy.sharding_constraint"(%a) <{{sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}>'
        f" : ({T}) -> {T}",
    ),
)


@pytest.mark.parametrize(("pretty", "generic"), PAIRS, ids=[pair[0].split()[0] for pair in PAIRS])
def test_a_pretty_form_is_its_generic_form(pretty: str, generic: str) -> None:
    assert same(only(f"%0 = {pretty}"), only(f"%0 = {generic}"))


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
    assert (read.operands, read.attributes) == (("%a", "%b"), {"k": UNIT})
    for region in read.regions:
        assert [argument.name for argument in region.blocks[0].arguments] == ["%i", "%x"]


def test_a_scan_tells_which_operands_it_carries() -> None:
    read = only(
        "%0:2 = chlo.scan(%a, %b) inits(%c) dimension=1 attributes {is_reverse = true} {\n"
        "^bb0(%x: i1, %y: i1, %z: i1):\n stablehlo.return %x, %z : i1, i1\n"
        "} : (i1, i1, i1) -> (i1, i1)"
    )
    assert read.operands == ("%a", "%b", "%c")
    assert read.attributes == {
        "dimension": 1,
        "is_reverse": True,
        "operandSegmentSizes": (2, 1),
        "resultSegmentSizes": (1, 1),
    }
    assert [argument.name for argument in read.regions[0].blocks[0].arguments] == ["%x", "%y", "%z"]


def test_results_may_go_without_a_name() -> None:
    assert only("stablehlo.negate %a : tensor<f32>").results == ("",)
    assert only('"x.y"() : () -> (f32, i1)').results == ("", "")
    assert only('%0, %1:2 = "x.y"() : () -> (i1, i1, i1)').results == ("%0", "%1#0", "%1#1")


FOREIGN = ("arith.addi %a, %b : index", "shape.const_shape [6] : tensor<1xindex>", "cf.br ^bb1")


@pytest.mark.parametrize("line", FOREIGN)
def test_a_form_of_another_dialect_is_refused_by_name(line: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        only(line)
    reason = f"{line.split()[0]} is of a dialect that is not read"
    assert (caught.value.reason, caught.value.line, caught.value.column) == (reason, 2, 3)
