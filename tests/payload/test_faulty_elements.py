"""Elements of one's own that are made of, or return, what no element can have."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos import Arithmetic, Element, Tensor, f32, f64
from topos.errors import ElementError, ExecutionError


class Faulty(Arithmetic):
    """Functions that return no arrays, and conversions that are none."""

    def literal(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return numbers.astype(np.float32)

    def erf(self, array: npt.NDArray[Any]) -> Any:
        return [[1.0], [1.0, 2.0]]

    def conversion(self, source: Element, target: Element) -> Any:
        return 1 / 0 if source is f64 else 3


@pytest.mark.parametrize("dtype", [None, ">f4", [("a", ">f4")], [], [("a", "f4", (0,))]])
def test_storage_has_bytes_in_the_order_of_the_machine(dtype: Any) -> None:
    with pytest.raises(ElementError, match=r"^an element is stored as"):
        Element("odd", dtype, arithmetic=Faulty())


@pytest.mark.parametrize("options", [{"name": 3}, {"mlir": 3}, {"compute": "nothing"}])
def test_names_are_texts_and_formats_are_those_of_numpy(options: Any) -> None:
    with pytest.raises(ElementError, match=r"^an element"):
        Element(**{"name": "odd", "dtype": np.float32, "arithmetic": Faulty()} | options)


@pytest.mark.parametrize("number", [2**63, 10**30, -(10**30)])
def test_an_integer_literal_beyond_64_bits_is_refused(number: int) -> None:
    faulty = Element("faulty", np.float32, arithmetic=Faulty())
    with pytest.raises(ElementError, match=r"^an integer literal of faulty needs to fit in 64"):
        Tensor([1.0], faulty) + number
    with pytest.raises(ElementError):
        Tensor([number], faulty)


def test_what_is_no_array_and_what_is_no_conversion_are_refused() -> None:
    faulty = Element("faulty", np.float32, arithmetic=Faulty())
    with pytest.raises(ExecutionError, match=r"^erf of Faulty has to .* got list that is no array"):
        Tensor([1.0, 2.0], faulty).erf()
    with pytest.raises(ElementError, match=r"^conversion of faulty failed for f64 to faulty: Zero"):
        Tensor([1.0], f64).convert(faulty)
    with pytest.raises(ElementError, match=r"has to return a function or None, got 3$"):
        Tensor([1.0], f32).convert(faulty)
