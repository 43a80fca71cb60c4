"""Tallies: who served what, while a region runs."""

from __future__ import annotations

import contextvars
import threading

import pytest

from topos.backend import Backend, Formula, Precision, Service, Tally, count, summed

PRODUCT = Service(Formula.GEMM, Precision.F32, Backend.SIMD)
MAP = Service(Formula.EXP, Precision.F64, None)


def test_rows_add_up_in_the_order_of_formulas() -> None:
    with Backend.tallied() as tally:
        count([MAP, PRODUCT])
        count([PRODUCT._replace(times=3)])
    assert list(tally) == [PRODUCT._replace(times=4), MAP]
    assert [str(row) for row in tally] == ["gemm f32 simd 4", "exp f64 reference 1"]


def test_nothing_is_counted_outside() -> None:
    count([PRODUCT])
    with Backend.tallied() as tally:
        pass
    count([PRODUCT])
    assert tally.rows() == ()


def test_tallies_nest() -> None:
    with Backend.tallied() as outer:
        count([PRODUCT])
        with Backend.tallied() as inner:
            count([MAP])
        count([PRODUCT])
    assert inner.rows() == (MAP,)
    assert outer.rows() == (PRODUCT._replace(times=2), MAP)


def test_a_region_that_raises_ends() -> None:
    found: list[Tally] = []
    with pytest.raises(ZeroDivisionError):
        _failing_region(found)
    count([PRODUCT])
    assert [tally.rows() for tally in found] == [(PRODUCT,)]


def _failing_region(found: list[Tally]) -> None:
    with Backend.tallied() as tally:
        found.append(tally)
        count([PRODUCT])
        raise ZeroDivisionError


def test_another_thread_counts_for_itself() -> None:
    found: list[Tally] = []

    def work() -> None:
        count([PRODUCT])
        with Backend.tallied() as tally:
            count([MAP])
        found.append(tally)

    with Backend.tallied() as ours:
        run(work)
        assert ours.rows() == ()
        context = contextvars.copy_context()
        run(lambda: context.run(work))
    assert [tally.rows() for tally in found] == [(MAP,), (MAP,)]
    assert ours.rows() == (PRODUCT, MAP), "a copied context counts here too"


def run(work: object) -> None:
    assert callable(work)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_equal_rows_are_summed() -> None:
    assert summed([PRODUCT, MAP, PRODUCT]) == (PRODUCT._replace(times=2), MAP)
