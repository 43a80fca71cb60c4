"""Texts that mean harm: never closed, nested, cut, or far larger than they look."""

from __future__ import annotations

import re
import time
from contextlib import nullcontext, suppress

import numpy as np
import pytest

from topos.errors import ExecutionError, ParseError, ToposError, UnsupportedError
from topos.runtimes.interpreter import RUNTIME
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.printer import printed

T = "tensor<2xf32>"


def function(line: str) -> str:
    return (
        "func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {\n"
        f"  {line}\n  return %0 : tensor<2xf32>\n}}\n"
    )


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


@pytest.mark.parametrize("opening", OPENINGS)
def test_what_is_never_closed_is_refused_in_linear_time(opening: str) -> None:
    def seconds(place: str, length: int) -> float:
        text = f"func.func @main() {{\n  {place}{opening * (length // len(opening))}"
        start = time.process_time()
        with pytest.raises(ToposError):
            parse(text)
        return time.process_time() - start

    for place in PLACES:
        # Eight times the text takes eight times as long, or 64 times where the cost is quadratic.
        assert seconds(place, 16_000) < 0.2 or seconds(place, 16_000) < 32 * seconds(place, 2_000)


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


def test_an_alias_stands_for_as_many_values_as_a_text_may_have() -> None:
    # A list of n counts n + 1: 999 lists of 1,000 are just not too many.
    tops = {999: "", 1000: "#b stands for more than 1000000 values"}
    for count, told in tops.items():
        text = f"#a = [{', '.join(['1'] * 999)}]\n#b = [{', '.join(['#a'] * count)}]\n"
        with pytest.raises(UnsupportedError, match=told) if told else nullcontext():
            parse(f"{text}func.func @main() {{ return }}")


def test_many_results_of_one_operation_do_not_multiply() -> None:
    with pytest.raises(ParseError, match="names 9999000 results and states 1"):
        parse(function(f'{", ".join(["%0:9999"] * 1000)} = "x.y"() : () -> i1'))


def test_a_long_line_keeps_its_columns() -> None:
    line = "%0 = stablehlo.constant dense<[" + "1.0, " * 200_000 + "]> : tensor<2xf32> oops"
    with pytest.raises(ParseError) as caught:
        parse(function(line))
    assert (caught.value.line, caught.value.column) == (2, line.index("oops") + 3)


def test_a_splat_larger_than_memory_is_refused_when_it_is_returned() -> None:
    type = "tensor<70368744177664xf32>"
    text = (
        f"func.func @main() -> {type} {{\n"
        f"%0 = stablehlo.constant dense<1.0> : {type}\nreturn %0 : {type}\n}}"
    )
    executable = RUNTIME.compile(text)
    with pytest.raises(ExecutionError, match="needs more memory than this machine has"):
        executable()


CUT = function(f"%0 = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0]"
               f" {{k = 1.0 : f32}} : ({T}, tensor<f32>) -> tensor<f32>")  # fmt: skip


def test_every_beginning_of_a_text_is_refused_at_its_end() -> None:
    text = CUT.rstrip()
    # Without the brace that opens its body a function is only declared, which is no mistake.
    for length in range(text.index("{") + 1, len(text)):
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


def test_a_constant_beyond_all_memory_is_refused_at_its_place() -> None:
    text = "%0 = stablehlo.iota dim = 0 : tensor<40000000000000xi64>"
    with pytest.raises(UnsupportedError, match="iota needs more memory than") as caught:
        RUNTIME.compile(f"func.func @main() {{\n  {text}\n  return\n}}")
    assert (caught.value.line, caught.value.column) == (2, 8)


BEYOND = 4611686018427387903
REDUCED = (
    "func.func @main(%a: tensor<2xf32>, %z: tensor<f32>) -> tensor<1xf32> {\n"
    '  %0 = "stablehlo.reduce_window"(%a, %z) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
    "%1 = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %1 : tensor<f32>\n})"
    " {window_dimensions = array<i64: 1>, window_strides = array<i64: 4611686018427387999>,"
    f" base_dilations = array<i64: {BEYOND}>}} : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>\n"
    "return %0 : tensor<1xf32>\n}"
)
CONVOLVED = (
    "func.func @main(%a: tensor<1x2x1xf32>, %k: tensor<1x1x1xf32>) -> tensor<1x1x1xf32> {\n"
    "  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],"
    f" window = {{stride = [4611686018427387999], lhs_dilate = [{BEYOND}]}}"
    " {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
    " : (tensor<1x2x1xf32>, tensor<1x1x1xf32>) -> tensor<1x1x1xf32>\n"
    "return %0 : tensor<1x1x1xf32>\n}"
)


@pytest.mark.parametrize("text", [REDUCED, CONVOLVED])
def test_an_operand_dilated_beyond_all_memory_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedError, match="of an operand dilated and padded to") as caught:
        RUNTIME.compile(text)
    assert (caught.value.line, caught.value.column) == (2, 8)


def test_an_array_that_numpy_finds_too_big_is_a_failed_run() -> None:
    run = RUNTIME.compile(
        "func.func @main(%a: tensor<1x2x1xf32>, %k: tensor<1x1x1xf32>, %p: tensor<1x2xi64>)"
        ' -> tensor<1x4x1xf32> {\n%0 = "stablehlo.dynamic_conv"(%a, %k, %p) {dimension_numbers ='
        " #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64,"
        f" feature_group_count = 1 : i64, window_strides = array<i64: {2**61}>}} :"
        " (tensor<1x2x1xf32>, tensor<1x1x1xf32>, tensor<1x2xi64>) -> tensor<1x4x1xf32>\n"
        "return %0 : tensor<1x4x1xf32>\n}"
    )
    image, kernel = np.ones((1, 2, 1), np.float32), np.ones((1, 1, 1), np.float32)
    with pytest.raises(ExecutionError, match="the run needs an array beyond all memory"):
        run(image, kernel, np.array([[3 * 2**61, 0]]))
