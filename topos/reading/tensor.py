"""The computing reading: an immutable array of one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from topos import backend
from topos.errors import ElementError, ShapeError
from topos.op import Array, Operation
from topos.payload import Element, Shape, TensorType, f32, kernels
from topos.payload.storage import filled, iota, literal, row_major, settled, stored
from topos.reading.recordable import Number, Recordable


class Tensor(Recordable):
    """An immutable tensor; its operators compute the oracle's bits.

    An array keeps the element of its dtype; Python numbers and lists take `element`, f32 unless
    said otherwise. The payload is copied, in row-major order.
    """

    __slots__ = ("_array", "_element")

    def __init__(self, payload: npt.ArrayLike, element: Element | None = None) -> None:
        if isinstance(payload, Tensor):
            element, payload = element or payload.element, payload._array
        array, own = stored(payload, f32, element)
        self._array: Array = array
        self._element: Element = own

    @classmethod
    def wrap(cls, array: Array, element: Element) -> Self:
        """Returns a tensor that shares `array`, which nobody may write to from here on."""
        tensor = cls.__new__(cls)
        view = np.asarray(array).view()
        view.setflags(write=False)
        tensor._array, tensor._element = view, element
        return tensor

    @classmethod
    def filled(cls, type: TensorType, fill: Callable[[memoryview], object]) -> Self:
        """Returns a tensor of `type` whose bytes `fill` writes, row-major and little end first.

        The memory is the tensor's own from the start: what a file holds is read into its place.
        """
        return cls.wrap(filled(type.shape, type.element.dtype, fill), type.element)

    @property
    def shape(self) -> Shape:
        return self._array.shape

    @property
    def element(self) -> Element:
        return self._element

    @property
    def type(self) -> TensorType:
        """The shape and the element."""
        return TensorType(self._array.shape, self._element)

    def row_major(self) -> Tensor:
        """Returns this tensor where its elements lie in row-major order, else a copy that does."""
        array = row_major(self._array)
        return self if array is self._array else self.wrap(array, self._element)

    def settled(self) -> Tensor:
        """Returns this tensor row-major in memory of its own, where runtimes read it in place.

        It is this one where it lies so already, and otherwise a copy.
        """
        array = settled(self._array)
        return self if array is self._array else self.wrap(array, self._element)

    def fits(self, type: TensorType) -> bool:
        """Returns whether this is a tensor of `type`, without making one to compare."""
        return self._element is type.element and self._array.shape == type.shape

    def express(self, operation: Operation, *operands: Self) -> Self:
        kernels.subnormals.demand_subnormals()
        types = tuple([operand.type for operand in operands])
        inferred = operation.infer(*types)
        array = backend.computed(operation, [operand._array for operand in operands], types)
        return self.wrap(array, inferred.element)

    def fill(self, number: Number) -> Self:
        array = np.broadcast_to(literal(number, self._element), self.shape)
        return self.wrap(array, self._element)

    def iota(self, shape: Shape) -> Self:
        return type(self)(iota(shape))

    def numpy(self) -> Array:
        """Returns the payload as a read-only array, without a copy."""
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._array, dtype=dtype, copy=copy)

    def item(self) -> float | int | bool:
        """Returns the one number of a tensor of size one as a Python number.

        Of an element that is stored as a structure it is the tuple of its fields.
        """
        if self._array.size != 1:
            raise ShapeError(f"item needs a tensor of size one, got shape {self.shape}")
        number: float | int | bool = self._array.reshape(())[()].item()
        return number

    def __float__(self) -> float:
        self._demand_number("float")
        return float(self.item())

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise ElementError(f"only a tensor of size one is true or false, got {self.type}")
        self._demand_number("bool")
        return bool(self.item())

    def __reduce__(self) -> Any:
        return type(self), (np.array(self._array), self._element)

    def __format__(self, specification: str) -> str:
        if not specification:
            return str(self)
        self._demand_number("a format")
        return format(self.item(), specification)

    def __repr__(self) -> str:
        if self._element.native:
            numbers = np.array2string(self._array, threshold=12, separator=", ", prefix="Tensor(")
        else:
            numbers = self._spelled()
        return f"Tensor({numbers}, {self.type})"

    def _demand_number(self, what: str) -> None:
        if self._array.dtype.names is not None:
            raise ElementError(f"{what} needs a real number, got {self.type}: convert it first")

    def _spelled(self) -> str:
        """Returns the elements as their arithmetic spells them."""
        scalars = np.empty(self.shape, object)
        scalars.reshape(-1)[:] = [*self._array.reshape(-1)]
        spell = self._element.arithmetic.spell
        options: Any = {"formatter": {"object": spell}, "prefix": "Tensor("}
        return np.array2string(scalars, threshold=12, separator=", ", **options)
