"""Sine and cosine on IREE: its own drift off beyond some turns."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Final

import numpy as np

from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer
from topos.runtimes.iree.maps import INFINITY, NAN

# As many digits as the largest number of f32, 2**128, needs for 80 bits of its remainder.
PI: Final = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803"
)
# Quarter of a turn in pieces of 26 bits, so that their products with an integer are exact.
PIECES: Final = 3
# Taylor's, from the constant term up: in the square of the angle, of sin(z) / z and of cos(z).
SINE: Final = (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880)
COSINE: Final = (1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800)


def sine(write: Writer, x: Binding) -> Binding:
    """Returns the sine of f64 numbers that f32 holds."""
    return _turned(write, x, 0)


def cosine(write: Writer, x: Binding) -> Binding:
    """Returns the cosine of f64 numbers that f32 holds."""
    return _turned(write, x, 1)


def _turned(write: Writer, x: Binding, quarters: int) -> Binding:
    """Returns the sine of x and so many quarters of a turn.

    IREE's own drifts off beyond some turns. Here x loses its multiple of a quarter turn, and of
    the rest there is a Taylor polynomial, off by less than 2e-9. From 2**24 on x is an integer of
    24 bits times a power of two, of which a table has the remainder.
    """
    wide, words = x.type, write.bits(x, "i64")
    zero, one, two, fraction, last, bias, mask = (
        write.constant(each, words.type) for each in (0, 1, 2, 52, 104, 1046, 2047)
    )
    biased = write("and", write("shift_right_logical", words, fraction), mask)
    place = write("clamp", zero, write("subtract", biased, bias), last, to=words.type)
    high, low = (_looked(write, place, table) for table in _remainders())
    down = write("subtract", words, write("shift_left", place, fraction))
    integer = write.bits(down, "f64")
    z, rest = write("multiply", integer, high), write("multiply", integer, low)
    per_quarter = write.constant(2 / float(PI), wide)
    turns = write("round_nearest_even", write("multiply", z, per_quarter))
    for piece in _pieces(PI / 2, 26, PIECES):
        z = write("subtract", z, write("multiply", turns, write.constant(repr(piece), wide)))
    z = write("add", z, rest)
    square = write("multiply", z, z)
    sine = write("multiply", _polynomial(write, square, SINE), z)
    quarter = write("add", write.convert(turns, "i64"), write.constant(quarters, words.type))
    is_odd, is_back = (write.compare(write("and", quarter, bit), "NE", zero) for bit in (one, two))
    value = write.select(is_odd, _polynomial(write, square, COSINE), sine)
    found = write.select(is_back, write("negate", value), value)
    infinity, nan = (write.constant(each, wide) for each in (INFINITY, NAN))
    found = write.select(write.compare(write("abs", x), "LT", infinity), found, nan)
    # A sine keeps the sign of a zero.
    return found if quarters else write.select(write.compare(x, "EQ", write.zero(wide)), x, found)


def _pieces(value: Decimal, bits: int, count: int) -> list[float]:
    """Returns floats that add up to `value`, all but the last of so many bits."""
    found: list[float] = []
    with localcontext(prec=120):
        for _ in range(count - 1):
            mantissa, exponent = np.frexp(float(value))
            piece = float(np.ldexp(np.floor(np.ldexp(mantissa, bits)), int(exponent) - bits))
            found.append(piece)
            value -= Decimal(piece)
    return [*found, float(value)]


def _remainders() -> tuple[list[float], list[float]]:
    """Returns 2**e without its whole turns in two pieces, for e from 0 to 104."""
    with localcontext(prec=120):
        pairs = [_pieces(Decimal(2) ** each % (2 * PI), 29, 2) for each in range(105)]
    return [high for high, _ in pairs], [low for _, low in pairs]


def _polynomial(write: Writer, square: Binding, coefficients: tuple[float, ...]) -> Binding:
    """Returns a polynomial in `square`, its coefficients from the constant one up."""
    *rest, found = (write.constant(repr(each), square.type) for each in coefficients)
    for each in reversed(rest):
        found = write("add", write("multiply", found, square), each)
    return found


def _looked(write: Writer, places: Binding, values: list[float]) -> Binding:
    """Returns the elements of a table at places."""
    type = places.type
    return write(
        "gather",
        write.constant(repr(values), write.type([len(values)], "f64")),
        places,
        to=write.type(type.shape, "f64"),
        dimension_numbers="#stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], "
        f"index_vector_dim = {type.rank}>",
        slice_sizes=[1],
    )
