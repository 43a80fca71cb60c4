"""The census: its tables name operations that there are."""

from __future__ import annotations

from topos.runtimes._stablehlo import census
from topos.runtimes._stablehlo.rules import RULES


def test_every_operation_that_a_table_names_is_one() -> None:
    tables = (census.MOVES, census.PRODUCTS, census.CONVOLUTIONS, census.PER_ELEMENT)
    assert set().union(*tables) <= set(RULES)
