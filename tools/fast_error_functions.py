"""Prints the coefficients of topos/payload/kernels/fast_error_functions.py, by 200-bit arithmetic.

usage: python tools/fast_error_functions.py [--check]

Each polynomial interpolates its function at Chebyshev's nodes, in the variable that runs from -1
to 1 over the interval; what it lacks is below its last coefficient. `--check` compares with the
file and fails where they differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import gmpy2

from topos.payload.kernels import fast_error_functions as present

BITS = 200
# The degrees leave less than a quarter of a unit in the last place of each format.
DEGREES = {
    "float32": {"NEAR": 6, "FAR": 6, "COMPLEMENT": 9, "CENTRAL": 10, "TAIL": 14},
    "float64": {"NEAR": 12, "FAR": 16, "COMPLEMENT": 19, "CENTRAL": 24, "TAIL": 28},
}


def near(square: Any) -> Any:
    """Returns erf(x) / x by x * x."""
    root = gmpy2.sqrt(square)
    return gmpy2.erf(root) / root


def far(ratio: Any) -> Any:
    """Returns erfc(x) e**(x * x) / t by t = k / (k + x)."""
    x = present.SCALE / ratio - present.SCALE
    return gmpy2.erfc(x) * gmpy2.exp(x * x) / ratio


def central(weight: Any) -> Any:
    """Returns erf_inv(x) / x by w = -ln(1 - x * x)."""
    x = gmpy2.sqrt(-gmpy2.expm1(-weight))
    rest = gmpy2.exp(-weight) / (1 + x)
    slope = 2 / gmpy2.sqrt(gmpy2.const_pi())
    found = gmpy2.sqrt(weight) * gmpy2.mpfr("0.9")
    # Halley's method on erfc(y) = 1 - x triples the digits of each step.
    for _ in range(12):
        lack = gmpy2.erfc(found) - rest
        found += lack / (slope * gmpy2.exp(-found * found) - found * lack)
    return found / x


def tail(root: Any) -> Any:
    """Returns erf_inv(x) / x by the square root of w."""
    return central(root * root)


def coefficients(function: Callable[[Any], Any], ends: Sequence[float], degree: int) -> list[Any]:
    """Returns the coefficients, from that of 1 on, of powers of s: the argument is mid + half s."""
    low, high = map(gmpy2.mpfr, ends)
    middle, half, count = (low + high) / 2, (high - low) / 2, degree + 1
    angles = [gmpy2.const_pi() * (2 * node + 1) / (2 * count) for node in range(count)]
    values = [function(middle + half * gmpy2.cos(angle)) for angle in angles]
    waves = [
        sum(value * gmpy2.cos(order * angle) for value, angle in zip(values, angles, strict=True))
        * (2 if order else 1)
        / count
        for order in range(count)
    ]
    return powers(waves)


def powers(waves: Sequence[Any]) -> list[Any]:
    """Returns a sum of Chebyshev polynomials as coefficients of powers: T' = 2 s T - T''."""
    before, last = [gmpy2.mpfr(1)], [gmpy2.mpfr(0), gmpy2.mpfr(1)]
    total = [gmpy2.mpfr(0)] * len(waves)
    for wave in waves:
        for power, coefficient in enumerate(before):
            total[power] += wave * coefficient
        doubled = [gmpy2.mpfr(0), *(2 * each for each in last)]
        padded = [*before, *[gmpy2.mpfr(0)] * (len(doubled) - len(before))]
        before, last = last, [new - old for new, old in zip(doubled, padded, strict=True)]
    return total


def tables() -> dict[str, dict[str, tuple[float, ...]]]:
    """Returns the coefficients of every polynomial by format and name."""
    functions = {"NEAR": near, "FAR": far, "COMPLEMENT": far, "CENTRAL": central, "TAIL": tail}
    with gmpy2.context(precision=BITS):
        return {
            dtype: {
                name: tuple(map(float, coefficients(functions[name], present.ENDS[name], degree)))
                for name, degree in degrees.items()
            }
            for dtype, degrees in DEGREES.items()
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the tables or compares them; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the file")
    chosen = parser.parse_args(arguments)
    found = tables()
    if chosen.check:
        same = found == {dtype: dict(each) for dtype, each in present.POLYNOMIALS.items()}
        print("the same coefficients" if same else "other coefficients", file=sys.stderr)
        return 0 if same else 1
    for dtype, polynomials in found.items():
        print(f"{dtype}:")
        for name, terms in polynomials.items():
            print(f'    "{name}": (', *(f"        {term!r}," for term in terms), "    ),", sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
