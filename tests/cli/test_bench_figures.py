"""How `topos bench` spells durations, rates and sizes."""

from __future__ import annotations

import pytest

from topos.cli._figures import digits, duration, rate, size, unit_of


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (None, "-"),
        (0.0, "0 µs"),
        (4.5e-7, "0.45 µs"),
        (1.234e-6, "1.23 µs"),
        (0.00123456, "1.23 ms"),
        (0.0999, "99.9 ms"),
        (1.0, "1.00 s"),
        (123.4, "123 s"),
        (4321.0, "4,321 s"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(seconds: float | None, told: str) -> None:
    assert duration(seconds) == told


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (None, "-"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1536 * 1024, "1.50 MiB"),
        (90 * 2**20, "90.0 MiB"),
        (3 * 2**40, "3,072 GiB"),
    ],
)
def test_a_size_is_in_powers_of_two(number: float | None, told: str) -> None:
    assert size(number) == told


def test_digits_before_the_point_are_all_there() -> None:
    assert [digits(number) for number in (0.5558, 1.5, 15.25, 1800.4, 1234567.8)] == [
        *("0.556", "1.50", "15.2", "1,800", "1,234,568")
    ]
    assert (rate(None), rate(12.0)) == ("-", "12.0")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.0, ("µs", 1e6)), (9.9e-4, ("µs", 1e6)), (0.001, ("ms", 1e3)), (60.0, ("s", 1.0))],
)
def test_the_axis_of_a_picture_has_the_unit_of_what_it_shows(
    seconds: float, told: tuple[str, float]
) -> None:
    assert unit_of(seconds) == told
