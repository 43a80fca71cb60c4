"""Every stated error bound holds with a margin."""

from __future__ import annotations

from typing import Any

import gmpy2
import numpy as np
import pytest

from tests.conformance import bounds, integers, margins
from topos.payload.kernels import maps


@pytest.mark.parametrize("bound", bounds.BOUNDS, ids=lambda bound: bound.kernel)
def test_an_enclosure_holds_the_exact_result_with_a_tenth_to_spare(bound: margins.Bound) -> None:
    assert margins.measured(bound, 3000, 1).used <= (0.0 if bound.claim == "exact" else 0.9)


@pytest.mark.parametrize("bound", bounds.APPROXIMATIONS, ids=lambda bound: bound.kernel)
def test_an_approximation_is_within_a_quarter_of_what_it_is_trusted_with(
    bound: margins.Bound,
) -> None:
    assert margins.measured(bound, 3000, 2).used <= 0.25


@pytest.mark.parametrize("units", integers.UNITS, ids=lambda units: units.kernel)
def test_an_integer_kernel_stays_within_its_units(units: integers.Units) -> None:
    assert integers.units_used(units, 300, 4) <= 1.0


def test_a_bound_that_is_too_small_is_found_out() -> None:
    def enclose(values: Any) -> margins.Enclosed:
        result = np.exp(values)
        return margins.Enclosed(result, np.zeros(1), result * 2.0**-60, np.zeros(1, np.int64))

    bold = margins.Bound("bold", "2**-60", margins.between(-1.0, 1.0), enclose, gmpy2.exp)
    found = margins.measured(bold, 100, 3)
    assert 2.0 < found.used < 2.0**8
    assert 2.0**-56 < found.relative < 2.0**-52


def test_a_reciprocal_root_is_never_left_open() -> None:
    values = np.random.default_rng(13).integers(1, 0x7FF << 52, 100_000).view(np.float64)
    low, high = maps.bracket_rsqrt(values)
    assert low.tobytes() == high.tobytes()
