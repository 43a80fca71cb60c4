"""The executor tier: entries, runs and plans."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from topos.engine.description import Port, Signature
    from topos.engine.entry import BoundEntry, Entry, forward
    from topos.engine.numerics import Numerics
    from topos.engine.plan import Plan
    from topos.engine.run import Run

__all__ = ["BoundEntry", "Entry", "Numerics", "Plan", "Port", "Run", "Signature", "forward"]

_FILES: Final = {
    "BoundEntry": "entry",
    "Entry": "entry",
    "Numerics": "numerics",
    "Plan": "plan",
    "Port": "description",
    "Run": "run",
    "Signature": "description",
    "forward": "entry",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # A text that is run needs the numerics alone, and no plan.
    if name not in _FILES:
        raise AttributeError(f"{__name__} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_FILES[name]}"), name)
