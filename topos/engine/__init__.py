"""The executor tier: entries, runs and plans."""

from topos.engine.entry import BoundEntry, Entry, forward
from topos.engine.numerics import Numerics
from topos.engine.plan import Plan
from topos.engine.run import Run
from topos.engine.signature import Port, Signature

__all__ = ["BoundEntry", "Entry", "Numerics", "Plan", "Port", "Run", "Signature", "forward"]
