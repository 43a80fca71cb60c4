"""The phrases of single operations: words that stand where another operation has them."""

from __future__ import annotations

from contextlib import suppress

import pytest

from topos.errors import ParseError, ToposError
from topos.stablehlo.parser.parse import parse

T = "tensor<2xf32>"
PHRASED = (
    "arith.constant",
    "call",
    "chlo.constant",
    "func.call",
    "stablehlo.compare",
    "stablehlo.composite",
    "stablehlo.constant",
    "stablehlo.convolution",
    "stablehlo.custom_call",
    "stablehlo.dot_general",
    "stablehlo.dynamic_conv",
    "stablehlo.get_tuple_element",
    "stablehlo.reduce",
    "stablehlo.reduce_precision",
    "stablehlo.slice",
)
# Each means something after one of these names.
WORDS = (
    "LT",
    "LT, LT, LT",
    "%a [1:3]",
    "%a [1:2:3:4]",
    "%a []",
    "%a [0]",
    "dense<1.0>",
    '"x"',
    "@x",
    "format = [1]",
    "contracting_dims = [a] x [0], precision = {a = 1}",
    "dim_numbers = [a] x [0] -> [0], window = {pad = [[1, a]]}",
    "dim_numbers = [b, f]x[i, o]->[b, f], window = {stride = x, reverse = [2]}",
)
FORMS = ("{} %a, {} : {}", "{} {}(%a) : {}", "{} {} : ({}) -> i1")


def function(line: str) -> str:
    return f"func.func @main(%a: {T}) -> {T} {{\n  {line}\n  return %0 : {T}\n}}\n"


@pytest.mark.parametrize("name", PHRASED)
def test_a_word_of_any_kind_is_read_or_refused(name: str) -> None:
    for word in WORDS:
        for form in FORMS:
            with suppress(ToposError):
                parse(function(f"%0 = {form.format(name, word, T)}"))


@pytest.mark.parametrize("word", ["%a [1:3]", "dense<1.0>", "LT, GT", "LT", '"x"'])
def test_a_reduction_applies_the_name_of_one_operation(word: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(function(f"%0 = stablehlo.reduce {word} : {T}"))
    assert caught.value.line == 2
    assert caught.value.reason.startswith(("stablehlo.reduce is", "stablehlo.reduce applies one"))


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ('stablehlo.custom_call "x"', "@name as call_target_name"),
        ("stablehlo.composite @x(%a)", '"name" operands'),
        ('func.call "x"', "@callee(operands)"),
    ],
)
def test_a_symbol_and_a_string_are_two_things(line: str, needed: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(function(f"%0 = {line} : ({T}) -> {T}"))
    assert caught.value.reason == f"{line.split()[0]} is written with {needed}"
