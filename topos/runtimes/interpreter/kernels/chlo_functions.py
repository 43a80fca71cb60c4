"""CHLO functions of one and two numbers, element by element, and operations with broadcasting.

The circular and hyperbolic functions of real numbers are correctly rounded. The others round once
from a wide number for float64, and compute in float64 and round once for shorter floats; complex
numbers compute as two float64 parts, which round once more for complex<f32>. Where speed is asked
for, the circular and hyperbolic functions of f64, f32 and complex numbers are numpy's, and the
error functions of f64 and f32 are polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from topos.payload.kernels import fast_error_functions, mapping
from topos.payload.kernels.canonical import canonical
from topos.payload.kernels.conversion import convert, promoted, rounded
from topos.payload.kernels.rounding import FORMATS
from topos.runtimes.interpreter.context import BuildContext, Builders, Constant, always, unchanged
from topos.runtimes.interpreter.kernels import builder_of
from topos.runtimes.interpreter.kernels.elementwise import asked, elementwise
from topos.runtimes.interpreter.kernels.layout import broadcast
from topos.runtimes.interpreter.program import Array, Kernel
from topos.runtimes.interpreter.special import complex_curves, curves, gamma, series
from topos.runtimes.interpreter.special.fields import PLAIN, ROUNDED, WIDE, Field
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import chlo_functions as dialect
from topos.stablehlo.dialect import find, of_family
from topos.stablehlo.dialect._alike import Elementwise
from topos.stablehlo.types import dtype_of, extents, width

Map = Callable[..., Array]

# So many elements at a time stay in the processor's caches.
_CHUNK: Final = 4096

# Each with its map of real numbers and its function of complex ones.
CURVES: Final[Mapping[type[Definition], tuple[mapping.Map, Map]]] = {
    dialect.Acos: (curves.ACOS, complex_curves.acos),
    dialect.Acosh: (curves.ACOSH, complex_curves.acosh),
    dialect.Asin: (curves.ASIN, complex_curves.asin),
    dialect.Asinh: (curves.ASINH, complex_curves.asinh),
    dialect.Atan: (curves.ATAN, complex_curves.atan),
    dialect.Atanh: (curves.ATANH, complex_curves.atanh),
    dialect.Cosh: (curves.COSH, complex_curves.cosh),
    dialect.Sinh: (curves.SINH, complex_curves.sinh),
    dialect.Tan: (curves.TAN, complex_curves.tan),
}

# Each with its exact kernel and its fast one.
_ERROR_FUNCTIONS: Final[Mapping[type[Definition], tuple[Map, Kernel]]] = {
    dialect.ErfInv: (gamma.erf_inv, fast_error_functions.erf_inv),
    dialect.Erfc: (gamma.erfc, fast_error_functions.erfc),
}

_SPECIAL: Final[Mapping[type[Definition], Map]] = {
    dialect.BesselI1e: series.bessel_i1e,
    dialect.Digamma: gamma.digamma,
    dialect.Lgamma: gamma.lgamma,
    dialect.Polygamma: series.polygamma,
    dialect.Zeta: series.zeta,
}


def _curve(context: BuildContext[Any]) -> Kernel:
    element = context.results[0].element
    curve, of_parts = CURVES[type(context.op)]
    if element.startswith("complex"):
        exact = partial(_mapped_parts, of_parts)
        return exact if context.exact else partial(_plain_parts, curve.approximate)
    if not context.exact and element in ("f64", "f32"):
        return partial(_plain, curve.approximate)
    exact = partial(mapping.mapped, curve)
    return exact if dtype_of(context.results[0]) in FORMATS else partial(_mapped, exact)


def _special(context: BuildContext[Any]) -> Kernel:
    element = context.results[0].element
    if element.startswith("complex"):
        context.unsupported(f"of elements of {element} is not supported")
    # In float64 the plain formulas are right to about thirteen digits.
    exact: Field = WIDE if element == "f64" else ROUNDED
    field = exact if context.exact else PLAIN
    return partial(_mapped, partial(_SPECIAL[type(context.op)], field))


def _error_function(context: BuildContext[Any]) -> Kernel:
    exact, quick = _ERROR_FUNCTIONS[type(context.op)]
    is_quick = not context.exact and context.results[0].element in ("f64", "f32")
    return quick if is_quick else partial(_mapped, exact)


def _plain(function: Map, array: Array) -> Array:
    return rounded(function(array), array.dtype)


def _plain_parts(function: Map, array: Array) -> Array:
    return _canonical_parts(np.asarray(function(array)))


def _mapped(function: Map, *arrays: Array) -> Array:
    """Returns what `function` makes of float64 chunks of one axis, rounded to the arrays' dtype."""
    # In the body of a reduction a constant is still a scalar where its partner is an array.
    first, *others = np.broadcast_arrays(*arrays)
    flat = [promoted(array).astype(np.float64).reshape(-1) for array in (first, *others)]
    return convert(canonical(_chunked(function, flat)), first.dtype).reshape(first.shape)


def _mapped_parts(function: Map, array: Array) -> Array:
    wide = _chunked(function, [array.astype(np.complex128).reshape(-1)])
    return _canonical_parts(wide.astype(array.dtype)).reshape(array.shape)


def _canonical_parts(array: Array) -> Array:
    flat = np.ascontiguousarray(array).reshape(-1)
    canonical(flat.view(f"f{array.dtype.itemsize // 2}"))
    return flat.reshape(array.shape)


def _chunked(function: Map, flat: list[Array]) -> Array:
    result = np.empty_like(flat[0])
    with np.errstate(all="ignore"):
        for start in range(0, result.size, _CHUNK):
            every = slice(start, start + _CHUNK)
            result[every] = function(*[array[every] for array in flat])
    return result


def _mulhi(context: BuildContext[Any]) -> Kernel:
    bits, dtype = width(context.results[0].element), dtype_of(context.results[0])
    return _high_word if bits == 64 else partial(_high_part, bits, dtype)


def _high_part(bits: int, dtype: np.dtype[Any], left: Array, right: Array) -> Array:
    unsigned = dtype.kind == "u" or dtype.name.startswith("uint")
    wide = np.dtype(np.uint64 if unsigned else np.int64)
    product = left.astype(wide) * right.astype(wide)
    return np.asarray(product >> wide.type(bits)).astype(dtype)


def _high_word(left: Array, right: Array) -> Array:
    """Returns the upper word of a product by products of half words (Knuth, TAOCP 4.3.1)."""
    half, mask = np.uint64(32), np.uint64(0xFFFF_FFFF)
    first, second = left.view(np.uint64), right.view(np.uint64)
    a, b = first >> half, first & mask
    c, d = second >> half, second & mask
    middle = a * d + ((b * d) >> half)
    carried = (middle & mask) + b * c
    high = np.asarray(a * c + (middle >> half) + (carried >> half))
    if left.dtype.kind == "i":
        # A negative word is less by 2**64 than the unsigned one of its bits.
        none = np.uint64(0)
        high = high - (np.where(left < 0, second, none) + np.where(right < 0, first, none))
    return np.asarray(high).view(left.dtype)


def _neighbour(array: Array, toward: Array) -> Array:
    # Of two zeros the result is the second one, which numpy does not promise.
    moved = np.where(array == toward, toward, np.nextafter(array, toward))
    return canonical(np.asarray(moved))


_PREFIX: Final = "chlo.broadcast_"


def _broadcasting(context: BuildContext[Any]) -> Kernel:
    target = extents(context.results[0])
    shapes = [extents(operand) for operand in context.operands]
    axes = [tuple(range(len(target) - len(shape), len(target))) for shape in shapes]
    if "broadcast_dimensions" in context.operation.attributes:
        # They place the operand of fewer axes; the other one has the result's.
        shorter = min(range(len(shapes)), key=lambda place: len(shapes[place]))
        axes[shorter] = context.op.broadcast_dimensions
    brought = [broadcast(shape, place, target) for shape, place in zip(shapes, axes, strict=True)]
    name = context.name.removeprefix(_PREFIX)
    plain = find(f"stablehlo.{name}") or find(f"chlo.{name}")
    builder = None if plain is None else builder_of(plain)
    assert plain, f"{context.name} is an operation with broadcasting"
    assert builder, f"{name} has a kernel"
    for operand in context.operands:
        if issubclass(plain, Elementwise) and operand.element not in plain.elements:
            context.unsupported(f"of elements of {operand.element} is not supported")
    operands = tuple([operand._replace(shape=target) for operand in context.operands])
    op = plain(context.operation, operands, context.results, (None,) * len(shapes))
    kernel = builder(BuildContext(op, (), 0, context.function, context.exact))
    assert not isinstance(kernel, Constant), f"{name} reads its operands"
    return partial(_brought, kernel, brought)


def _brought(kernel: Kernel, brought: Sequence[Kernel], *arrays: Array) -> Array:
    result: Array = kernel(*[bring(array) for bring, array in zip(brought, arrays, strict=True)])
    return result


BUILDERS: Final[Builders] = {
    **dict.fromkeys((dialect.Erf, dialect.Square), elementwise),
    **dict.fromkeys(CURVES, _curve),
    **dict.fromkeys(_ERROR_FUNCTIONS, _error_function),
    **dict.fromkeys(_SPECIAL, _special),
    dialect.AsinAcosKernel: always(partial(_mapped_parts, complex_curves.kernel)),
    dialect.Conj: lambda context: (
        np.conjugate if context.results[0].element.startswith("complex") else unchanged
    ),
    dialect.IsInf: always(partial(asked, np.isinf)),
    dialect.IsNegInf: always(partial(asked, np.isneginf)),
    dialect.IsPosInf: always(partial(asked, np.isposinf)),
    dialect.Mulhi: _mulhi,
    dialect.NextAfter: always(_neighbour),
    **dict.fromkeys(of_family("chlo_broadcast").values(), _broadcasting),
}
