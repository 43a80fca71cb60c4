"""One digest for what the interpreter computes of each module under Exact, as `name digest` lines.

Run as `python -m tests.conformance.interpreted FAMILY...`. A family is a function below: `gallery`
and `orders` are modules with drawn arguments, `elementwise` each elementwise operation over
moderate numbers and numbers of any bits, and `cases` the shared conformance cases, which are none
where their folder is absent. A module that is refused has the name of the error for its digest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.conformance.digest import digest_of, numbers, patterns, words
from tests.project.paths import ROOT
from tests.stablehlo.conformance import case_of, listed
from topos.errors import ToposError, VerifyError
from topos.runtimes import interpreter
from topos.stablehlo.dialect import with_trait
from topos.stablehlo.traits import Trait
from topos.stablehlo.types import ELEMENTS

__all__ = ["FAMILIES", "OpView"]

Array = npt.NDArray[Any]

# Of each kind of element; the others go the ways of these.
SWEPT: Final = (
    "f64", "f32", "f16", "bf16", "f8E4M3FN", "complex<f64>", "complex<f32>", "i32", "ui8", "i64",
)  # fmt: skip
MODERATE: Final = 300
ANY: Final = 150
# Operations whose sums have an order, of complex and of real numbers; f is the element.
ORDERED: Final = {
    "cholesky": (
        ("tensor<9x9xF>",),
        "%t = stablehlo.transpose %a, dims = [1, 0] : (tensor<9x9xF>) -> tensor<9x9xF>\n"
        "%p = stablehlo.dot_general %a, %t, contracting_dims = [1] x [0]"
        " : (tensor<9x9xF>, tensor<9x9xF>) -> tensor<9x9xF>\n"
        "%r = stablehlo.cholesky %p, lower = true : tensor<9x9xF>",
        "tensor<9x9xF>",
    ),
    "triangular_solve": (
        ("tensor<9x9xF>", "tensor<9x4xF>"),
        '%r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true,'
        " unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}>"
        " : (tensor<9x9xF>, tensor<9x4xF>) -> tensor<9x4xF>",
        "tensor<9x4xF>",
    ),
    "dot_general": (
        ("tensor<7x33xF>", "tensor<33x5xF>"),
        "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]"
        " : (tensor<7x33xF>, tensor<33x5xF>) -> tensor<7x5xF>",
        "tensor<7x5xF>",
    ),
    "reduce": (
        ("tensor<5x77xF>", "tensor<F>"),
        "%r = stablehlo.reduce(%a init: %b) applies stablehlo.multiply across dimensions = [1]"
        " : (tensor<5x77xF>, tensor<F>) -> tensor<5xF>",
        "tensor<5xF>",
    ),
    "geqrf": (
        ("tensor<9x6xF>",),
        "%r, %s = stablehlo.custom_call @lapack_Lgeqrf_ffi(%a) {mhlo.backend_config = {}}"
        " : (tensor<9x6xF>) -> (tensor<9x6xF>, tensor<6xF>)",
        "tensor<9x6xF>",
    ),
    "getrf": (
        ("tensor<9x9xF>",),
        "%r, %s, %t = stablehlo.custom_call @lapack_Lgetrf_ffi(%a) {mhlo.backend_config = {}}"
        " : (tensor<9x9xF>) -> (tensor<9x9xF>, tensor<9xi32>, tensor<i32>)",
        "tensor<9x9xF>",
    ),
}
TRANSFORMED: Final = (8, 15, 30, 49, 128)
LETTERS: Final = {"f32": "s", "f64": "d", "complex<f32>": "c", "complex<f64>": "z"}


class OpView(NamedTuple):
    """A module under the name of its digest, and its arguments, drawn where there are none."""

    name: str
    text: str
    arguments: list[Array] | None = None


def gallery() -> Iterator[OpView]:
    """Yields the modules of the gallery."""
    for path in sorted((ROOT / "tests/gallery").glob("*.mlir")):
        yield OpView(f"gallery/{path.stem}", path.read_text("utf-8"))


def cases() -> Iterator[OpView]:
    """Yields the shared conformance cases."""
    for name in (*listed("open.txt"), *listed("chlo_open.txt")):
        case = case_of(name)
        yield OpView(f"case/{name}", case.text, case.arguments)


def orders() -> Iterator[OpView]:
    """Yields operations that are sums of several terms."""
    for element, letter in LETTERS.items():
        for name, (operands, body, result) in ORDERED.items():
            text = _function(operands, body, result)
            yield OpView(
                f"{name}/{element}", text.replace("F>", f"{element}>").replace("_L", f"_{letter}")
            )
    for extent in TRANSFORMED:
        for element in ("complex<f32>", "complex<f64>"):
            type = f"tensor<3x{extent}x{element}>"
            body = f"%r = stablehlo.fft %a, type = FFT, length = [{extent}] : ({type}) -> {type}"
            yield OpView(f"fft/{extent}/{element}", _function((type,), body, type))
    for element in ("f32", "f64"):
        type = f"tensor<{element}>"
        body = (
            "%c = stablehlo.constant dense<64> : tensor<1xi64>\n"
            f"%r = stablehlo.rng %a, %b, %c, distribution = NORMAL : ({type}, {type},"
            f" tensor<1xi64>) -> tensor<64x{element}>"
        )
        yield OpView(f"rng/{element}", _function((type, type), body, f"tensor<64x{element}>"))


def elementwise() -> Iterator[OpView]:
    """Yields each elementwise operation of one operand and of two that verifies."""
    for name in with_trait(Trait.ELEMENTWISE):
        for element in SWEPT:
            for count in (1, 2):
                type = f"tensor<{MODERATE + ANY}x{element}>"
                names = ", ".join(("%a", "%b")[:count])
                body = f'%r = "{name}"({names}) : ({", ".join([type] * count)}) -> {type}'
                arguments = [swept(np.dtype(ELEMENTS[element]), place) for place in range(count)]
                text = _function((type,) * count, body, type)
                yield OpView(f"{name}/{count}/{element}", text, arguments)


def _function(operands: tuple[str, ...], body: str, result: str) -> str:
    taken = ", ".join(f"%{name}: {type}" for name, type in zip("abc", operands, strict=False))
    return f"func.func @main({taken}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"


def swept(dtype: np.dtype[Any], seed: int) -> Array:
    """Returns moderate numbers and numbers of any bits."""
    if dtype.kind == "c":
        return _joined(dtype, *(swept(_part(dtype), 2 * seed + each) for each in (20, 21)))
    if dtype.kind in "iu" or dtype.itemsize == 1:
        return patterns(dtype, MODERATE + ANY, seed + 20)
    few = numbers(dtype, (MODERATE,), seed + 20)
    return np.concatenate([few, patterns(dtype, ANY, seed + 30)])


def drawn(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> Array:
    """Returns numbers from -2 to 2, or zeros and ones for integers, made of integers alone."""
    if dtype.kind == "c":
        return _joined(dtype, *(drawn(_part(dtype), shape, seed + each) for each in (0, 1)))
    bits = words(int(np.prod(shape)), seed)
    if dtype.kind in "biu" or "int" in dtype.name:
        return (bits >> np.uint64(63)).astype(np.uint8).astype(dtype).reshape(shape)
    signed = (bits >> np.uint64(11)).astype(np.int64) - (1 << 52)
    return (signed.astype(np.float64) * 2.0**-51).astype(np.float32).astype(dtype).reshape(shape)


def _part(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"f{dtype.itemsize // 2}")


def _joined(dtype: np.dtype[Any], real: Array, imaginary: Array) -> Array:
    result = np.empty(real.shape, dtype)
    result.real, result.imag = real, imaginary
    return result


def digest(subject: OpView) -> str:
    """Returns the digest of a module's results, or the name of the error."""
    try:
        executable = interpreter.RUNTIME.compile(subject.text, numerics="exact")
        arguments = subject.arguments
        if arguments is None:
            arguments = [
                drawn(type.dtype, type.shape, 50 + 2 * place)
                for place, type in enumerate(executable.signature.arguments)
            ]
        return digest_of(executable(*arguments))[:16]
    except ToposError as error:
        return type(error).__name__


FAMILIES: Final[Mapping[str, Callable[[], Iterator[OpView]]]] = {
    "cases": cases,
    "elementwise": elementwise,
    "gallery": gallery,
    "orders": orders,
}


def main(arguments: list[str] | None = None) -> None:
    """Prints the digests of the families that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", metavar="FAMILY", nargs="+", choices=FAMILIES)
    for family in parser.parse_args(arguments).families:
        for subject in FAMILIES[family]():
            found = digest(subject)
            # Most elements have no such operation.
            if family != "elementwise" or found != VerifyError.__name__:
                sys.stdout.write(f"{subject.name} {found}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
