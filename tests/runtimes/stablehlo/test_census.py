"""The census: its tables name operations that there are."""

from __future__ import annotations

from topos.stablehlo import cost as census
from topos.stablehlo.rules import RULES


def test_every_operation_that_a_table_names_is_one() -> None:
    tables = (census.MOVES, census.PRODUCTS, census.CONVOLUTIONS, census.PER_ELEMENT)
    assert set().union(*tables) <= set(RULES)
