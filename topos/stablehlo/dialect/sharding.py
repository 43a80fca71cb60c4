"""Shardy's operations, which say where a value lies and not what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topos.stablehlo.attribute_text import (
    dictionary,
    function_type,
    parameters,
    quoted,
    referred,
    results_of,
)
from topos.stablehlo.definition import Definition, OperandOfAnyRank, define
from topos.stablehlo.dialect._shardings import Direction, Each, One, Spelling, Stated
from topos.stablehlo.dialect.control import End
from topos.stablehlo.ir import FunctionType, Opaque, Operation, Symbol, Type
from topos.stablehlo.parsed import ParsedOperation, Said
from topos.stablehlo.rounding import Within
from topos.stablehlo.shapes import shown
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Integer, String

if TYPE_CHECKING:
    from topos.stablehlo.printer import Writer

_LISTS = "list_of_axis_ref_lists"


@define("sdy.mesh")
class Mesh(Definition):
    """Devices in rows along named axes; it stands beside the functions of a module."""

    sym_name = String()
    mesh = Spelling("mesh")
    traits = Trait.DECLARATION | Trait.UNSUPPORTED

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        match parsed.words:
            case (Symbol() as name, Said(value=value)):
                full = value if isinstance(value, Opaque) else Mesh.mesh.spelled(value)
                return parsed.spelled({"sym_name": str(name), "mesh": full})
        raise parsed.misread("@name = <[...]>")

    @classmethod
    def write(cls, writer: Writer, operation: Operation) -> bool:
        rest = dict(operation.attributes)
        name, mesh = rest.pop("sym_name", None), cls.mesh.text(rest.pop("mesh", None))
        if not isinstance(name, str) or not mesh:
            return False
        tail = f" {dictionary(rest)}" if rest else ""
        writer.line(f"{operation.name} {referred(name)} = {mesh}{tail}")
        return True


@define("sdy.return")
class Return(End):
    """The end of a computation, which returns the operands."""

    rest_leads = True


class _Annotation(Stated):
    """The operand, with something said of where it lies."""

    operand = OperandOfAnyRank()
    is_exact = True

    def infer(self) -> tuple[Type, ...]:
        return (self.operands[0],)

    @classmethod
    def write(cls, writer: Writer, operation: Operation) -> bool:
        """Writes the operand between what is said of it."""
        if len(operation.operands) != 1 or operation.regions:
            return False
        given, declared = operation.attributes, {each.key for each in cls.declared_attributes}
        texts = {place: [each.text(given.get(each.key))] for place, each in cls.placed().items()}
        parts = [*texts.get("before", ()), operation.operands[0], *texts.get("after", ())]
        parts += cls.stated(operation)
        type = writer.type(operation)
        if not all(parts) or (operation.results and {*type.operands} != {*type.results}):
            return False
        rest = {key: value for key, value in given.items() if key not in declared}
        tail = f" {dictionary(rest)}" if rest else ""
        types = ", ".join(map(str, type.results or type.operands))
        writer.line(f"{results_of(operation)}{operation.name} {' '.join(parts)}{tail} : {types}")
        return True


@define("sdy.sharding_constraint")
class ShardingConstraint(_Annotation):
    """The operand, which is to be divided by `sharding`."""

    sharding = One(place="after")


Reshard = ShardingConstraint.named(
    "sdy.reshard", "The operand, from here on divided by `sharding`."
)


class _Exchange(_Annotation):
    """The operand, of which each device has another part than before."""

    out_sharding = One()


@define("sdy.all_gather")
class AllGather(_Exchange):
    """The operand, gathered along `gathering_axes` of the mesh."""

    gathering_axes = Spelling(_LISTS, place="before")


@define("sdy.all_slice")
class AllSlice(_Exchange):
    """The operand, divided along `slicing_axes` of the mesh."""

    slicing_axes = Spelling(_LISTS, place="before")


@define("sdy.all_to_all")
class AllToAll(_Exchange):
    """The operand, divided along another of its axes, as `params` say."""

    params = Spelling("all_to_all_param_list", place="before")


CollectivePermute = _Exchange.named(
    "sdy.collective_permute", "The operand, its parts moved among the devices."
)


@define("sdy.all_reduce")
class AllReduce(_Exchange):
    """The operand, reduced along `reduction_axes` of the mesh."""

    reduction_axes = Spelling("axis_ref_list", place="before")


@define("sdy.reduce_scatter")
class ReduceScatter(_Exchange):
    """The operand, reduced and then divided along `reduce_scatter_axes` of the mesh."""

    reduce_scatter_axes = Spelling(_LISTS, place="before")


@define("sdy.sharded_to_unreduced")
class ShardedToUnreduced(_Exchange):
    """The operand, no more divided along `axes` but to be summed along them."""

    axes_said = Spelling(_LISTS, "axes", place="before")


@define("sdy.replicated_to_unreduced")
class ReplicatedToUnreduced(_Exchange):
    """The operand, no more whole along `axes` but to be summed along them."""

    axes_said = Spelling("axis_ref_list", "axes", place="before")


@define("sdy.data_flow_edge")
class DataFlowEdge(_Annotation):
    """The operand, where propagation takes several values for one."""

    sharding = One(optional=True)


FuncDataFlowEdge = _Annotation.named(
    "sdy.func_data_flow_edge", "The operand, where propagation goes from a call into its function."
)


@define("sdy.propagation_barrier")
class PropagationBarrier(_Annotation):
    """The operand, through which shardings propagate in `allowed_direction` alone."""

    allowed_direction = Direction()


@define("sdy.sharding_group")
class ShardingGroup(_Annotation):
    """The operand is divided as all of its group are; it has no result."""

    group_id = Integer()
    traits = _Annotation.traits | Trait.WITHOUT_RESULT

    def infer(self) -> tuple[Type, ...]:
        return ()


class _Computation(Stated):
    """What the region makes of the operands."""

    operand_order = "any number of values"
    region_order = ("body: takes the operands, or a device's parts of them; returns the results",)
    traits = Trait.NONE
    rounding = Within()

    def body(self) -> FunctionType:
        """Returns what the one region takes and returns, its attributes being as declared."""
        if len(self.bodies) != 1:
            self.refuse(f"needs 1 region, got {len(self.bodies)}")
        self.demand_attributes()
        return self.bodies[0]

    @classmethod
    def write_region(
        cls, writer: Writer, operation: Operation, name: str, used: set[str], parts: list[str]
    ) -> bool:
        """Writes the region after `parts`, where all of them can be said."""
        if not all(parts) or len(operation.regions) != 1:
            return False
        (body,) = operation.regions
        arguments = body.blocks[0].arguments if body.blocks else ()
        rest = {key: value for key, value in operation.attributes.items() if key not in used}
        tail = f" {dictionary(rest)}" if rest else ""
        head = f"{results_of(operation)}{name}({', '.join(operation.operands)})"
        writer.line(f"{' '.join([head, *parts])} ({parameters(arguments)}) {{")
        close = f"}}{tail} : {function_type(writer.type(operation))}"
        writer.region(body, close, labelled=False)
        return True


@define("sdy.manual_computation")
class ManualComputation(_Computation):
    """What the region makes of the parts of the operands that lie on one device."""

    in_shardings = Each("operands")
    out_shardings = Each("results")
    manual_axes = Spelling("manual_axes")

    def verify(self) -> None:
        body = self.body()
        for what, outside, inside in (
            ("takes", self.operands, body.operands),
            ("returns", self.results, body.results),
        ):
            if [*map(_kind, outside)] != [*map(_kind, inside)]:
                self.refuse(f"{what} {shown(outside)}, but its body {shown(inside)}")

    def infer(self) -> tuple[Type, ...]:
        return self.results

    @classmethod
    def write(cls, writer: Writer, operation: Operation) -> bool:
        parts = cls.stated(operation)
        if len(parts) != len(cls.assigned()):
            return False
        return cls.write_region(writer, operation, operation.name, {*cls.assigned()}, parts)


@define("sdy.named_computation")
class NamedComputation(_Computation):
    """What the region makes of the operands, under the name of the function that it was."""

    in_shardings = Each("operands", optional=True)
    out_shardings = Each("results", optional=True)
    called = String("name")

    def verify(self) -> None:
        body, needed = self.body(), FunctionType(self.operands, self.results)
        if body != needed:
            self.refuse(f"needs a body of {needed}, got {body}")

    def infer(self) -> tuple[Type, ...]:
        return self.body().results

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        return (self.operands,)

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        match parsed.words:
            case (str(name), *rest) if not isinstance(name, Symbol):
                named = parsed._replace(
                    words=tuple(rest), attributes={"name": name, **parsed.attributes}
                )
                return super().read(named)
        return super().read(parsed)

    @classmethod
    def write(cls, writer: Writer, operation: Operation) -> bool:
        name = operation.attributes.get("name")
        if type(name) is not str:
            return False
        called = f"{operation.name}<{quoted(name)}>"
        used = {*cls.assigned(), "name"}
        return cls.write_region(writer, operation, called, used, cls.stated(operation))


def _kind(type: Type) -> tuple[str, int]:
    """Returns what a part of a value shares with the whole."""
    return getattr(type, "element", str(type)), len(getattr(type, "shape", ()))
