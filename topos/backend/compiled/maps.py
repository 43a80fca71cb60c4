"""The quick phase of float64 exp, ln and tanh as scalar loops, with the tables of the kernels.

Each encloses the exact result as the kernel of the same name does, writes the result where both
ends round to one number, and marks every other lane open, those outside its range included. The
enclosures and their error bounds are derived in `topos.payload.kernels.exponential`,
`logarithm` and `expansion`.
"""

from __future__ import annotations

import numba
import numpy as np

from topos.backend.compiled import OPTIONS

CHUNK = 2048
# Adding this number rounds to an integer.
ANCHOR = 1.5 * 2.0**52
# Veltkamp's constant: the first half of a product by it has 26 bits.
SPLIT = 134217729.0
EXPONENTIAL_ERROR = 2.0**-64


@numba.njit(**OPTIONS)
def quick_exp(values, head, tail, step, rate, powers, result, open_lanes):
    """Writes e**x; lanes beyond 700 in magnitude, and NaNs, stay open."""
    first, second, third = step
    for lane in range(values.size):
        inside = abs(values[lane]) <= 700.0
        value = values[lane] if inside else 0.0
        count = (value * rate + ANCHOR) - ANCHOR
        number = np.int64(count)
        upper, lower = value - count * first, -(count * second)
        near = upper + lower
        rest = near - upper
        slack = ((upper - (near - rest)) + (lower - rest)) - count * third
        square = near * near
        series = square * (0.5 + near * (1 / 6 + near * (1 / 24 + near * (1 / 120))))
        front = head[number & 4095]
        back = front * (near + (series + slack)) + tail[number & 4095]
        error = front * EXPONENTIAL_ERROR
        low, high = front + (back - error), front + (back + error)
        result[lane] = low * powers[(number >> 12) + 1074]
        open_lanes[lane] = (low != high) | (not inside)


@numba.njit(**OPTIONS)
def quick_ln(values, bits, reciprocal, head, tail, turn, two, result, open_lanes):
    """Writes ln x; lanes that are not positive, normal and finite stay open."""
    whole, front = np.empty(CHUNK), np.empty(CHUNK)
    whole_bits, front_bits = whole.view(np.int64), front.view(np.int64)
    for start in range(0, values.size, CHUNK):
        count = min(CHUNK, values.size - start)
        for place in range(count):
            fraction = (bits[start + place] & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000
            whole_bits[place] = fraction
            front_bits[place] = fraction & -0x4000000
        for place in range(count):
            lane = start + place
            inside = (values[lane] >= 2.3e-308) & (values[lane] <= 1.7e308)
            pattern = bits[lane] if inside else 0x3FF0000000000000
            exponent = float(((pattern + ((2048 - turn) << 41)) >> 52) - 1023)
            index = (pattern >> 41) & 2047
            near = (front[place] * reciprocal[index] - 1.0) + (
                (whole[place] - front[place]) * reciprocal[index]
            )
            square = near * near
            series = near * (1 / 3 - near * (0.25 - near * (0.2 - near * (1 / 6))))
            large = exponent * two[0] + head[index]
            total = large + near
            rest = square * (series - 0.5)
            rest += (exponent * two[1] + tail[index]) + (near - (total - large))
            error = square * 2.0**-51 + abs(total) * 2.0**-68
            low, high = total + (rest - error), total + (rest + error)
            result[lane] = low
            open_lanes[lane] = (low != high) | (not inside)


@numba.njit(**OPTIONS)
def quick_tanh(
    values, coefficients, slope_head, slope_tail, value_tail, last, rate, result, open_lanes
):
    """Writes tanh x; lanes below 2**-28 in magnitude, and NaNs, stay open."""
    degree = coefficients.shape[0] - 1
    for lane in range(values.size):
        value = abs(values[lane])
        inside = value >= 2.0**-28
        value = min(value, last) if inside else 1.0
        nearest = (value * rate + ANCHOR) - ANCHOR
        step = value - nearest * (1.0 / rate)
        column = np.int64(nearest)
        total = coefficients[degree, column]
        for power in range(degree - 1, 1, -1):
            total = total * step + coefficients[power, column]
        square = step * step
        total = total * square
        scaled = step * SPLIT
        front = scaled - (scaled - step)
        slope = slope_head[column]
        total = total + (slope * (step - front) + slope_tail[column] * step)
        total = total + value_tail[column]
        start = coefficients[0, column]
        product = slope * front
        large = start + product
        total = total + (product - (large - start))
        error = large * (square * 2.0**-49 + 2.0**-68)
        low, high = large + (total - error), large + (total + error)
        result[lane] = -low if values[lane] < 0.0 else low
        open_lanes[lane] = (low != high) | (not inside)
