"""What an operation is: rules for shape, element, value and derivative, and a read set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Never, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt

from topos.errors import ElementError, ExecutionError, ShapeError, ToposError
from topos.payload import Element, Shape, TensorType, demand_possible, fitting

if TYPE_CHECKING:
    from topos.reading import Recordable

Array = npt.NDArray[Any]
R = TypeVar("R", bound="Recordable")
Cotangents = tuple[R | None, ...]
Function = Callable[..., Array]


class Reads(NamedTuple):
    """The values that a derivative rule reads: positions of operands, and the output or not.

    Shapes and elements are always known and never count as read.
    """

    operands: tuple[int, ...] = ()
    output: bool = False


@dataclass_transform(frozen_default=True)
class Operation:
    """One instruction of the closed vocabulary: an immutable value, equal by its parameters.

    A subclass states its traits beside its base; its parameters are its annotated `__slots__`.
    This base does what `dataclass(frozen=True, slots=True)` would, without compiling six methods
    for each of forty classes at import.
    """

    __slots__ = ("_hash",)
    __match_args__: ClassVar[tuple[str, ...]] = ()

    name: ClassVar[str]
    arity: ClassVar[int | None]
    computed_by: ClassVar[str]
    """The function of an element's arithmetic that computes it; none where it only moves data."""
    introduces_nan: ClassVar[bool]
    """Whether the result may hold a NaN where no operand does."""
    is_elementwise: ClassVar[bool]
    """Whether an element of the result depends on the elements at its place alone."""
    is_view: ClassVar[bool]
    """Whether the result shares memory with the operand wherever it can; no other ever does."""
    writes: ClassVar[bool]
    """Whether `compute` takes `out`, a row-major array of the result's type that it fills."""
    _reads: ClassVar[Reads] = Reads()
    _binds: ClassVar[bool] = False

    def __init_subclass__(
        cls,
        *,
        name: str,
        arity: int | None,
        by: str = "",
        introduces_nan: bool = True,
        is_elementwise: bool = False,
        is_view: bool = False,
        writes: bool = False,
    ) -> None:
        cls.name, cls.arity, cls.computed_by = name, arity, by
        cls.introduces_nan = introduces_nan and not is_view
        cls.is_elementwise, cls.is_view, cls.writes = is_elementwise, is_view, writes
        cls._binds = cls.bound is not Operation.bound
        slots = cls.__dict__["__slots__"]
        names = tuple(each for each in cls.__annotations__ if each in slots)
        cls.__match_args__ = names  # type: ignore[misc]  # Data of the class, made from its slots.

    if not TYPE_CHECKING:

        def __init__(self, *parameters, **named) -> None:
            names = self.__match_args__
            if named:
                parameters += tuple(named.pop(name) for name in names[len(parameters) :])
            if named or len(parameters) != len(names):
                raise TypeError(f"{type(self).__name__} takes {names}, got {parameters}")
            for name, parameter in zip(names, parameters, strict=True):
                object.__setattr__(self, name, parameter)
            object.__setattr__(self, "_hash", hash((type(self), *parameters)))

    def __setattr__(self, name: str, value: Any) -> Never:
        raise AttributeError(f"{type(self).__name__} is immutable, {name!r} cannot be set")

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(self) is type(other)
            and all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)
        )

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined,no-any-return]  # A slot, set in __init__.

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parameters()})"

    def __reduce__(self) -> Any:
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)

    def parameters(self) -> str:
        """Returns the parameters as `describe` prints them: `axes=(0, 1)`."""
        return ", ".join(f"{name}={_spelled(getattr(self, name))}" for name in self.__match_args__)

    def infer(self, *operands: TensorType) -> TensorType:
        """Returns the result's type, or raises `ShapeError` or `ElementError`."""
        if self.arity is not None and len(operands) != self.arity:
            raise ShapeError(f"{self.name} takes {self.arity} operands, got {len(operands)}")
        element = self.infer_element(*(operand.element for operand in operands))
        shape = self.infer_shape(*(operand.shape for operand in operands))
        demand_possible(self.name, shape, element.dtype.itemsize)
        return TensorType(shape, element)

    def infer_element(self, *operands: Element) -> Element:
        """Returns the result's element: by default the operands' own, which has the function."""
        first = operands[0]
        if any(operand is not first for operand in operands):
            raise ElementError(
                f"{self.name} needs equal elements, got {' and '.join(map(str, operands))}"
            )
        function = self.computed_by or self.function_name()
        if function and function not in first.arithmetic.functions:
            first.demand(self.name, function)
        return first

    def infer_shape(self, *operands: Shape) -> Shape:
        """Returns the result's shape; by default the one shape that all operands share."""
        first = operands[0]
        if any(operand != first for operand in operands):
            raise ShapeError(
                f"{self.name} needs equal shapes, got {' and '.join(map(str, operands))}"
            )
        return first

    def function_name(self) -> str:
        """Returns the name of the arithmetic's function; a parameter may choose it."""
        return self.computed_by

    def kernel(self, *operands: TensorType) -> Function:
        """Returns the function of arrays that computes the result; its bits are the spec.

        It is the arithmetic's of the first operand's element, or `compute` where data only moves.
        """
        name = self.computed_by or self.function_name()
        if not name:
            return self.compute
        element = operands[0].element
        function = getattr(element.arithmetic, name)
        if self._binds:
            function = self.bound(function, operands)
        return function if element.native else partial(checked, self, operands, function)

    def bound(self, function: Function, operands: tuple[TensorType, ...]) -> Function:
        """Returns the arithmetic's function with the parameters that it takes."""
        return function

    def compute(self, *operands: Array) -> Array:
        """Returns the result of an operation that only moves data, whatever the element."""
        raise NotImplementedError

    def reads(self) -> Reads:
        """Returns what `backward` reads; by default nothing but shapes and elements."""
        return self._reads

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        """Returns one cotangent an operand; `None` marks data, which has none."""
        raise NotImplementedError


def checked(
    operation: Operation, types: tuple[TensorType, ...], function: Function, *arrays: Array
) -> Array:
    """Returns what a function of the user's own returns, once that is known to be the result."""
    element, result = types[0].element, operation.infer(*types)
    name = operation.function_name() or operation.name
    # What a function writes into its operands would be seen by a plan and not by the oracle.
    given = [array.view() for array in arrays]
    for view in given:
        view.flags.writeable = False
    try:
        with np.errstate(all="ignore"):
            returned = function(*given)
    except (ToposError, MemoryError):
        raise
    except Exception as error:
        raise ExecutionError(
            f"{name} of {element} failed: {type(error).__name__}: {error}"
        ) from error
    array = fitting(name, element.arithmetic, returned, result.shape, result.element.dtype)
    # A plan frees and reuses memory by what it knows to be views.
    shared = any(np.may_share_memory(array, operand) for operand in arrays)
    return array.copy() if shared else array


def _spelled(parameter: object) -> str:
    return parameter.name.lower() if isinstance(parameter, Enum) else repr(parameter)
