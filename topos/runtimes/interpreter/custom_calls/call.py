"""The custom call: what a kernel is told of it, what it must be called with, which kernel runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, NamedTuple, overload

import numpy as np

from topos.errors import ArgumentError, ExecutionError
from topos.payload.kernels.canonical import Array
from topos.runtimes._signature import ArrayType

# A function of the module over scalars, applied to every element of arrays of one shape.
Called = Callable[..., Sequence[Array]]


@dataclass(frozen=True, slots=True)
class CustomCall:
    """A `stablehlo.custom_call` as its text states it.

    `attributes` holds all attributes by name: numbers, truth values, strings, tuples, mappings,
    and arrays for dense constants. `configuration` is the backend's part of them where that is a
    mapping, and is empty otherwise. `results` are the shapes and dtypes that the kernel's arrays
    must have. A layout lists the axes of a value from the fastest to the slowest, and is `None`
    where the text leaves it out; the arrays themselves are always in the order of the axes.
    `called` are the functions that the call names.
    """

    target: str
    attributes: Mapping[str, Any]
    configuration: Mapping[str, Any]
    operand_layouts: tuple[tuple[int, ...] | None, ...]
    result_layouts: tuple[tuple[int, ...] | None, ...]
    results: tuple[ArrayType, ...]
    called: tuple[Called, ...]
    exact: bool


def failure(call: CustomCall, reason: str) -> ExecutionError:
    """Returns the error of a run that tells the target and `reason`."""
    return ExecutionError(f"custom_call @{call.target} {reason}")


# A kernel takes the call and one array an operand, and returns one array a result: the array
# itself where there is one result, a sequence of arrays otherwise. It must not write its operands.
CustomKernel = Callable[..., Any]

# Takes a call and the types of its operands; returns what the target needs and did not get.
Check = Callable[[CustomCall, Sequence[ArrayType]], str]
# Each option with the letters that it may have, or with its type.
Options = Mapping[str, str | type]

_INTEGER: Final = np.dtype(np.int32)


class Target(NamedTuple):
    """What is shipped for a target: its kernel, and the check of each call of it."""

    kernel: CustomKernel
    check: Check


@dataclass(frozen=True, slots=True)
class Form:
    """The types of a call of matrices and vectors, each value a word such as `Tmn`.

    The first letter is its element: `T` is `dtype`, `R` and `C` its real and its complex one, `I`
    is i32. Each other letter names an axis after those of the batch, and has one extent all over;
    `k` is the lesser of m and n, and `j` one less than n.
    """

    dtype: np.dtype[Any]
    operands: tuple[str, ...]
    results: tuple[str, ...]
    options: Options

    def __call__(self, call: CustomCall, operands: Sequence[ArrayType]) -> str:
        """Returns what the call lacks; nothing where it has this form."""
        found = _count_complaint("operands", self.operands, operands)
        found = found or _count_complaint("results", self.results, call.results)
        found = found or options_complaint(call.configuration, self.options)
        return found or self._types_complaint(operands, call.results)

    def _types_complaint(self, operands: Sequence[ArrayType], results: Sequence[ArrayType]) -> str:
        lead = operands[0].shape
        batch = lead[: max(0, len(lead) - len(self.operands[0]) + 1)]
        extents: dict[str, int] = {}
        for what, words, types in (
            ("operand", self.operands, operands),
            ("result", self.results, results),
        ):
            for place, (word, type) in enumerate(zip(words, types, strict=True)):
                rest = type.shape[len(batch) :]
                if len(rest) == len(word) - 1:
                    _learn(extents, word[1:], rest)
                needed = (*batch, *(extents.get(letter, letter) for letter in word[1:]))
                dtype = self.element(word[0])
                if needed != type.shape or dtype != type.dtype:
                    shown = ",".join(map(str, needed))
                    return f"needs {dtype.name}[{shown}] as {what} {place}, got {type}"
        return ""

    def element(self, letter: str) -> np.dtype[Any]:
        """Returns the dtype that the first letter of a word stands for."""
        size = self.dtype.itemsize // (2 if self.dtype.kind == "c" else 1)
        elements = {"T": self.dtype, "R": np.dtype(f"f{size}"), "C": np.dtype(f"c{2 * size}")}
        return elements.get(letter, _INTEGER)


def _learn(extents: dict[str, int], letters: str, shape: Sequence[int]) -> None:
    for letter, extent in zip(letters, shape, strict=True):
        extents.setdefault(letter, extent)
    if "n" in extents:
        extents.setdefault("k", min(extents.get("m", extents["n"]), extents["n"]))
        extents.setdefault("j", max(extents["n"] - 1, 0))


def _count_complaint(what: str, words: Sequence[str], types: Sequence[ArrayType]) -> str:
    return "" if len(words) == len(types) else f"needs {len(words)} {what}, got {len(types)}"


def options_complaint(configuration: Mapping[str, Any], options: Options) -> str:
    """Returns which of `options` a configuration lacks or has of another kind, if any."""
    for key, allowed in options.items():
        value = configuration.get(key)
        if isinstance(allowed, str):
            if type(value) is not int or value not in map(ord, allowed):
                letters = " or ".join(f"{ord(letter)} ({letter})" for letter in allowed)
                return f"needs {letters} as {key} of its backend_config, got {value}"
        elif type(value) is not allowed:
            kind = {bool: "a truth value", int: "an integer"}[allowed]
            return f"needs {kind} as {key} of its backend_config, got {value}"
    return ""


# The kernels that a program adds to its own process. A module compiled before keeps its own.
_REGISTERED: Final[dict[str, CustomKernel]] = {}


@cache
def _shipped() -> Mapping[str, Target]:
    """Returns the targets of this package: those of the files of this folder that have a table.

    They are loaded by the first custom call.
    """
    modules = [each.name for each in iter_modules([str(Path(__file__).parent)])]
    families = [import_module(f"{__package__}.{name}") for name in modules]
    return {
        name: target
        for family in families
        for name, target in getattr(family, "TARGETS", {}).items()
    }


@overload
def register_custom_call(
    target: str, kernel: None = None, *, replace: bool = False
) -> Callable[[CustomKernel], CustomKernel]: ...


@overload
def register_custom_call(
    target: str, kernel: CustomKernel, *, replace: bool = False
) -> CustomKernel: ...


def register_custom_call(
    target: str, kernel: CustomKernel | None = None, *, replace: bool = False
) -> CustomKernel | Callable[[CustomKernel], CustomKernel]:
    """Registers the kernel of a custom call's target, for modules that are compiled from then on.

    The kernel is called with a `CustomCall`, then with one array an operand, which it must not
    write. It returns the array of the one result, or a sequence of one array a result, of the
    shapes and dtypes that the text states. Returns the kernel; without one, returns a decorator.
    Raises `ArgumentError` for a target that has a kernel already, unless it is to be replaced.
    """
    if kernel is None:
        return lambda decorated: register_custom_call(target, decorated, replace=replace)
    if not isinstance(target, str) or not target or not callable(kernel):
        raise ArgumentError(
            f"register_custom_call needs a target and a function, got {target!r} and {kernel!r}"
        )
    if not replace and (target in _shipped() or target in _REGISTERED):
        raise ArgumentError(
            f"custom_call @{target} has a kernel already, and replace=True was not given"
        )
    _REGISTERED[target] = kernel
    return kernel


def kernel_of(target: str) -> CustomKernel | None:
    """Returns the kernel that runs for `target`, the program's own before the shipped one."""
    if target in _REGISTERED:
        return _REGISTERED[target]
    return _shipped()[target].kernel if target in _shipped() else None


def check_of(target: str) -> Check | None:
    """Returns the check of each call of `target`, if what runs for it is of this package."""
    return _shipped()[target].check if is_shipped(target) else None


def is_shipped(target: str) -> bool:
    """Returns whether the kernel that runs for `target` is of this package."""
    return target in _shipped() and target not in _REGISTERED
