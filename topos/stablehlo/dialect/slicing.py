"""Slices, at places that the text states and at places that a run decides."""

from __future__ import annotations

from topos.stablehlo.assembly import Head
from topos.stablehlo.definition import Definition, Operand, define
from topos.stablehlo.dialect._demands import completed, counted, demand_indices, known, static_sizes
from topos.stablehlo.ir import Operation, Packed, Tensor, Type
from topos.stablehlo.parsed import ParsedOperation
from topos.stablehlo.shapes import bounds_of, ranked
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Axes
from topos.stablehlo.types import SIZES


@define("stablehlo.slice")
class Slice(Definition):
    """The elements of `operand` from start to limit, by strides, along each axis."""

    operand = Operand()
    start_indices = Axes()
    limit_indices = Axes()
    strides = Axes()
    assembly = "$operand : functional-type"
    traits = Trait.MOVES | Trait.LAYOUT | Trait.ASYNCHRONOUS

    def infer(self) -> tuple[Type, ...]:
        operand, rank = self.operand, len(self.operand.shape)
        starts = counted(self, "start_indices", self.start_indices, rank)
        limits = counted(self, "limit_indices", self.limit_indices, rank)
        strides = counted(self, "strides", self.strides, rank)
        ranges = list(zip(starts, limits, strides, strict=True))
        for (start, limit, stride), extent, bound in zip(
            ranges, operand.shape, bounds_of(operand), strict=True
        ):
            last = bound if extent is None else extent
            inside = 0 <= start <= limit and (last is None or limit <= last)
            if not inside or stride < 1:
                self.refuse(f"needs ranges inside {operand}, got {start}:{limit}:{stride}")
        return (Tensor(_extents(ranges), operand.element),)

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        match parsed.words:
            case (tuple() as ranges,) if all(2 <= len(part) <= 3 for part in ranges):
                return parsed.spelled(
                    {
                        "start_indices": Packed(part[0] for part in ranges),
                        "limit_indices": Packed(part[1] for part in ranges),
                        "strides": Packed(part[2] if len(part) == 3 else 1 for part in ranges),
                    }
                )
        raise parsed.misread("[start:limit:stride, ...]")

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        """Returns the operand and its ranges; a stride of 1 is left out."""
        rest = dict(operation.attributes)
        columns = [rest.pop(key, None) for key in ("start_indices", "limit_indices", "strides")]
        packed = [each for each in columns if isinstance(each, Packed) and each.element == "i64"]
        if len(packed) != len(columns) or len({*map(len, packed)}) != 1:
            return None
        ranges = [
            f"{start}:{limit}" if stride == 1 else f"{start}:{limit}:{stride}"
            for start, limit, stride in zip(*packed, strict=True)
        ]
        return Head(f"{', '.join(operation.operands)} [{', '.join(ranges)}]", rest)


@define("stablehlo.dynamic_slice")
class DynamicSlice(Definition):
    """The elements of `operand` in a window of `slice_sizes`, which starts at scalar indices."""

    operand = Operand()
    slice_sizes = Axes()
    assembly = "$operands, sizes = $slice_sizes : functional-type"
    traits = Trait.MOVES | Trait.ASYNCHRONOUS
    operand_order = "operand, then the scalar start of each axis"

    def infer(self) -> tuple[Type, ...]:
        operand, rank = self.operand, len(self.operand.shape)
        demand_indices(self, 1, rank)
        sizes = counted(self, "slice_sizes", self.slice_sizes, rank)
        for size, extent in zip(sizes, operand.shape, strict=True):
            if size < 0 or (extent is not None and size > extent):
                self.refuse(f"needs slice_sizes inside {operand}, got {list(sizes)}")
        return (Tensor(sizes, operand.element),)


@define("stablehlo.dynamic_update_slice")
class DynamicUpdateSlice(Definition):
    """`operand` with `update` in the window that starts at scalar indices."""

    operand = Operand()
    update = Operand()
    assembly = "$operands : functional-type"
    traits = Trait.MOVES | Trait.ASYNCHRONOUS
    operand_order = "operand, update, then the scalar start of each axis"

    def infer(self) -> tuple[Type, ...]:
        operand, update = self.operand, self.update
        demand_indices(self, 2, len(operand.shape))
        fits = len(update.shape) == len(operand.shape) and all(
            part is None or extent is None or part <= extent
            for part, extent in zip(update.shape, operand.shape, strict=True)
        )
        if update.element != operand.element or not fits:
            self.refuse(f"needs an update that fits into {operand}, got {update}")
        return (operand,)


@define("stablehlo.real_dynamic_slice")
class RealDynamicSlice(Definition):
    """The elements of `operand` from start to limit, by strides, which are operands as well."""

    operand = Operand()
    start_indices = Operand(elements=SIZES)
    limit_indices = Operand(elements=SIZES)
    strides = Operand(elements=SIZES)
    assembly = "$operands : functional-type"
    traits = Trait.MOVES

    def infer(self) -> tuple[Type, ...]:
        """Returns the extents of ranges that are constants, else those that are stated."""
        operand, rank = self.operand, len(self.operand.shape)
        for index, what in ((1, "start_indices"), (2, "limit_indices"), (3, "strides")):
            count = static_sizes(self, index, what)
            if self.operands[index] != self.operands[1]:
                self.refuse(f"needs {what} as {self.operands[1]}, got {self.operands[index]}")
            if count != rank:
                self.refuse(f"needs {rank} numbers as {what}, got {count}")
        starts, limits, strides = (known(self, index) for index in (1, 2, 3))
        if strides is not None and any(stride < 1 for stride in strides):
            self.refuse(f"needs strides of 1 or more, got {list(strides)}")
        for stated in self.results[:1]:
            result = ranked(self, stated, "result")
            if result.element != operand.element or len(result.shape) != rank:
                self.refuse(f"cannot slice {operand} to {result}")
        inferred = Tensor((None,) * rank, operand.element)
        if starts is None or limits is None or strides is None:
            return (completed(self, inferred),)
        ranges = list(zip(starts, limits, strides, strict=True))
        inside = all(0 <= start <= limit for start, limit, _ in ranges)
        computed = inferred._replace(shape=_extents(ranges)) if inside else None
        return (completed(self, inferred, computed),)


def _extents(ranges: list[tuple[int, int, int]]) -> tuple[int, ...]:
    return tuple([-((start - limit) // stride) for start, limit, stride in ranges])
