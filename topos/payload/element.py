"""Elements: the number formats that fill a tensor, and what each computes by."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from topos.errors import ElementError
from topos.payload.arithmetic import Arithmetic, lacking
from topos.payload.arithmetic import Function as Computation
from topos.payload.native import FLOATS, IEEE, INTEGERS, NATIVE, TRUTHS
from topos.payload.shape import Shape

if TYPE_CHECKING:
    from topos.backend import BatchNormTask, Formula, Function, GemmTask, MapTask


def _storage(dtype: Any) -> np.dtype[Any]:
    """Returns numpy's `dtype`: of real numbers, extensions such as float8 too, or a structure."""
    try:
        # numpy takes None for float64.
        if dtype is None:
            raise TypeError
        chosen: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise ElementError(f"an element is stored as a numpy dtype, got {dtype!r}") from None
    if not _is_real(chosen) and (chosen.names is None or chosen.hasobject):
        raise ElementError(
            "an element is stored as real numbers of whole bytes, or as a structure of such fields,"
            f" got {chosen}"
        )
    # Files and modules are written of bytes as they lie.
    if not chosen.isnative or not chosen.itemsize:
        needs = "one byte or more, in this machine's order"
        raise ElementError(f"an element is stored as {needs}, got {chosen!r}")
    return chosen


def _is_real(dtype: np.dtype[Any]) -> bool:
    # An extension's own kind says nothing; its name tells floats from integers of few bits.
    return dtype.kind in "fiub" or (dtype.kind == "V" and "float" in dtype.name)


def _natural(name: str, dtype: np.dtype[Any]) -> Arithmetic:
    """Returns the built-in arithmetic for numbers stored as `dtype`."""
    if dtype.names is not None:
        raise ElementError(f"{name} is stored as a structure: give it an arithmetic of its own")
    if dtype.kind in "iub":
        return TRUTHS if dtype.kind == "b" else INTEGERS
    return IEEE if dtype.name in ("float64", "float32", "float16", "bfloat16") else FLOATS


class Element:
    """A number format: its numpy storage, the arithmetic it computes by, and its spellings.

    `arithmetic` says which functions the element has; by default it is that of the built-in
    elements stored alike. `mlir` is its type in an emitted module: by default its name, and
    nothing where the arithmetic is the user's own. `compute` is the format that sums and products
    accumulate in before the one rounding back, the element's own dtype except for the 16-bit
    floats, which compute in float32. Two elements are equal where they are the same object.
    """

    __slots__ = ("_dtype", "arithmetic", "compute", "differentiable", "mlir", "name", "native")

    def __init__(
        self,
        name: str,
        dtype: Any,
        *,
        mlir: str | None = None,
        compute: Any = None,
        differentiable: bool = True,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        for what, text in (("name", name), ("MLIR type", mlir or "")):
            if not isinstance(text, str):
                raise ElementError(f"an element's {what} is a text, got {text!r}")
        self.name = name
        # A function returns the dtype of an extension that should load where it is first needed.
        self._dtype: Any = dtype if isinstance(dtype, FunctionType) else _storage(dtype)
        if arithmetic is None:
            arithmetic = _natural(name, self.dtype)
        elif not isinstance(arithmetic, Arithmetic):
            raise ElementError(f"{name} computes by an Arithmetic, got {arithmetic!r}")
        self.arithmetic = arithmetic
        # Whether the spec's own kernels compute it: only then do backends and patterns serve it.
        self.native = type(arithmetic) in NATIVE
        if mlir is not None and not re.fullmatch(r"\w*", mlir):
            raise ElementError(f"an element's MLIR type is one word, got {mlir!r}")
        if mlir and not _is_real(self.dtype):
            raise ElementError(
                f"{name} is stored as a structure and has no MLIR type, got {mlir!r}"
            )
        self.mlir = (name if self.native else "") if mlir is None else mlir
        self.compute: np.dtype[Any] = self.dtype if compute is None else _storage(compute)
        self.differentiable = differentiable

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy storage of one element."""
        if isinstance(self._dtype, FunctionType):
            self._dtype = _storage(self._dtype())
        stored: np.dtype[Any] = self._dtype
        return stored

    def demand(self, operation: str, function: str) -> None:
        """Raises `ElementError` where the element lacks the function that computes `operation`."""
        if function in self.arithmetic.functions:
            return
        if self.native:
            takers = next(told for kind, told in NATIVE.items() if function in kind.functions)
            raise ElementError(f"{operation} needs {takers}, got {self}")
        missing = " and ".join(lacking(self.arithmetic, function))
        raise ElementError(
            f"{self} has no {function}: define {missing} in {type(self.arithmetic).__name__}"
        )

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
        # One that stands in the module of its class or its arithmetic is found there, like a class.
        for kind in (type(self), type(self.arithmetic)):
            module = sys.modules.get(kind.__module__)
            for name, value in [*vars(module).items()] if module is not None else ():
                if value is self:
                    return _standing, (kind.__module__, name)
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
bf16: Final = Element("bf16", _bfloat16, compute=np.float32, arithmetic=IEEE)
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


def conversion(source: Element, target: Element) -> Computation:
    """Returns what converts arrays of `source` to `target`; raises `ElementError` without one."""
    if source is target:
        return np.copy
    found = _offered(target, source, target)
    if found is None and source.arithmetic is not target.arithmetic:
        found = _offered(source, source, target)
    if found is None:
        kinds = [type(each.arithmetic).__name__ for each in (target, source) if not each.native]
        raise ElementError(
            f"convert has no way from {source} to {target}: define conversion in"
            f" {' or '.join(dict.fromkeys(kinds))}"
        )
    return found


def _offered(one: Element, source: Element, target: Element) -> Computation | None:
    """Returns the conversion that the arithmetic of one of two elements has."""
    try:
        found = one.arithmetic.conversion(source, target)
    except ElementError:
        raise
    except Exception as error:
        told = f"conversion of {one} failed for {source} to {target}"
        raise ElementError(f"{told}: {type(error).__name__}: {error}") from error
    if found is not None and not callable(found):
        raise ElementError(f"conversion of {one} has to return a function or None, got {found!r}")
    return found


def _named(name: str) -> Element:
    return ELEMENTS[name]


def _standing(module: str, name: str) -> Element:
    element: Element = getattr(import_module(module), name)
    return element


def _rebuilt(kind: type[Element], state: dict[str, Any]) -> Element:
    element = kind.__new__(kind)
    for name, value in state.items():
        setattr(element, name, value)
    return element
