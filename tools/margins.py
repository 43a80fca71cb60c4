"""Measures every error bound that the docstrings of the kernels state, and prints a table.

The errors are measured against MPFR with hundreds of bits. A column says which share of the bound
the largest error took; more than all of it would be a wrong bound, and fails.
"""

from __future__ import annotations

import argparse
import math
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

if find_spec("gmpy2") is None:
    print("this command needs gmpy2: pip install 'topos-compiler[dev]'", file=sys.stderr)
    raise SystemExit(2)

# The checkout's root must be on the path first.
from tests.conformance import bounds, integers, margins  # noqa: E402


def row(bound: margins.Bound, margin: margins.Margin) -> str:
    """Returns the row of the table: the kernel, its claim, the share used, and the error."""
    error = f"2**{math.log2(margin.relative):.1f}" if 0.0 < margin.relative < math.inf else "0"
    return f"| {bound.kernel} | {bound.claim} | {margin.used:.2f} | {error} |"


def main() -> int:
    """Parses the command line, prints the table, and returns 1 where a bound does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40_000, help="arguments of a bound")
    parser.add_argument("--seed", type=int, default=0, help="of the arguments")
    chosen = parser.parse_args()
    print("| kernel | stated bound | share used | largest relative error |\n|---|---|---|---|")
    wrong = []
    for bound in (*bounds.BOUNDS, *bounds.APPROXIMATIONS):
        margin = margins.measured(bound, chosen.count, chosen.seed)
        print(row(bound, margin), flush=True)
        if margin.used >= 1.0:
            wrong.append(bound.kernel)
    for units in integers.UNITS:
        share = integers.units_used(units, chosen.count // 20, chosen.seed)
        print(f"| {units.kernel} | {units.promised:g} units | {share:.2g} | |", flush=True)
        if share > 1.0:
            wrong.append(units.kernel)
    print(*wrong, sep="\n", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
