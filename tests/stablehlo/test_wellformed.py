"""Types that mean something, types that do not, and types that are only not known here."""

from __future__ import annotations

import re

import pytest

from tests.stablehlo.claims import reason
from topos.errors import ParseError, UnsupportedError
from topos.runtimes import verify
from topos.stablehlo.ir import TupleType
from topos.stablehlo.parser.tokens import tensor_of
from topos.stablehlo.types import TOKEN, held

TAKEN = (
    "tensor<?x2xf32, #stablehlo.bounds<3, ?>>",
    "tensor<?x2xf32, #stablehlo.type_extensions<bounds = [3, -1]>>",
    "tensor<*xf32>",
    "tensor<2xindex>",
    "tuple<tensor<f32>, tuple<!stablehlo.token>>",
    "f32",
)
REFUSED = (
    ("!stablehlo.box", "no type is called !stablehlo.box"),
    (
        "tensor<?x2xf32, #stablehlo.bounds<3>>",
        "tensor<?x2xf32, #stablehlo.bounds<3>> needs a bound for each of 2 axes, got 1",
    ),
    (
        "tensor<?x2xf32, #stablehlo.bounds<3, 2>>",
        "tensor<?x2xf32, #stablehlo.bounds<3, 2>> bounds its axis 1, which is static",
    ),
)


@pytest.mark.parametrize("type", TAKEN)
def test_a_type_that_means_something(type: str) -> None:
    verify(f"func.func @main(%a: {type}) {{\nreturn\n}}")


@pytest.mark.parametrize(("type", "message"), REFUSED)
def test_a_type_that_means_nothing(type: str, message: str) -> None:
    assert reason(f"func.func @main(%a: {type}) {{\nreturn\n}}") == message


@pytest.mark.parametrize("type", ["!other.box", "tensor<2x!quant.uniform<i8:f32, 1.0>>"])
def test_a_type_that_is_not_known_here(type: str) -> None:
    with pytest.raises(UnsupportedError, match="is not supported"):
        verify(f"func.func @main(%a: {type}) {{\nreturn\n}}")


def test_a_program_holds_no_part_of_an_open_extent() -> None:
    for text in ("tensor<?xf32>", "tensor<?x2xf32, #stablehlo.bounds<3, ?>>"):
        open_type = tensor_of(text)
        for type in (open_type, TupleType((TOKEN, open_type))):
            with pytest.raises(UnsupportedError, match=f"type {re.escape(text)} is not supp"):
                held(type, 1)
    static = TupleType((TOKEN, tensor_of("tensor<2xf32>")))
    assert held(static, 1) == static


@pytest.mark.parametrize("element", ["f7", "f33", "complex<f33>", "i99999999", "none"])
def test_an_element_that_does_not_exist_is_told_where_its_type_stands(element: str) -> None:
    with pytest.raises(ParseError, match=f"no element is called '{element}'; the elem.* f32") as e:
        verify(f"func.func @main(%a: tensor<2x{element}>) {{\nreturn\n}}")
    assert (e.value.line, e.value.column) == (1, 21)
