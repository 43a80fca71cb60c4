"""Elements: identity across pickles, dtypes, and how a type is written."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.exact import exactly
from topos import Element, TensorType, bf16, bool_, f16, f32, f64, i32, i64
from topos.compiler import DIFFERENTIABLE, ELEMENTS, element_of
from topos.errors import ElementError


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=str)
def test_a_built_in_element_is_one_object_everywhere(element: Element) -> None:
    assert pickle.loads(pickle.dumps(element)) is element
    assert copy.deepcopy(element) is element
    assert element_of(element.dtype) is element
    assert ELEMENTS[element.name] is element
    assert repr(element) == element.name


def test_floats_differentiate_and_short_ones_compute_in_f32() -> None:
    assert list(DIFFERENTIABLE) == [f64, f32, f16, bf16]
    assert [element for element in ELEMENTS.values() if element.differentiable] == [*DIFFERENTIABLE]
    assert [element.compute for element in DIFFERENTIABLE] == [
        np.float64,
        np.float32,
        np.float32,
        np.float32,
    ]
    assert [ELEMENTS[name].mlir for name in ("i64", "i32", "bool")] == ["i64", "i32", "i1"]


@pytest.mark.parametrize(
    ("dtype", "element"),
    [("f4", f32), (float, f64), (ml_dtypes.bfloat16, bf16), (np.bool_, bool_), (np.intc, i32)],
)
def test_a_dtype_has_its_element_under_any_spelling(dtype: Any, element: Element) -> None:
    assert element_of(dtype) is element


def test_all_integers_of_64_bits_are_one_element() -> None:
    assert element_of(np.longlong) is i64
    assert element_of(np.int64) is i64


@pytest.mark.parametrize("dtype", ["u1", "c8", "O", object, ">f4", "f128", "nonsense"])
def test_a_dtype_without_an_element_is_refused(dtype: Any) -> None:
    message = f"no element is stored as {dtype}; there are f64, f32, f16, bf16, i64, i32, bool"
    with pytest.raises(ElementError, match=exactly(message)):
        element_of(dtype)


def test_a_type_is_written_as_element_and_extents() -> None:
    assert str(TensorType((64, 10), f32)) == "f32[64, 10]"
    assert str(TensorType((), bool_)) == "bool[]"
    assert TensorType((2,), f32) == TensorType((2,), f32)
    assert TensorType((2,), f32) != TensorType((2,), f16)
