"""The messages of texts that cannot be read, each with its place."""

from __future__ import annotations

import pytest

from topos.errors import ParseError
from topos.runtimes.interpreter import RUNTIME
from topos.stablehlo.types import EXISTING

T = "tensor<2xf32>"


def function(line: str) -> str:
    return (
        "func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {\n"
        f"  {line}\n  return %0 : tensor<2xf32>\n}}\n"
    )


UNREADABLE = (
    ("hello", 1, 1, "expected a function or a module or the end of the text, got 'hello'"),
    ("é", 1, 1, "expected a function or a module or the end of the text, got 'é'"),
    (
        "func.func @main() { return }\n\0",
        2,
        1,
        "expected 'loc', a function or a module or the end of the text, got '\\x00'",
    ),
    (
        function("%0 = stablehlo.iota dim = é"),
        2,
        29,
        "expected a number, a word, a string or a list, got 'é'",
    ),
    (
        function(f'%0 = stablehlo.add "x" %a : {T}'),
        2,
        8,
        "stablehlo.add is not written with the name 'x'",
    ),
    (
        function(f"%0#1 = stablehlo.add %a, %b : {T}"),
        2,
        3,
        "a value is named without '#', got '%0#1'",
    ),
    ("func.func @main(%a#0: i1) { }", 1, 17, "a value is named without '#', got '%a#0'"),
    (
        "func.func @main(%0_1: i1) { }",
        1,
        17,
        "a value is named by a number or a word, such as %0 or %x_1, got '%0_1'",
    ),
    ("module {", 1, 9, "expected '}' or a function or a module, got the end of the text"),
    (
        "func.func @main() {\n",
        2,
        1,
        "expected '}', a block such as ^bb0 or an operation, got the end of the text",
    ),
    (
        "func.func main() {}",
        1,
        11,
        "expected a function's name such as @main or public or private, got 'main'",
    ),
    (function(f"%0 = stablehlo.add %a %b : {T}"), 2, 25, "expected ',', ':', '[' or '{', got '%b'"),
    (
        function(f"%0 = stablehlo.add %a, %b {T}"),
        2,
        29,
        f"expected ',', ':', '[' or '{{', got '{T}'",
    ),
    (
        function("%0 = stablehlo.add %a, %b : tensor<2xf32"),
        2,
        37,
        "expected ',', '->', 'loc', '}', a block such as ^bb0 or an operation,"
        " got a '<' without its '>'",
    ),
    (
        function("%0 = stablehlo.reverse %a, dims = [0 : " + T),
        3,
        3,
        "expected ',' or ']', got 'return'",
    ),
    (function(f'%0 = "stablehlo.add"(%a, %b) : {T}'), 2, 34, f"expected '(', got '{T}'"),
    (
        function(f'%0 = stablehlo.negate %a : {T} loc("x)'),
        2,
        48,
        'expected a location such as "f.py":1:2, got a string without its end',
    ),
    (
        function(f"%0 = stablehlo.reduce(%a init: %b) applies stablehlo.add : {T}"),
        2,
        60,
        "expected 'across', got ':'",
    ),
    (
        function(f"%0 = stablehlo.add %a, %b, HIGHEST : {T}"),
        2,
        8,
        "stablehlo.add is not written with HIGHEST",
    ),
    (
        function(f"%0 = stablehlo.negate %a [0:1] : {T}"),
        2,
        8,
        "stablehlo.negate is not written with ranges",
    ),
    (
        function(f"%0 = stablehlo.slice %a : {T}"),
        2,
        8,
        "stablehlo.slice is written with [start:limit:stride, ...]",
    ),
    (
        function(f"%0 = stablehlo.constant %a : {T}"),
        2,
        8,
        "stablehlo.constant is written with dense<...> : type",
    ),
    (
        function(f"%0 = stablehlo.compare %a, %b : {T}"),
        2,
        8,
        "stablehlo.compare is written with comparison_direction, left, right, compare_type?",
    ),
    (
        function(f"%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] : {T}"),
        2,
        8,
        "stablehlo.dot_general is written with contracting_dims = [..] x [..]",
    ),
    (
        function(
            "%0 = stablehlo.reduce(%a init: %a), (%b init: %b) applies stablehlo.add"
            f" across dimensions = [0] : {T}"
        ),
        2,
        61,
        "stablehlo.reduce applies a name to one operand only",
    ),
    (
        function(f"%0 = stablehlo.while(%x = %a, %y = %b) : {T} cond {{ return }} do {{ return }}"),
        2,
        8,
        "stablehlo.while needs a type for each of its 2 values, got 1",
    ),
    (function('%0:0 = "x.y"() : () -> ()'), 2, 6, "a count of results lies between 1 and 9999"),
    (
        function("%0 = stablehlo.iota dim = " + "9" * 101 + f" : {T}"),
        2,
        29,
        "an integer is too long to be one",
    ),
    (
        function('%0 = "stablehlo.iota"() {a = array<i64: x>} : () -> ' + T),
        2,
        32,
        "array<i64: ...> holds something else",
    ),
    (
        function("%0 = stablehlo.add %a, %b : tensor<2xoops>"),
        2,
        31,
        f"no element is called 'oops'; {EXISTING}",
    ),
    (function("%0 = stablehlo.add %a, %b : oops"), 2, 31, "no type is called oops"),
    (
        function(f"%0 = stablehlo.add %a, %b, k = 1 : {T}"),
        2,
        8,
        "stablehlo.add is not written with k = ...",
    ),
    (
        function(f"%0 = stablehlo.transpose %a, dims = 0 : ({T}) -> {T}"),
        2,
        8,
        "stablehlo.transpose is not written with such a value of dims",
    ),
    (
        function(f"%0 = stablehlo.reduce_precision %a, format = half : {T}"),
        2,
        8,
        "stablehlo.reduce_precision is written with format = e5m10, the bits of exponent and"
        " mantissa",
    ),
    (
        function(
            f"%0 = stablehlo.reduce(%a init: %b) applies stablehlo.divide across"
            f" dimensions = [0] : ({T}, {T}) -> {T}"
        ),
        2,
        46,
        "stablehlo.reduce applies one of stablehlo.add stablehlo.and stablehlo.maximum"
        " stablehlo.minimum stablehlo.multiply stablehlo.or stablehlo.xor",
    ),
    (function('"x.y"() {a = 300 : i8} : () -> ()'), 2, 16, "300 is no i8"),
    (function('"x.y"() {a = 1.0 : i8} : () -> ()'), 2, 16, "an i8 is no 1.0"),
    (function('"x.y"() {a = 0x10000 : f16} : () -> ()'), 2, 16, "0x10000 are no bits of f16"),
    (function('"x.y"() {k, k} : () -> ()'), 2, 15, "k stands twice in a dictionary"),
    (function('"x.y"(%a) : () -> ()'), 2, 3, "x.y has 1 operands and states types of 0"),
    (function('%0:2 = "x.y"() : () -> i1'), 2, 10, "x.y names 2 results and states 1"),
    (
        function('"x.y"() {d = #stablehlo.dot<lhs_dims = [0]>} : () -> ()'),
        2,
        16,
        "#stablehlo.dot<...> has no lhs_dims, but lhs_batching_dimensions,"
        " rhs_batching_dimensions, lhs_contracting_dimensions, rhs_contracting_dimensions",
    ),
    (
        function(
            '"x.y"() {d = #stablehlo.gather<offset_dims = [0], offset_dims = [1]>} : () -> ()'
        ),
        2,
        16,
        "#stablehlo.gather<...> has offset_dims twice",
    ),
    (
        function('"x.y"() {d = #stablehlo.conv<[b, f]x[i, i]->[b, f]>} : () -> ()'),
        2,
        16,
        "a side of a layout needs i and o and axes from 0 on, each once",
    ),
)


@pytest.mark.parametrize(("text", "line", "column", "reason"), UNREADABLE)
def test_a_text_that_cannot_be_read(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        RUNTIME.compile(text)
    error = caught.value
    assert (error.line, error.column, error.reason) == (line, column, reason)
    assert error.source_line == text.split("\n")[line - 1]
