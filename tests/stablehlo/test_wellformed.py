"""Types that mean something, types that do not, and types that are only not known here."""

from __future__ import annotations

import pytest

from tests.stablehlo.claims import reason
from topos.errors import UnsupportedError
from topos.runtimes import verify

TAKEN = (
    "tensor<?x2xf32, #stablehlo.bounds<3, ?>>",
    "tensor<?x2xf32, #stablehlo.type_extensions<bounds = [3, -1]>>",
    "tensor<*xf32>",
    "tensor<2xindex>",
    "tuple<tensor<f32>, tuple<!stablehlo.token>>",
    "f32",
)
REFUSED = (
    ("tensor<2xf7>", "tensor<2xf7> has no element called f7"),
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
