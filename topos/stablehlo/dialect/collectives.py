"""Operations between devices: which groups they form, and what each device gets."""

from __future__ import annotations

from typing import Final

from topos.stablehlo.definition import Definition, Operand, Result, define, elements_of
from topos.stablehlo.dialect._demands import below, holding
from topos.stablehlo.dialect._reducers import bodies, demand_reducer
from topos.stablehlo.dialect._replicas import Groups, Mark, demand_channel, demand_groups
from topos.stablehlo.ir import FunctionType, Tensor, Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.rounding import EXACT, OfBody, Sums
from topos.stablehlo.shapes import Shape, bounds_of, of_bounds, shapes_agree
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Fields, Integer

_PAIRS: Final = "source_target_pairs"


class _Collective(Definition):
    """An operation of groups of devices, on any number of operands."""

    replica_groups = Groups()
    channel_handle = Fields("#stablehlo.channel_handle<", optional=True)
    traits = Trait.ASYNCHRONOUS
    rounding = EXACT
    operand_order = "values of each device, one or more"

    def tensors(self) -> list[Tensor]:
        """Returns the operands' types."""
        return [holding(self, type, "operand") for type in self.operands]


class _Reduction(_Collective):
    """A collective whose body reduces each operand by itself."""

    rounding = OfBody()
    region_order = ("body: takes an accumulator and an element; returns an accumulator",)

    def reduced(self, operands: list[Tensor]) -> tuple[Type, ...]:
        """Returns the operands' types with the elements that the body returns."""
        (body,) = bodies(self)
        return tuple(
            [operand._replace(element=_reduced(self, body, operand)) for operand in operands]
        )

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        element = Tensor((), holding(self, self.operands[0], "operand").element)
        return ((element, element),)

    def region_runs(self, region: int) -> int:
        """Returns one run of the body for each element that this device takes in."""
        return sum(elements_of((operand,)) for operand in _without_root(self, self.tensors()))


@define("stablehlo.all_gather")
class AllGather(_Collective):
    """The operand of every device of the group, joined along the axis `all_gather_dim`."""

    all_gather_dim = Integer(least=0)
    use_global_device_ids = Mark()

    def infer(self) -> tuple[Type, ...]:
        operands = self.tensors()
        demand_groups(self, uniform=True)
        demand_channel(self, 0)
        if len(self.results) != len(operands):
            got = len(self.results)
            self.refuse(f"has a result for each of {len(operands)} operands, got {got}")
        for operand, stated in zip(operands, self.results, strict=True):
            self._demand_gathered(operand, stated)
        return self.results

    def _demand_gathered(self, operand: Tensor, stated: Type) -> None:
        result = holding(self, stated, "result")
        at = below(self, "all_gather_dim", self.all_gather_dim, len(operand.shape))
        if result.element != operand.element:
            self.refuse(f"results in elements of {operand}, got {result}")
        before, after = _changed(self, operand, result, at)
        if before == 0 or (before and after and after % before):
            self.refuse(f"results in a multiple of {before} in axis {at}, got {result}")


@define("stablehlo.all_reduce")
class AllReduce(_Reduction):
    """Each operand reduced over the devices of the group."""

    use_global_device_ids = Mark()

    def infer(self) -> tuple[Type, ...]:
        operands = self.tensors()
        demand_groups(self, uniform=False)
        demand_channel(self, 1)
        return self.reduced(operands)


@define("stablehlo.all_to_all")
class AllToAll(_Collective):
    """The operand in `split_count` parts along one axis, exchanged and joined along another."""

    split_dimension = Integer(least=0)
    concat_dimension = Integer(least=0)
    split_count = Integer(least=1)

    def infer(self) -> tuple[Type, ...]:
        operands, count = self.tensors(), self.split_count
        demand_groups(self, uniform=True, size=count)
        demand_channel(self)
        return tuple([self._exchanged(operand, count) for operand in operands])

    def _exchanged(self, operand: Tensor, count: int) -> Tensor:
        split = below(self, "split_dimension", self.split_dimension, len(operand.shape))
        joined = below(self, "concat_dimension", self.concat_dimension, len(operand.shape))
        extent = operand.shape[split]
        if extent is not None and extent % count:
            self.refuse(f"needs an axis {split} that {count} divides, got {operand}")
        shape, bounds = list(operand.shape), list(bounds_of(operand))
        for extents in (shape, bounds):
            parted = extents[split]
            extents[split] = None if parted is None else parted // count
            grown = extents[joined]
            extents[joined] = None if grown is None else grown * count
        return of_bounds(tuple(shape), operand.element, tuple(bounds))


@define("stablehlo.reduce_scatter")
class ReduceScatter(_Reduction):
    """The operand reduced over the group, of which each device keeps one part of an axis."""

    operand = Operand()
    result = Result()
    scatter_dimension = Integer(least=0)
    use_global_device_ids = Mark()
    operand_order = ""

    def infer(self) -> tuple[Type, ...]:
        operand, result = self.operand, self.result
        demand_groups(self, uniform=True)
        (body,) = bodies(self)
        element = _reduced(self, body, operand)
        at = below(self, "scatter_dimension", self.scatter_dimension, len(operand.shape))
        demand_channel(self, 1)
        before, after = _changed(self, operand, result, at)
        if before == 0 or after == 0 or (before and after and before % after):
            self.refuse(f"results in a part of {before} in axis {at}, got {result}")
        if result.element != element:
            self.refuse(f"results in elements of {element}, got {result}")
        return (result,)


@define("stablehlo.collective_broadcast")
class CollectiveBroadcast(_Collective):
    """The operands of the first device of the group, or of a root that the last operand states."""

    has_dynamic_root = Mark()

    def infer(self) -> tuple[Type, ...]:
        operands = self.tensors()
        demand_groups(self, uniform=True, complete=False)
        demand_channel(self)
        data = _without_root(self, operands)
        if len(data) == len(operands) > 1:
            self.refuse(f"needs 1 operand, got {len(operands)}")
        return tuple(data)


@define("stablehlo.collective_reduce")
class CollectiveReduce(_Reduction):
    """Each operand reduced over the group, for its root alone."""

    has_dynamic_root = Mark()
    use_global_device_ids = Mark()

    def infer(self) -> tuple[Type, ...]:
        operands = self.tensors()
        demand_groups(self, uniform=False)
        demand_channel(self, 1)
        return self.reduced(_without_root(self, operands))


@define("stablehlo.collective_permute")
class CollectivePermute(Definition):
    """The operand of the device that `source_target_pairs` pair with each, or else zeros."""

    operand = Operand()
    source_target_pairs = Groups()
    channel_handle = Fields("#stablehlo.channel_handle<", optional=True)
    traits = Trait.ASYNCHRONOUS
    rounding = EXACT

    def infer(self) -> tuple[Type, ...]:
        operand = self.operand
        demand_channel(self)
        shape, numbers = self.table(_PAIRS)
        if len(shape) != 2 or shape[1] != 2:
            self.refuse(f"needs {_PAIRS} of shape [N, 2], got {list(shape)}")
        if numbers and min(numbers) < 0:
            self.refuse(f"needs {_PAIRS} that are not negative, got {list(numbers)}")
        for name, ends in (("sources", numbers[::2]), ("targets", numbers[1::2])):
            if len(set(ends)) != len(ends):
                self.refuse(f"needs distinct {name} in {_PAIRS}, got {list(ends)}")
        return (operand,)


@define("stablehlo.cross-replica-sum")
class CrossReplicaSum(Definition):
    """The sum of the operand over the devices of the group."""

    operand = Operand()
    replica_groups = Groups()
    rounding = Sums()

    def infer(self) -> tuple[Type, ...]:
        self.table("replica_groups")
        return (self.operand,)


def _reduced(view: OpView, body: FunctionType, operand: Tensor) -> str:
    """Returns the element that `body` returns of those of `operand`."""
    initial = Tensor((), operand.element)
    (returned,) = demand_reducer(view, body, (operand,), (initial,))
    return returned.element


def _without_root(view: OpView, operands: list[Tensor]) -> list[Tensor]:
    """Returns the operands that hold data; the last one may state the root of each."""
    rooted = Mark("has_dynamic_root").read(view)
    data = operands[:-1] if rooted else operands
    if not data:
        view.refuse(f"needs 1 or more operands of data, got {len(data)}")
    if rooted:
        root = operands[-1]
        if root.element != "i32" or len(root.shape) != 1 or root.shape[0] != len(data):
            view.refuse(f"needs a root of tensor<{len(data)}xi32>, got {root}")
    return data


def _changed(view: OpView, operand: Tensor, result: Tensor, at: int) -> Shape:
    """Returns the extents of operand and result in axis `at`, where the other axes agree."""
    alike = len(result.shape) == len(operand.shape)
    if not alike or not shapes_agree(_without(operand, at), _without(result, at)):
        view.refuse(f"results in the shape of {operand} but for axis {at}, got {result}")
    return operand.shape[at], result.shape[at]


def _without(type: Tensor, at: int) -> Shape:
    return (*type.shape[:at], *type.shape[at + 1 :])
