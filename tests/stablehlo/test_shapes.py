"""Shapes as rules compare them: what agrees, what holds both, and what is known of either."""

from __future__ import annotations

import pytest

from topos.errors import VerifyError
from topos.stablehlo.definition import Definition
from topos.stablehlo.ir import Operation, OtherType, TupleType, Type
from topos.stablehlo.parser.tokens import tensor_of
from topos.stablehlo.shapes import agree, bounds_of, common, merged, read_bounds, size_of, tensor

BOUND = "#stablehlo.bounds"


def of(text: str) -> Type:
    """Returns the type of a tensor's inner text; of several with `+` between, a tuple."""
    if text == "token":
        return OtherType("!stablehlo.token")
    parts = [tensor_of(f"tensor<{part}>") for part in text.split(" + ")]
    return TupleType(tuple(parts)) if " + " in text else parts[0]


# Two types, the one that holds any value of both, and what is known of a value that is of both.
PAIRS = (
    ("2x3xf32", "2x3xf32", "2x3xf32", "2x3xf32"),
    ("?x3xf32", "2x?xf32", "?x?xf32", "2x3xf32"),
    ("2xf32", "3xf32", "", ""),
    ("2xf32", "2xf64", "", ""),
    ("2xf32", "2x1xf32", "", ""),
    ("*xf32", "2xf32", "*xf32", "2xf32"),
    ("2xf32", "*xf32", "*xf32", "2xf32"),
    (f"?xf32, {BOUND}<4>", "4xf32", f"?xf32, {BOUND}<4>", "4xf32"),
    (f"?xf32, {BOUND}<4>", "5xf32", "", ""),
    (f"?xf32, {BOUND}<4>", f"?xf32, {BOUND}<3>", f"?xf32, {BOUND}<4>", f"?xf32, {BOUND}<3>"),
    (f"?xf32, {BOUND}<4>", "?xf32", "?xf32", f"?xf32, {BOUND}<4>"),
    ("2xf32", "token", "", ""),
    ("2xf32 + ?xi8", "2xf32 + 3xi8", "2xf32 + ?xi8", None),
    ("2xf32 + 2xi8", "2xf32 + 3xi8", "", None),
    ("2xf32 + 2xi8", "2xf32 + 2xi8 + i1", "", None),
)


@pytest.mark.parametrize(("one", "other", "wider", "known"), PAIRS)
def test_two_types_agree_and_have_a_type_in_common(
    one: str, other: str, wider: str, known: str | None
) -> None:
    left, right = of(one), of(other)
    assert agree(left, right) == agree(right, left) == bool(wider)
    if not wider:
        return
    assert common(left, right) == common(right, left) == of(wider)
    if known is not None:
        types = [tensor(VIEW, each, "operand") for each in (left, right)]
        assert merged(VIEW, types, "operands") == of(known)


VIEW = Definition(Operation("x.y", (), (), {}, (), None, (), 3, 4), (), (), ())


def test_what_is_no_tensor_and_of_another_shape_is_refused() -> None:
    with pytest.raises(VerifyError, match=r"x\.y needs a tensor as it, got !stablehlo.token"):
        tensor(VIEW, of("token"), "it")
    types = [tensor(VIEW, of(each), "it") for each in ("2xf32", "3xf32")]
    with pytest.raises(VerifyError, match=r"line 3, column 4: x\.y needs them of one shape, got "):
        merged(VIEW, types, "them")


def test_bounds_and_sizes_are_told_where_they_are_known() -> None:
    assert read_bounds(f"{BOUND}<?, 3>") == (None, 3)
    assert read_bounds("#stablehlo.type_extensions<bounds = [-1, 3]>") == (None, 3)
    assert read_bounds(f"{BOUND}<>") == ()
    assert read_bounds(f"{BOUND}<x>") is None
    assert read_bounds("#x.y<3>") is None
    assert bounds_of(of("2x3xf32")) == (None, None)
    assert bounds_of(of("*xf32")) == ()
    assert (size_of((2, 3)), size_of((2, None)), size_of(None), size_of(())) == (6, None, None, 1)
