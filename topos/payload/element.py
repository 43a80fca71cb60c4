"""Elements: the number formats that fill a tensor."""

from __future__ import annotations

import re
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from topos.errors import ElementError
from topos.payload.shape import Shape

if TYPE_CHECKING:
    from topos.backend import BatchNormTask, Formula, Function, GemmTask, MapTask


def _real(dtype: Any) -> np.dtype[Any]:
    """Returns numpy's `dtype` of real numbers, of its own or of an extension such as float8."""
    try:
        chosen: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise ElementError(f"an element is stored as a numpy dtype, got {dtype!r}") from None
    # An extension's own kind says nothing; its name tells floats from integers of few bits.
    if chosen.kind not in "fiub" and not (chosen.kind == "V" and "float" in chosen.name):
        raise ElementError(f"an element is stored as real numbers of whole bytes, got {chosen}")
    return chosen


class Element:
    """A number format: its numpy storage, and the format its arithmetic runs in.

    `compute` is the format that sums and products accumulate in before the one rounding back;
    it is the element's own dtype except for the 16-bit floats, which compute in float32.
    Two elements are equal where they are the same object.
    """

    __slots__ = ("_dtype", "compute", "differentiable", "mlir", "name")

    def __init__(
        self,
        name: str,
        dtype: Any,
        *,
        mlir: str | None = None,
        compute: Any = None,
        differentiable: bool = True,
    ) -> None:
        self.name = name
        # A function returns the dtype of an extension that should load where it is first needed.
        self._dtype: Any = dtype if isinstance(dtype, FunctionType) else _real(dtype)
        if mlir is not None and not re.fullmatch(r"\w*", mlir):
            raise ElementError(f"an element's MLIR type is one word, got {mlir!r}")
        self.mlir = name if mlir is None else mlir
        self.compute: np.dtype[Any] = self.dtype if compute is None else np.dtype(compute)
        self.differentiable = differentiable

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy storage of one element."""
        if isinstance(self._dtype, FunctionType):
            self._dtype = _real(self._dtype())
        stored: np.dtype[Any] = self._dtype
        return stored

    def gemm(self, task: GemmTask, exact: bool) -> Function | None:
        """Returns the kernel that plans compute a product of this element by.

        An element of the user's own overrides this hook, `map` and `batch_norm` to route its
        tasks onto kernels; `None` leaves a task to the backends and the oracle. Where `exact` is
        true a kernel must have the oracle's bits, and the oracle itself never asks.
        """
        return None

    def map(self, function: Formula, task: MapTask, exact: bool) -> Function | None:
        """Returns the kernel that plans apply `function` to arrays of this element by."""
        return None

    def batch_norm(self, task: BatchNormTask, exact: bool) -> Function | None:
        """Returns the kernel that plans normalize batches of this element by."""
        return None

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        # A built-in element must stay the same object across a pickle.
        if ELEMENTS.get(self.name) is self:
            return _named, (self.name,)
        state = {name: getattr(self, name) for name in Element.__slots__}
        # The function that returns a dtype need not cross, the dtype does.
        state["_dtype"] = self.dtype
        return _rebuilt, (type(self), state | getattr(self, "__dict__", {}))


class TensorType(NamedTuple):
    """The shape and the element of a value, written as `f32[64, 10]`."""

    shape: Shape
    element: Element

    def __str__(self) -> str:
        return f"{self.element.name}[{', '.join(map(str, self.shape))}]"


def _bfloat16() -> Any:
    # The extension takes a twentieth of numpy's own import, and most programs never need it.
    import ml_dtypes

    return ml_dtypes.bfloat16


f64: Final = Element("f64", np.float64)
f32: Final = Element("f32", np.float32)
f16: Final = Element("f16", np.float16, compute=np.float32)
bf16: Final = Element("bf16", _bfloat16, compute=np.float32)
i64: Final = Element("i64", np.int64, differentiable=False)
i32: Final = Element("i32", np.int32, differentiable=False)
bool_: Final = Element("bool", np.bool_, mlir="i1", differentiable=False)

ELEMENTS: Final[dict[str, Element]] = {
    element.name: element for element in (f64, f32, f16, bf16, i64, i32, bool_)
}
DIFFERENTIABLE: Final[tuple[Element, ...]] = (f64, f32, f16, bf16)


@cache
def _by_dtype() -> dict[np.dtype[Any], Element]:
    return {element.dtype: element for element in ELEMENTS.values()}


def element_of(dtype: Any) -> Element:
    """Returns the built-in element stored as numpy's `dtype`, or raises `ElementError`."""
    try:
        return _by_dtype()[np.dtype(dtype)]
    except (KeyError, TypeError):
        names = ", ".join(ELEMENTS)
        raise ElementError(f"no element is stored as {dtype}; there are {names}") from None


def has_maps(element: Element) -> bool:
    """Returns whether the oracle has maps for `element`: those of the format it is stored in."""
    if element in DIFFERENTIABLE:
        return True
    return element.differentiable and _by_dtype().get(element.dtype) in DIFFERENTIABLE


def _named(name: str) -> Element:
    return ELEMENTS[name]


def _rebuilt(kind: type[Element], state: dict[str, Any]) -> Element:
    element = kind.__new__(kind)
    for name, value in state.items():
        setattr(element, name, value)
    return element
