"""A definition: all that is known of one operation but how it is computed.

A class holds the facts of an operation: its operands, its typed attributes, its assembly, its
traits, and `infer`, which returns the types of its results. An instance is one operation of a
module, with the types of its values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from topos.stablehlo.assembly import Assembly, Head, heading, reading
from topos.stablehlo.attribute_text import function_type, produced
from topos.stablehlo.ir import FunctionType, Operation, Tensor, Type
from topos.stablehlo.opview import Declared, OpView
from topos.stablehlo.rounding import EXACT, Rounding
from topos.stablehlo.shapes import TensorType, demand_results, ranked, scalar, tensor
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Attribute
from topos.stablehlo.types import ANY

if TYPE_CHECKING:
    from topos.stablehlo.parsed import ParsedOperation
    from topos.stablehlo.printer import Writer

V = TypeVar("V", bound=TensorType)


class _Value(Declared[V]):
    """An operand or a result of a definition, in the order in which they are declared.

    `what` is how a refusal calls it, where that is not the name it is assigned to.
    """

    def __init__(
        self, what: str = "", elements: frozenset[str] = ANY, *, is_scalar: bool = False
    ) -> None:
        self.what, self.elements, self.is_scalar = what, elements, is_scalar
        self.index = 0

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.what = self.what or name

    def _stated(self, view: Definition) -> Type:
        try:
            return view.operands[self.index]
        except IndexError:
            # Only a builder infers before the operands are counted.
            needs = f"needs {len(view.declared_operands)} operands"
            view.refuse(f"{needs}, got {len(view.operands)}")

    def _held(self, view: OpView, type: V) -> V:
        if type.element not in self.elements:
            view.refuse(f"takes no elements of {type.element} as {self.what}")
        return type


class Operand(_Value[Tensor]):
    """A ranked operand; from an instance it is the operand's type."""

    def read(self, view: Definition) -> Tensor:
        take = scalar if self.is_scalar else ranked
        return self._held(view, take(view, self._stated(view), self.what))


class OperandOfAnyRank(_Value[TensorType]):
    """An operand whose rank the text need not know, as CHLO takes them."""

    def read(self, view: Definition) -> TensorType:
        return self._held(view, tensor(view, self._stated(view), self.what))


class Result(_Value[Tensor]):
    """A result whose type the text states, for nothing else says all of it.

    Where `is_inferred`, a builder needs no type: the element is then that of the first operand.
    """

    def __init__(
        self, what: str = "", elements: frozenset[str] = ANY, *, is_inferred: bool = False
    ) -> None:
        super().__init__(what, elements)
        self.is_inferred = is_inferred

    def read(self, view: Definition) -> Tensor:
        if self.index >= len(view.results):
            view.refuse("needs the type of its result, which nothing else tells")
        return self._held(view, ranked(view, view.results[self.index], self.what))


class Definition(OpView):
    """What all definitions share; a subclass for one operation carries `@define("its.name")`.

    `assembly` is the custom form, as `topos.stablehlo.assembly` reads it; an operation without one
    has the generic form alone, unless the class overrides `head` or `write`, and `read`.
    """

    operation_name: ClassVar[str] = ""
    assembly: ClassVar[str] = ""
    traits: ClassVar[Trait] = Trait.NONE
    # How a sound runtime may round its floating-point results. What moves elements rounds none; any
    # other operation that can be run says it.
    rounding: ClassVar[Rounding | None] = None
    # What the operands are in order, where more may follow those that are declared.
    operand_order: ClassVar[str] = ""
    # Whether the results are of the inferred types exactly, and not only such that agree.
    is_exact: ClassVar[bool] = False
    # Whether the operation holds regions, as one with a `region_order` does, and what ends their
    # blocks: the return of its dialect unless it says another.
    has_regions: ClassVar[bool] = False
    terminator: ClassVar[str] = ""
    # The regions in order: what each is called, a colon, what it takes and what it returns.
    region_order: ClassVar[tuple[str, ...]] = ()
    # The attribute that names the function which the operation runs in its place, if any.
    calls: ClassVar[str] = ""
    # What only its own `read` understands of its custom form: the keys of further clauses.
    clauses: ClassVar[frozenset[str]] = frozenset()

    declared_operands: ClassVar[tuple[str, ...]] = ()
    declared_attributes: ClassVar[tuple[Attribute[Any], ...]] = ()
    form: ClassVar[Assembly]
    # What is asked of every operation of a module: `define` sets these from the traits, which take
    # longer to combine than to read. A refused operation stands nowhere but at the end of a block.
    is_refused: ClassVar[bool] = False
    is_constant: ClassVar[bool] = False
    is_elementwise: ClassVar[bool] = False
    is_layout: ClassVar[bool] = False
    is_carrier: ClassVar[bool] = False

    def verify(self) -> None:
        """Refuses the operation unless its parts are as declared and its results as inferred."""
        needed, got = len(self.declared_operands), len(self.operands)
        if got != needed and (got < needed or not self.operand_order):
            noun = "operand" if needed == 1 else "operands"
            more = " or more" if self.operand_order else ""
            self.refuse(f"needs {needed} {noun}{more}, got {got}")
        inferred = self.infer()
        self.demand_attributes()
        self.demand_results(inferred)

    def demand_attributes(self) -> None:
        """Refuses a declared attribute that is there and is no such thing."""
        for each in self.declared_attributes:
            if each.key in self.operation.attributes:
                getattr(self, each.name)

    def infer(self) -> tuple[Type, ...]:
        """Returns the types of the results, as far as the operands and attributes tell them.

        Raises `VerifyError` with the reason where they have none. What only the text can say, such
        as the element of a conversion, is taken from the stated results.
        """
        raise NotImplementedError(f"{self.operation_name} infers nothing")

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        """Returns the types that each of its `count` regions takes, before the regions are known.

        Only a builder asks: in a module the regions state them.
        """
        return ()

    def body_note(self) -> str:
        """Returns what may be why a body cannot be built, though another could; else `""`."""
        return ""

    @classmethod
    def named(
        cls, name: str, meaning: str, rounding: Rounding | None = None, traits: Trait = Trait.NONE
    ) -> type[Self]:
        """Returns the definition of `name`, which is as this one in all but what it computes.

        `meaning` says that, as the docstring of a class would; it rounds as this one does unless
        `rounding` is another rule, and has `traits` beside those of this one.
        """
        facts = {"__doc__": meaning, "traits": cls.traits | traits}
        facts["rounding"] = rounding or cls.rounding
        defined: type[Self] = define(name)(type(name, (cls,), facts))
        return defined

    @classmethod
    def needed(cls, count: int, noun: str) -> str:
        """Returns how a refusal asks for `count` regions, which `noun` calls them; with names."""
        if count == 1:
            return f"1 {noun}"
        names = [each.partition(":")[0] for each in cls.region_order]
        told = f" ({', then '.join(names)})" if len(names) == count else ""
        return f"{count} {noun}s{told}"

    def demand_results(self, inferred: tuple[Type, ...]) -> None:
        """Refuses unless the stated results may be of the types `inferred`."""
        if self.is_exact and self.results != inferred:
            self.refuse(f"results in {produced(inferred)}, got {produced(self.results)}")
        demand_results(self, inferred)

    def flops(self) -> int:
        """Returns the floating-point operations of one run: one an element of the result."""
        if self.has_regions or Trait.MOVES in self.traits:
            return 0
        first = self.results[:1]
        floating = all(isinstance(each, Tensor) and each.element[0] in "fbc" for each in first)
        return elements_of(first) if floating else 0

    def region_runs(self, region: int) -> int:
        """Returns how often one run executes its region number `region`, an open extent being 0.

        A reduction runs its body once for each element that it combines, and the first with the
        initial value. A loop's region counts once, for nothing tells how often it turns.
        """
        return 1

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        """Returns what was parsed with its words and clauses as attributes of the generic form."""
        return reading(cls.form, parsed) if cls.form.words else parsed

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        """Returns what stands between name and colon, or `None` where only generic form says it."""
        return heading(cls.form, operation)

    @staticmethod
    def signature(type: FunctionType) -> str:
        """Returns what stands after the colon, where `assembly` does not say it."""
        return function_type(type)

    @classmethod
    def write(cls, writer: Writer, operation: Operation) -> bool:
        """Writes an operation in its custom form, or returns false where that cannot say it."""
        return writer.custom(cls, operation)


D = TypeVar("D", bound=type[Definition])


def define(name: str) -> Callable[[D], D]:
    """Makes a class the definition of the operation `name`."""

    def defined(definition: D) -> D:
        members: dict[str, Any] = {}
        for base in reversed(definition.__mro__):
            members.update(vars(base))
        operands = [(key, each) for key, each in members.items() if isinstance(each, _Operand)]
        results = [each for each in members.values() if isinstance(each, Result)]
        for values in ([each for _, each in operands], results):
            for index, value in enumerate(values):
                value.index = index
        definition.operation_name = name
        if definition.rounding is None and Trait.MOVES in definition.traits:
            definition.rounding = EXACT
        definition.is_refused = bool(definition.traits & (Trait.TERMINATOR | Trait.UNSUPPORTED))
        definition.is_constant = Trait.CONSTANT in definition.traits
        definition.is_elementwise = Trait.ELEMENTWISE in definition.traits
        definition.is_layout = Trait.LAYOUT in definition.traits
        definition.is_carrier = Trait.CARRIES in definition.traits
        definition.has_regions = definition.has_regions or bool(definition.region_order)
        definition.terminator = definition.terminator or f"{name.partition('.')[0]}.return"
        definition.declared_operands = tuple([key for key, _ in operands])
        definition.declared_attributes = tuple(
            [each for each in members.values() if isinstance(each, Attribute)]
        )
        definition.form = Assembly.of(definition.assembly, members)
        return definition

    return defined


_Operand = (Operand, OperandOfAnyRank)


def elements_of(types: tuple[Type, ...]) -> int:
    """Returns the elements of the first type; a dynamic extent counts as none."""
    count = 1
    for extent in extents_of(types[0]) if types else (0,):
        count *= extent
    return count


def extents_of(type: Type) -> tuple[int, ...]:
    """Returns the extents of a tensor, a dynamic one as 0."""
    return tuple([extent or 0 for extent in type.shape]) if isinstance(type, Tensor) else ()
