"""Classes of inputs: what kinds of numbers an operation is run with for a certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from topos.judge.samples.formats import is_floating, limits_of
from topos.runtimes.interpreter.program import Array
from topos.stablehlo.ir import Parameter, Tensor
from topos.stablehlo.types import ELEMENTS

# The classes, in the order in which a certificate shows them.
CLASSES: Final[Mapping[str, str]] = {
    "positive": "magnitudes from 1/16 to 4",
    "signed": "the same with either sign; of integers, from -8 to 8",
    "near zero": "normal numbers below 1/16, of any exponent",
    "large": "numbers above 4, of any exponent",
    "subnormal": "numbers below the smallest normal one, beside ones around 1",
    "ties": "integers and halves from -8 to 8",
    "special": "infinities, NaN, zeros, the largest and the smallest normal numbers",
    "extremes": "the least and the greatest integers, and those around zero",
    "outside": "indices that point outside of the operand",
}
ONLY: Final = "any"
# Half of all numbers of the class `subnormal` are so; the others tell what one does to them.
SHARE: Final = 0.5
INDICES: Final = (-9, 9)
# Roles whose numbers are within a region where the operation is defined.
CONDITIONED: Final = frozenset({"spd", "triangle", "variance"})
# What adds or multiplies numbers gets such that no product of so many leaves the format's range.
FACTORS: Final = 4

Draw = Callable[[np.random.Generator, int, "np.dtype[np.generic]", int], Array]


def classes_of(arguments: Sequence[Parameter]) -> tuple[str, ...]:
    """Returns the classes of inputs that differ for these arguments, `ONLY` where none does."""
    found = set[str]()
    roles = {_role(each) for each in arguments}
    for each in arguments:
        dtype = _dtype(each)
        if each.name.startswith("%index"):
            found |= {"signed", "outside"}
        elif each.name.startswith("%key"):
            found.add("signed")
        elif is_floating(dtype):
            found |= {"positive", "signed", "near zero", "large", "subnormal", "ties", "special"}
        elif dtype != np.bool_:
            found |= {"signed", "extremes"}
        else:
            found.add("signed")
    if roles & CONDITIONED:
        found -= {"large", "subnormal", "special", "ties"}
    return tuple([each for each in CLASSES if each in found]) or (ONLY,)


def drawn(
    arguments: Sequence[Parameter],
    name: str,
    generator: np.random.Generator,
    *,
    is_elementwise: bool = False,
) -> list[Array]:
    """Returns arrays of the class `name` for the arguments, by what their names ask for.

    What is not elementwise may multiply and add, and gets no numbers near the range's ends.
    """
    factors = 1 if is_elementwise else FACTORS
    return [_drawn(each, name, generator, factors) for each in arguments]


def _role(parameter: Parameter) -> str:
    return parameter.name.lstrip("%").rstrip("0123456789")


def _dtype(parameter: Parameter) -> np.dtype[np.generic]:
    assert isinstance(parameter.type, Tensor)
    dtype: np.dtype[np.generic] = ELEMENTS[parameter.type.element]
    return dtype


def _drawn(parameter: Parameter, name: str, generator: np.random.Generator, factors: int) -> Array:
    assert isinstance(parameter.type, Tensor)
    dtype = _dtype(parameter)
    shape = tuple([each or 0 for each in parameter.type.shape])
    count = int(np.prod(shape))
    role = _role(parameter)
    if role == "index":
        return _indices(generator, count, name == "outside", dtype).reshape(shape)
    if role == "key":
        return generator.integers(0, 2**63, shape).astype(dtype)
    values = _of_class(generator, count, name, dtype, factors).reshape(shape)
    if role in ROLES and name != "special":
        with np.errstate(all="ignore"):
            values = np.asarray(ROLES[role](values, generator)).astype(dtype)
    if role == "ordered":
        values = np.where(values != values, np.zeros_like(values), values)
    return values


def _of_class(
    generator: np.random.Generator,
    count: int,
    name: str,
    dtype: np.dtype[np.generic],
    factors: int,
) -> Array:
    if dtype == np.bool_:
        return generator.integers(0, 2, count).astype(dtype)
    if not is_floating(dtype):
        return _integers(generator, count, name, dtype)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        # A complex operation multiplies and adds the parts.
        pair = [FLOATS[name](generator, count, part, FACTORS) for _ in range(2)]
        joined = np.empty(count, dtype)
        joined.real, joined.imag = pair
        return joined
    with np.errstate(all="ignore"):
        return FLOATS[name](generator, count, dtype, factors).astype(dtype)


def _integers(
    generator: np.random.Generator, count: int, name: str, dtype: np.dtype[np.generic]
) -> Array:
    least, most = _range(dtype)
    if name == "extremes":
        some = sorted({max(least, min(most, each)) for each in _edges(least, most)})
        return generator.choice(np.array(some, object), count).astype(dtype)
    return generator.integers(max(least, -8), min(most, 8) + 1, count).astype(dtype)


def _range(dtype: np.dtype[np.generic]) -> tuple[int, int]:
    bits = int("".join(filter(str.isdigit, dtype.name)))
    is_signed = not dtype.name.startswith("u")
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)


def _edges(least: int, most: int) -> list[int]:
    return [least, least + 1, -2, -1, 0, 1, 2, 3, most // 2 + 1, most - 1, most]


def _indices(
    generator: np.random.Generator, count: int, outside: bool, dtype: np.dtype[np.generic]
) -> Array:
    least, most = _range(dtype)
    if not outside:
        return generator.integers(0, 3, count).astype(dtype)
    low, high = INDICES
    near = generator.integers(max(low, least), min(high, most) + 1, count).astype(object)
    far = generator.choice(np.array([least, most, most // 2 + 1], object), count)
    return np.where(generator.random(count) < 1 / 3, far, near).astype(dtype)


def _signs(generator: np.random.Generator, count: int) -> Array:
    return generator.choice([-1.0, 1.0], count)


def _positive(
    generator: np.random.Generator, count: int, dtype: np.dtype[np.generic], factors: int
) -> Array:
    return generator.uniform(1 / 16, 4, count)


def _signed(
    generator: np.random.Generator, count: int, dtype: np.dtype[np.generic], factors: int
) -> Array:
    return _positive(generator, count, dtype, factors) * _signs(generator, count)


def _spread(generator: np.random.Generator, count: int, low: float, high: float) -> Array:
    """Returns numbers of either sign whose exponents are alike often, from `low` to `high`."""
    exponents = generator.uniform(np.log2(low), np.log2(max(low, high)), count)
    return np.asarray(np.exp2(exponents) * _signs(generator, count))


def _near_zero(
    generator: np.random.Generator, count: int, dtype: np.dtype[np.generic], factors: int
) -> Array:
    return _spread(generator, count, limits_of(dtype).normal ** (1 / factors), 1 / 16)


def _large(
    generator: np.random.Generator, count: int, dtype: np.dtype[np.generic], factors: int
) -> Array:
    return _spread(generator, count, 4, limits_of(dtype).largest ** (1 / factors))


def _subnormal(
    generator: np.random.Generator, count: int, dtype: np.dtype[np.generic], factors: int
) -> Array:
    limits = limits_of(dtype)
    steps = max(1, round(limits.normal / limits.least))
    whole = generator.integers(1, steps, count, endpoint=steps == 1)
    tiny = whole * limits.least * _signs(generator, count)
    chosen = generator.random(count) < SHARE
    return np.where(chosen, tiny, _signed(generator, count, dtype, factors))


def _ties(
    generator: np.random.Generator, count: int, dtype: np.dtype[np.generic], factors: int
) -> Array:
    return generator.integers(-16, 17, count) / 2


def _special(
    generator: np.random.Generator, count: int, dtype: np.dtype[np.generic], factors: int
) -> Array:
    limits = limits_of(dtype)
    ends = [limits.largest, limits.normal] if factors == 1 else []
    some = [np.inf, np.nan, 0.0, 1.0, 2.0, 0.5, *ends]
    return generator.choice(some, count) * _signs(generator, count)


FLOATS: Final[Mapping[str, Draw]] = {
    "positive": _positive,
    "signed": _signed,
    "near zero": _near_zero,
    "large": _large,
    "subnormal": _subnormal,
    "ties": _ties,
    "special": _special,
    # Where only indices or integers differ.
    "outside": _signed,
    "extremes": _signed,
}


def _definite(values: Array, generator: np.random.Generator) -> Array:
    """Returns matrices that are positive definite, of well conditioned ones."""
    size = values.shape[-1]
    wide = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    wide = wide / np.abs(wide).max(initial=1.0)
    product = wide @ np.conj(np.swapaxes(wide, -1, -2)) / size
    return np.asarray(product + np.eye(size))


def _triangle(values: Array, generator: np.random.Generator) -> Array:
    """Returns matrices whose diagonal outweighs the rest of either triangle."""
    size = values.shape[-1]
    wide = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    return np.asarray(wide / 8 * (1 - np.eye(size)) + np.eye(size) * (1 + np.abs(wide)))


def _order(values: Array, generator: np.random.Generator) -> Array:
    return generator.integers(1, 6, values.shape)


def _exponent(values: Array, generator: np.random.Generator) -> Array:
    return np.asarray(1.125 + np.abs(values.astype(np.float64)))


def _variance(values: Array, generator: np.random.Generator) -> Array:
    return np.asarray(np.abs(values.astype(np.float64)))


ROLES: Final[Mapping[str, Callable[[Array, np.random.Generator], Array]]] = {
    "spd": _definite,
    "triangle": _triangle,
    "order": _order,
    "exponent": _exponent,
    "variance": _variance,
}
