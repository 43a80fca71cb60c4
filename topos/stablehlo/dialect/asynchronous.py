"""Collectives and slices that are started, and awaited later."""

from __future__ import annotations

import re

from topos.stablehlo.definition import Definition, define
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import OtherType, Type
from topos.stablehlo.rounding import EXACT, Within
from topos.stablehlo.shapes import shown
from topos.stablehlo.traits import Trait


@define("stablehlo.async_start")
class AsyncStart(Definition):
    """What the one operation of the region will have computed of the operands."""

    rounding = Within()
    operand_order = "those of the operation that is started"
    region_order = ("started operation: takes the operands; returns its results",)

    def infer(self) -> tuple[Type, ...]:
        regions = self.operation.regions
        if len(regions) != 1 or len(regions[0].blocks) != 1:
            self.refuse(f"needs 1 region, got {len(regions)}")
        operations = regions[0].blocks[0].operations
        if len(operations) != 2:
            self.refuse(f"needs a region of one operation and a return, got {len(operations)}")
        started = find(operations[0].name)
        if started is None or Trait.ASYNCHRONOUS not in started.traits:
            got = operations[0].name
            self.refuse(f"needs a collective or a slice in its region, got {got}")
        (body,) = self.bodies
        if body.operands != self.operands:
            takes, found = shown(self.operands), shown(body.operands)
            self.refuse(f"needs a region that takes {takes}, got {found}")
        return (OtherType(f"!stablehlo.future<{', '.join(map(str, body.results))}>"),)

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        return (self.operands,)


@define("stablehlo.async_done")
class AsyncDone(Definition):
    """What was started, once it is there."""

    rounding = EXACT
    operand_order = "a future of async_start"

    def infer(self) -> tuple[Type, ...]:
        if len(self.operands) != 1 or "future<" not in str(self.operands[0]):
            self.refuse(f"needs 1 future, got {shown(self.operands)}")
        awaited = re.sub(r"^!stablehlo\.future<(.*)>$", r"\1", str(self.operands[0]))
        if shown(self.results) != f"({awaited})":
            self.refuse(f"results in {awaited}, got {shown(self.results)}")
        return self.results
