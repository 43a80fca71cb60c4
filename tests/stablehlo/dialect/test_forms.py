"""Custom forms: each printed to the letter, and left where it cannot say an operation."""

from __future__ import annotations

import re
from inspect import getattr_static
from pathlib import Path

import pytest

from tests.stablehlo.gallery import GALLERY, text_of
from tests.stablehlo.test_print import GOLDEN
from topos.stablehlo import dialect
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect.calling import Func
from topos.stablehlo.equality import same
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.printer import printed

# The forms that no line of assembly says, each with what makes it its own.
FORMS = (Path(__file__).parent / "forms.mlir").read_text(encoding="utf-8")
V, F, PAIR = "tensor<2xf32>", "tensor<f32>", "tuple<tensor<2xf32>>"
BODY = "({\n^bb0(%%x: tensor<f32>, %%y: tensor<f32>%s):\nstablehlo.return %%x : tensor<f32>\n})"
# What has a custom form that cannot say it, and what has one that states more types than usual.
GENERIC = (
    f'%0 = "stablehlo.constant"(%a) {{value = dense<1.0> : {V}}} : ({V}) -> {V}',
    f'%0 = "stablehlo.constant"() {{value = dense<1.0> : {V}}} : () -> {F}',
    f'%0 = "stablehlo.constant"() {{value = 1}} : () -> {F}',
    '%0 = "arith.constant"() {value = 1 : i64} : () -> i32',
    '%0 = "arith.constant"() {value} : () -> i1',
    f'%0 = "stablehlo.dot_general"(%a, %a) {{dot_dimension_numbers = #stablehlo.dot<'
    f"lhs_contracting_dimensions = 0>}} : ({V}, {V}) -> {F}",
    f'%0 = "stablehlo.slice"(%a) {{start_indices = array<i64: 0>, limit_indices ='
    f" array<i64: 1, 2>, strides = array<i64: 1>}} : ({V}) -> {V}",
    f'%0 = "stablehlo.slice"(%a) {{start_indices = array<i32: 0>, limit_indices ='
    f" array<i64: 1>, strides = array<i64: 1>}} : ({V}) -> {V}",
    f'%0 = "stablehlo.reduce_precision"(%a) {{exponent_bits = 5 : i32}} : ({V}) -> {V}',
    f'%0 = "stablehlo.reduce_precision"(%a) {{exponent_bits = -5 : i32, mantissa_bits = 1 : i32}}'
    f" : ({V}) -> {V}",
    f'%0 = "stablehlo.reduce"(%a, %s) {BODY % ""} {{dimensions = array<i32: 0>}}'
    f" : ({V}, {F}) -> {F}",
    f'%0 = "stablehlo.reduce"(%a, %s) {BODY % ", %z: i1"} {{dimensions = array<i64: 0>}}'
    f" : ({V}, {F}) -> {F}",
    f'%0 = "chlo.scan"(%a, %s) {BODY % ""} : ({V}, {F}) -> {F}',
    f'%0 = "chlo.scan"(%a, %s) {BODY % ""} {{dimension = 0 : i64, operandSegmentSizes ='
    f" array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}} : ({V}, {F}) -> {F}",
    f'%0 = "stablehlo.while"(%a) ({{\n^bb0(%x: {V}):\n%c = stablehlo.constant dense<true> :'
    f" tensor<i1>\nstablehlo.return %c : tensor<i1>\n}}, {{\n^bb0(%y: {V}):\n"
    f"stablehlo.return %y : {V}\n}}) : ({V}) -> {V}",
    f'%0 = "stablehlo.optimization_barrier"(%a) : ({V}) -> {F}',
    f'%0 = "stablehlo.custom_call"(%a) {{call_target_name = "a::@b"}} : ({V}) -> {V}',
    f'%0 = "stablehlo.custom_call"(%a) : ({V}) -> {V}',
    f'%0 = "stablehlo.get_tuple_element"(%a) {{index = 0 : i64}} : ({V}) -> {V}',
    f'%0 = "stablehlo.convolution"(%a, %a) {{dimension_numbers = 1}} : ({V}, {V}) -> {V}',
    f'%0 = "func.call_indirect"() : () -> {V}',
    f'%0 = "sdy.reshard"(%a) : ({V}) -> {V}',
    f'%0 = "sdy.reshard"(%a, %a) {{sharding = #sdy.sharding<@m, [{{}}]>}} : ({V}, {V}) -> {V}',
    f'%0 = "sdy.reshard"(%a) {{sharding = #sdy.sharding<@m, [{{}}]>}} : ({V}) -> {F}',
    f'%0 = "sdy.propagation_barrier"(%a) {{allowed_direction = 7 : i32}} : ({V}) -> {V}',
    f'%0 = "sdy.manual_computation"(%a) ({{}}) : ({V}) -> {V}',
    f'%0 = "sdy.named_computation"(%a) ({{}}) : ({V}) -> {V}',
    f'%0 = "sdy.named_computation"(%a) {{name = "n"}} : ({V}) -> {V}',
)
FUNCTIONAL = (
    f"%0 = stablehlo.slice %a [0:2] : ({V}) -> {V}",
    f"%0 = stablehlo.slice %a [0:2:3] : ({V}) -> tensor<1xf32>",
    f"%0 = stablehlo.tuple %a : ({V}) -> tuple<{F}>",
    f"%0 = stablehlo.complex %a, %a : ({V}, {V}) -> {V}",
    f"%0 = stablehlo.complex %a, %s : ({V}, {F}) -> tensor<2xcomplex<f32>>",
    f"%0 = stablehlo.select %a, %a, %s : ({V}, {V}, {F}) -> {V}",
    f"%0 = stablehlo.add %a, %s : ({V}, {F}) -> {V}",
)


def around(line: str) -> str:
    return f"func.func @main(%a: {V}, %s: {F}) {{\n  {line}\n  return\n}}\n"


@pytest.mark.parametrize("text", [FORMS, GOLDEN], ids=["own", "shared"])
def test_a_form_is_printed_to_the_letter(text: str) -> None:
    assert printed(parse(text)) == text


@pytest.mark.parametrize("line", [*GENERIC, *FUNCTIONAL], ids=range(len(GENERIC + FUNCTIONAL)))
def test_what_a_custom_form_cannot_say_is_said_in_full(line: str) -> None:
    module = parse(around(line))
    text = printed(module)
    assert same(parse(text), module)
    # As it was written: in generic form, or with the types of operands and results.
    start = line.partition("(%" if line in GENERIC else " :")[0].partition("() ")[0]
    assert start in text
    assert line in GENERIC or line in text


def test_an_operation_that_has_a_custom_form_is_printed_in_it() -> None:
    text = FORMS + "\n".join(printed(parse(text_of(each.stem))) for each in GALLERY)
    generic = {*re.findall(r'"([\w.-]+)"\(', text)}
    custom = {*re.findall(r"(?:^|= ) *([a-z]+\.[\w-]+)", text, re.MULTILINE)}
    # In the body of a function the names of `func` have no prefix.
    without = {"builtin.module", "func.call", "func.call_indirect", "func.constant", "func.return"}
    for name, definition in dialect.definitions().items():
        own = any(
            getattr_static(definition, each) is not getattr_static(Definition, each)
            for each in ("head", "write")
        )
        has_form = own or definition.form.stated or name == Func.operation_name
        assert (name in custom) == (has_form and name not in without), name
        assert not (has_form and name in generic), name
