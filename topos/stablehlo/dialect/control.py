"""Control flow: branches, loops, the barrier, and the end of their regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from topos.stablehlo.assembly import Head
from topos.stablehlo.attribute_text import dictionary, results_of
from topos.stablehlo.definition import Definition, define
from topos.stablehlo.dialect._demands import holding
from topos.stablehlo.ir import Block, Operation, Region, Tensor, TupleType, Type, Unranked
from topos.stablehlo.rounding import Within
from topos.stablehlo.shapes import agree, common, scalar, shown
from topos.stablehlo.traits import Trait
from topos.stablehlo.types import TOKEN

if TYPE_CHECKING:
    from topos.stablehlo.printer import Writer

Types = tuple[Type, ...]


class End(Definition):
    """The end of a block, whose operands are what the block returns."""

    assembly = "$operands : operand-types"
    traits = Trait.TERMINATOR | Trait.WITHOUT_RESULT
    # Whether its attributes stand before its operands.
    rest_leads: ClassVar[bool] = False

    def infer(self) -> tuple[Type, ...]:
        return ()

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        operands = ", ".join(operation.operands)
        return None if operation.results else Head(operands, operation.attributes, cls.rest_leads)


Return = End.named("stablehlo.return", "The end of a region, which returns the operands.")


class _Branches(Definition):
    """What one of several regions returns; the operand chooses it."""

    traits = Trait.CARRIES | Trait.CHOOSES
    rounding = Within()
    # The element of the operand, and how many branches there are where it is not the text's choice.
    choice: ClassVar[str] = ""
    branches: ClassVar[int] = 0

    def verify(self) -> None:
        self.infer()
        for body in self.bodies:
            self.demand_results(body.results)

    def infer(self) -> Types:
        _demand_regions(self, self.branches or max(len(self.bodies), 1))
        if len(self.operands) != 1:
            self.refuse(f"needs 1 operand, got {len(self.operands)}")
        choice = scalar(self, self.operands[0], "operand")
        if choice.element != self.choice:
            self.refuse(f"needs a scalar {self.choice}, got {choice}")
        returned = self.bodies[0].results
        for body in self.bodies:
            if body.operands:
                self.refuse(f"needs branches without arguments, got {shown(body.operands)}")
            if not _all_agree(returned, body.results):
                got = f"{shown(returned)} and {shown(body.results)}"
                self.refuse(f"needs branches that return the same types, got {got}")
            returned = tuple(map(common, returned, body.results))
        for type in returned:
            _demand_specified(self, type)
        return returned

    def block_types(self, count: int) -> tuple[Types, ...]:
        return ((),) * (self.branches or max(count, 1))


@define("stablehlo.if")
class If(_Branches):
    """What the first region returns where the operand is true, and else what the second does."""

    choice = "i1"
    branches = 2
    operand_order = "the predicate"
    region_order = (
        "true branch: takes nothing; returns the results",
        "false branch: takes nothing; returns the results",
    )


@define("stablehlo.case")
class Case(_Branches):
    """What the region of the operand's number returns, the last one for any other number."""

    choice = "i32"
    operand_order = "the number of the branch"
    region_order = ("branch of each number, from 0 on: takes nothing; returns the results",)


@define("stablehlo.while")
class While(Definition):
    """What the second region makes of the operands, again while the first one returns true."""

    traits = Trait.CARRIES
    rounding = Within()
    operand_order = "the first values of what the loop carries"
    region_order = (
        "condition: takes the carried values; returns whether to run the body",
        "body: takes the carried values; returns the next ones",
    )

    def verify(self) -> None:
        self.infer()
        self.demand_results(self.operands)

    def infer(self) -> Types:
        _demand_regions(self, 2)
        condition, body = self.bodies
        carried = self.operands
        for type in carried:
            if isinstance(type, (TupleType, Unranked)):
                self.refuse(f"carries ranked tensors and tokens, got {type}")
            _demand_specified(self, type)
        if not _all_agree(condition.operands, carried):
            got = shown(condition.operands)
            self.refuse(f"needs a condition that takes {shown(carried)}, got {got}")
        if not (_all_agree(body.operands, carried) and _all_agree(body.results, carried)):
            self.refuse(f"needs a body from {shown(carried)} to the same, got {body}")
        if condition.results != (Tensor((), "i1"),):
            got = shown(condition.results)
            self.refuse(f"needs a condition that returns tensor<i1>, got {got}")
        return tuple(map(common, carried, body.results))

    def block_types(self, count: int) -> tuple[Types, ...]:
        return (self.operands, self.operands)

    @classmethod
    def write(cls, writer: Writer, operation: Operation) -> bool:
        """Writes the condition and the body, where both call what is carried the same."""
        type = writer.type(operation)
        arguments = [_entry(region).arguments for region in operation.regions]
        names = [[argument.name for argument in each] for each in arguments]
        if len(names) != 2 or type.operands != type.results or names[0] != names[1]:
            return False
        for each in arguments:
            types = tuple([argument.type for argument in each])
            if types != type.operands or any(argument.attributes for argument in each):
                return False
        pairs = zip(names[0], operation.operands, strict=True)
        carried = ", ".join(f"{name} = {operand}" for name, operand in pairs)
        stated = f" : {', '.join(map(str, type.results))}" if type.results else ""
        rest = f" attributes {dictionary(operation.attributes)}" if operation.attributes else ""
        writer.line(f"{results_of(operation)}{operation.name}({carried}){stated}{rest}")
        condition, body = operation.regions
        writer.line("cond {")
        writer.region(condition, "} do {", labelled=False)
        writer.region(body, "}", labelled=False)
        return True


@define("stablehlo.optimization_barrier")
class OptimizationBarrier(Definition):
    """The operands, all computed before any of the results is used."""

    traits = Trait.MOVES | Trait.CARRIES | Trait.PAIRWISE
    operand_order = "any number of values"
    assembly = "$operands : result-types"
    is_exact = True

    def infer(self) -> Types:
        for type in self.operands:
            if type != TOKEN:
                holding(self, type, "operand")
        return self.operands

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        if operation.operand_types != operation.result_types:
            return None
        return Head(", ".join(operation.operands) or "()", operation.attributes, rest_leads=True)


def _demand_regions(view: Definition, count: int) -> None:
    got = sum(len(region.blocks) == 1 for region in view.operation.regions)
    if got != count or len(view.bodies) != count:
        view.refuse(f"needs {view.needed(count, 'region')}, got {got}")


def _demand_specified(view: Definition, type: Type) -> None:
    """Refuses tensors of unknown rank, and of elements such as index."""
    if isinstance(type, (Tensor, Unranked)):
        holding(view, type, "value")


def _all_agree(ones: Types, others: Types) -> bool:
    return len(ones) == len(others) and all(map(agree, ones, others))


def _entry(region: Region) -> Block:
    return region.blocks[0] if region.blocks else Block((), ())
