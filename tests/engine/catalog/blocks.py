"""Plans whose elementwise operations run in blocks, of arrays as small as a test likes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from topos import Network, Numerics, Plan, Value
from topos.engine.catalog import elementwise
from topos.engine.catalog.kernels import elementwise as kernel

__all__ = ["blocks_of", "lowered"]


@contextmanager
def blocks_of(block: int = 1 << 12, least: int = 1) -> Iterator[None]:
    """Lets arrays of `least` bytes match, in blocks of as few bytes as given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elementwise, "_LEAST_BYTES", least)
        patch.setattr(elementwise, "_LEAST_ELEMENTS", 1)
        patch.setattr(kernel, "_BYTES", block)
        yield


def lowered(
    network: Network, *roots: Value, numerics: Numerics = Numerics.FAST, backward: bool = False
) -> Plan:
    """Returns the plan of `roots`, its schedule made."""
    symbols = [root.symbol for root in roots]
    plan = network.entry(symbols, numerics=numerics, backward=backward).lower()
    plan.schedule()
    return plan
