"""One digest for what the interpreter computes of each module under Exact, as `name digest` lines.

The modules are those of the gallery with drawn arguments, and each elementwise operation over
moderate numbers and numbers of any bits. Run as `python -m tests.conformance.interpreted`; with
`--cases` it adds the shared conformance cases, where those are present.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.conformance.digest import digest_of, patterns, words
from tests.project.paths import ROOT
from topos.errors import ToposError
from topos.runtimes import interpreter
from topos.runtimes._stablehlo.operations import ELEMENTWISE
from topos.runtimes._stablehlo.types import ELEMENTS

__all__ = ["Subject", "digests", "elementwise", "gallery"]

Array = npt.NDArray[Any]
Arguments = Iterator[Array]

ELEMENTS_SWEPT: Final = (
    "f64",
    "f32",
    "f16",
    "bf16",
    "f8E4M3FN",
    "complex<f64>",
    "complex<f32>",
    "i32",
    "ui8",
    "i64",
)
COUNT: Final = 300


class Subject(NamedTuple):
    """A module and its arguments, under the name that its digest is given."""

    name: str
    text: str
    arguments: list[Array] | None


def drawn(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> Array:
    """Returns moderate numbers, zeros and ones for integers, made of integers alone."""
    count = int(np.prod(shape))
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        result = np.empty(shape, dtype)
        result.real, result.imag = drawn(part, shape, seed), drawn(part, shape, seed + 1)
        return result
    bits = words(count, seed)
    if dtype.kind in "biu" or "int" in dtype.name:
        return (bits >> np.uint64(63)).astype(np.uint8).astype(dtype).reshape(shape)
    signed = (bits >> np.uint64(11)).astype(np.int64) - (1 << 52)
    return (signed.astype(np.float64) * 2.0**-51).astype(np.float32).astype(dtype).reshape(shape)


def gallery() -> Iterator[Subject]:
    """Yields the modules of the gallery; their arguments are drawn."""
    for path in sorted((ROOT / "tests/gallery").glob("*.mlir")):
        yield Subject(f"gallery/{path.stem}", path.read_text("utf-8"), None)


def elementwise() -> Iterator[Subject]:
    """Yields each elementwise operation of one operand and of two, for each of many elements."""
    for name in sorted(ELEMENTWISE):
        for element in ELEMENTS_SWEPT:
            for count in (1, 2):
                type = f"tensor<{COUNT + COUNT // 2}x{element}>"
                values = [f"%{place}" for place in range(count)]
                taken = ", ".join(f"{value}: {type}" for value in values)
                text = (
                    f"func.func @main({taken}) -> {type} {{\n"
                    f'  %r = "{name}"({", ".join(values)}) : ({", ".join([type] * count)}) -> {type}\n'
                    f"  return %r : {type}\n}}"
                )
                arguments = [swept(np.dtype(ELEMENTS[element]), place) for place in range(count)]
                yield Subject(f"{name}/{count}/{element}", text, arguments)


def swept(dtype: np.dtype[Any], seed: int) -> Array:
    """Returns moderate numbers and numbers of any bits."""
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        result = np.empty(COUNT + COUNT // 2, dtype)
        result.real, result.imag = swept(part, 2 * seed + 40), swept(part, 2 * seed + 41)
        return result
    if dtype.kind in "iu":
        return patterns(dtype, COUNT + COUNT // 2, seed + 20)
    if dtype.itemsize == 1:
        return patterns(dtype, COUNT + COUNT // 2, seed + 20)
    from tests.conformance.digest import numbers

    return np.concatenate(
        [numbers(dtype, (COUNT,), seed + 20), patterns(dtype, COUNT // 2, seed + 30)]
    )


def cases() -> Iterator[Subject]:
    """Yields the shared conformance cases."""
    from tests.runtimes.stablehlo.conformance import case_of, listed

    for name in (*listed("open.txt"), *listed("chlo_open.txt")):
        case = case_of(name)
        yield Subject(f"case/{name}", case.text, case.arguments)


def digest(subject: Subject) -> str:
    try:
        executable = interpreter.RUNTIME.compile(subject.text, numerics="exact")
        arguments = subject.arguments
        if arguments is None:
            arguments = [
                drawn(type.dtype, type.shape, 50 + 2 * place)
                for place, type in enumerate(executable.signature.arguments)
            ]
        with np.errstate(all="ignore"):
            results = executable(*arguments)
    except ToposError as error:
        return type(error).__name__
    return digest_of(results)[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", action="store_true")
    chosen = parser.parse_args()
    for family in (gallery, elementwise, *((cases,) if chosen.cases else ())):
        for subject in family():
            found = digest(subject)
            if found != "VerifyError":
                print(subject.name, found, flush=True)


if __name__ == "__main__":
    main()
