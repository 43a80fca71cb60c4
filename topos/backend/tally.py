"""Tallies: which backend served what, counted while a region runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from topos.backend.formula import Formula, Precision

if TYPE_CHECKING:
    from topos.backend.backend import Backend


class Service(NamedTuple):
    """How often `backend` served a formula; `None` is the oracle's kernel or the element's own."""

    formula: Formula
    precision: Precision | None
    backend: Backend | None
    times: int = 1

    def __str__(self) -> str:
        precision = "-" if self.precision is None else self.precision.value
        backend = "reference" if self.backend is None else self.backend.value
        return f"{self.formula.value} {precision} {backend} {self.times}"


class Tally:
    """The services of a region, summed; iterating answers one `Service` a row.

    Rows stand in the order of formulas, then of precisions, the first server of each first.
    """

    def __init__(self) -> None:
        self._counts: Counter[Service] = Counter()
        self._lock = Lock()

    def add(self, services: Iterable[Service]) -> None:
        """Adds rows; a negative number takes back what was added."""
        with self._lock:
            for service in services:
                self._counts[service._replace(times=0)] += service.times

    def rows(self) -> tuple[Service, ...]:
        """Returns the rows so far."""
        with self._lock:
            found = [(key, number) for key, number in self._counts.items() if number > 0]
        formulas, precisions = list(Formula), [*Precision, None]
        found.sort(key=lambda row: (formulas.index(row[0][0]), precisions.index(row[0][1])))
        return tuple(key._replace(times=number) for key, number in found)

    def __iter__(self) -> Iterator[Service]:
        return iter(self.rows())


_ACTIVE: Final[ContextVar[tuple[Tally, ...]]] = ContextVar("topos.tallies", default=())


@contextmanager
def tallied() -> Iterator[Tally]:
    """Counts what the runs of this context do inside the block.

    Blocks nest, and each counts what runs inside it. Another thread has a context of its own.
    """
    tally = Tally()
    token = _ACTIVE.set((*_ACTIVE.get(), tally))
    try:
        yield tally
    finally:
        _ACTIVE.reset(token)


def is_counting() -> bool:
    """Returns whether a tally of this context is open."""
    return bool(_ACTIVE.get())


def count(services: Iterable[Service]) -> None:
    """Adds `services` to every tally of this context; whoever calls a kernel says so here."""
    for tally in _ACTIVE.get():
        tally.add(services)


def summed(services: Iterable[Service]) -> tuple[Service, ...]:
    """Returns `services` with equal rows added up."""
    tally = Tally()
    tally.add(services)
    return tally.rows()
