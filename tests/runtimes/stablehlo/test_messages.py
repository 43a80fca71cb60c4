"""The messages of texts that cannot be read, each with its place."""

from __future__ import annotations

import pytest

from topos.errors import ParseError, ToposError
from topos.runtimes.interpreter import RUNTIME

T = "tensor<2xf32>"


def function(line: str) -> str:
    return (
        "func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {\n"
        f"  {line}\n  return %0 : tensor<2xf32>\n}}\n"
    )


UNREADABLE = (
    ("hello", 1, 1, "expected a function or a module or the end of the text, got 'hello'"),
    ("é", 1, 1, "expected a function or a module, got 'é'"),
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
        "stablehlo.compare is written with comparison_direction and perhaps compare_type",
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
)


@pytest.mark.parametrize(("text", "line", "column", "reason"), UNREADABLE)
def test_a_text_that_cannot_be_read(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        RUNTIME.compile(text)
    error = caught.value
    assert (error.line, error.column, error.reason) == (line, column, reason)
    assert error.source_line == text.split("\n")[line - 1]


@pytest.mark.parametrize("opening", ["dense<[1.0, ", "tensor<<<<", "#x.y<<->", '"a\\'])
def test_what_is_never_closed_is_refused_at_once(opening: str) -> None:
    with pytest.raises(ToposError):
        RUNTIME.compile(function("%0 = stablehlo.constant " + opening + "1.0 - " * 20_000))
