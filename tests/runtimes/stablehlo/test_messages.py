"""The messages of texts that cannot be read, each with its place."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest

from topos.errors import ParseError, ToposError, UnsupportedError
from topos.runtimes._stablehlo.parse import parse
from topos.runtimes._stablehlo.printing import printed
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
    (function("%0 = stablehlo.add %a, %b : tensor<2xoops>"), 2, 30, "no element is called 'oops'"),
    (function("%0 = stablehlo.add %a, %b : oops"), 2, 30, "no type is called oops"),
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


OPENINGS = (
    *(
        "dense<",
        "dense<[1.0, ",
        'dense<"0x',
        "tensor<<<<",
        "#x.y<<->",
        '"a\\',
        "[[",
        "{a = ",
        "((",
        "% ",
    ),
    *(
        "tuple<",
        "#stablehlo.dot<a = ",
        'loc(callsite("',
        "array<i64: 1, ",
        '@"a',
        "1.0 - ",
        "<",
        "//",
    ),
)
PLACES = (
    "%0 = stablehlo.constant ",
    "%0 = stablehlo.negate %a : ",
    '%0 = "x.y"() {a = ',
    '%0 = "x.y"() : () -> ',
    "%0 = stablehlo.negate %a : tensor<f32> loc(",
    "%0 = sdy.sharding_constraint %a ",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("opening", OPENINGS)
def test_what_is_never_closed_is_refused_in_linear_time(opening: str, place: str) -> None:
    def seconds(length: int) -> float:
        text = f"func.func @main() {{\n  {place}{opening * (length // len(opening))}"
        start = time.process_time()
        with pytest.raises(ToposError):
            parse(text)
        return time.process_time() - start

    # Eight times the text may take eight times as long, and twice that on a noisy machine.
    assert seconds(16_000) < max(0.1, 16 * seconds(2_000))


NESTED = (
    ("[", "]", '"x.y"() {a = ', "} : () -> ()"),
    ("{a = ", "}", '"x.y"() {a = ', "} : () -> ()"),
    ("tuple<", ">", '"x.y"() : () -> ', ""),
    ('"x.y"() ({', "}) : () -> ()", "", ""),
    ('"a"(', ")", '"x.y"() : () -> () loc(', ")"),
)


@pytest.mark.parametrize(("opening", "closing", "before", "after"), NESTED)
def test_what_nests_a_thousand_deep_is_read_or_refused(
    opening: str, closing: str, before: str, after: str
) -> None:
    filler = "" if "x.y" in opening else '"b"' if "(" in opening else "i1"
    nested = opening * 5000 + filler + closing * 5000
    with suppress(UnsupportedError):
        printed(parse(f"#a = i1\nfunc.func @main() {{\n{before}{nested}{after}\nreturn }}"))


def test_aliases_of_aliases_do_not_multiply() -> None:
    bomb = "\n".join(f"#a{level + 1} = [#a{level}, #a{level}]" for level in range(200))
    with pytest.raises(UnsupportedError, match="#a18 stands for more than 1000000 values"):
        parse(f"#a0 = [1, 2, 3]\n{bomb}\nfunc.func @main() {{ return }}")


def test_many_results_of_one_operation_do_not_multiply() -> None:
    with pytest.raises(ParseError, match="names 9999000 results and states 1"):
        parse(function(f'{", ".join(["%0:9999"] * 1000)} = "x.y"() : () -> i1'))


def test_a_long_line_keeps_its_columns() -> None:
    line = "%0 = stablehlo.constant dense<[" + "1.0, " * 200_000 + "]> : tensor<2xf32> oops"
    with pytest.raises(ParseError) as caught:
        parse(function(line))
    assert (caught.value.line, caught.value.column) == (2, line.index("oops") + 3)


CUT = function(f"%0 = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0]"
               f" {{k = 1.0 : f32}} : ({T}, tensor<f32>) -> tensor<f32>")  # fmt: skip


def test_every_beginning_of_a_text_is_refused_at_its_end() -> None:
    text = CUT.rstrip()
    for length in range(1, len(text)):
        with pytest.raises(ToposError) as caught:
            parse(text[:length])
        assert isinstance(caught.value, ParseError)
        assert caught.value.line >= 1
        assert caught.value.column >= 1
        assert caught.value.reason.startswith(("expected ", "no type", "no element"))


def test_every_text_with_a_part_left_out_is_read_or_refused() -> None:
    parts = re.findall(r'[%@#]?[\w.]+|"[^"]*"|->|\s+|.', CUT)
    for left in range(len(parts)):
        with suppress(ToposError):
            printed(parse("".join(parts[:left] + parts[left + 1 :])))
