"""Values that come from no operand: constants, ramps and the numbers of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topos.stablehlo.assembly import Head
from topos.stablehlo.attribute_text import bare, dictionary, results_of
from topos.stablehlo.definition import Definition, OperandOfAnyRank, Result, define
from topos.stablehlo.dense import decoded, dense_of
from topos.stablehlo.dialect._demands import holding
from topos.stablehlo.equality import same
from topos.stablehlo.ir import UNIT, Dense, Operation, OtherType, Tensor, Type, Typed, constant_type
from topos.stablehlo.opview import OpView
from topos.stablehlo.parsed import ParsedOperation
from topos.stablehlo.resources import absent
from topos.stablehlo.rounding import EXACT
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Attribute, Integer
from topos.stablehlo.types import ANY, COMPLEX, FLOATS, INTEGERS, element_of

if TYPE_CHECKING:
    from topos.stablehlo.printer import Writer


class DenseValue(Attribute[Dense]):
    """A dense constant, whose type is the one of a tensor of known extents."""

    takes = "a number or an array"
    example = "1.5"

    def read(self, view: OpView) -> Dense:
        """Returns the constant, which nothing has decoded yet."""
        value = view.attribute(self.key)
        if not isinstance(value, Dense) or not isinstance(value.type, Tensor):
            view.refuse(f"needs a dense constant, got {value}")
        if None in value.type.shape:
            view.refuse(f"needs a constant of known extents, got {value.type}")
        return value

    def made(self, value: Any) -> Any:
        return value if isinstance(value, Dense) else _dense(np.asarray(value))


class Literal(Attribute[Any]):
    """A constant of any kind, with its type where the text states one."""

    takes = "a number, an array or another constant"
    example = "1.5"

    def read(self, view: OpView) -> Any:
        """Returns the constant as it stands in the tree."""
        view.attribute(self.key)
        return view.operation.attributes[self.key]

    def made(self, value: Any) -> Any:
        """Returns a number, of the element that numpy tells, or a constant of an array."""
        if isinstance(value, np.generic):
            return Typed(value.item(), OtherType(element_of(value.dtype)))
        return _dense(value) if isinstance(value, np.ndarray) else value


class _Dense(Definition):
    """A dense constant, written before its type."""

    value = DenseValue()
    assembly = "$value : result-types"
    traits = Trait.CONSTANT | Trait.MOVES | Trait.ELEMENTWISE

    def infer(self) -> tuple[Type, ...]:
        return (self.value.type,)

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        match parsed.words:
            case (Dense(body, _, line, column),) if len(parsed.types.results) == 1:
                value = Dense(body, parsed.types.results[0], line, column)
                return parsed.spelled({"value": value})
            case () if "value" in parsed.attributes:
                return parsed
        raise parsed.misread("dense<...> : type")

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        """Returns the other attributes and the constant, where this is of the result's type."""
        rest = dict(operation.attributes)
        value = rest.pop("value", None)
        if not isinstance(value, Dense) or operation.operands:
            return None
        if not same((value.type,), operation.result_types):
            return None
        return Head(bare(value), rest, rest_leads=True)


class _Decoded(_Dense):
    """A dense constant that is decoded when it is verified."""

    def verify(self) -> None:
        self.takes(0)
        result = holding(self, self.results[0], "result")
        if None in result.shape:
            self.refuse(f"needs a static shape, got {result}")
        self.demand_results(self.infer())
        # The body is read here and kept.
        if not absent(self.value):
            decoded(self.value)


Constant = _Decoded.named("stablehlo.constant", "The constant `value`.")
SdyConstant = _Decoded.named(
    "sdy.constant", "The constant `value`, of which no other value may be a part."
)
ChloConstant = _Dense.named("chlo.constant", "The constant `value`.")


@define("arith.constant")
class ArithConstant(Definition):
    """The constant `value`, which may be no tensor, or one of elements that none here has."""

    value = Literal()
    traits = _Dense.traits

    def verify(self) -> None:
        self.takes(0)
        if "value" in self.operation.attributes and self.infer() != self.results:
            self.refuse(f"results in {self.infer()[0]}, got {self.results[0]}")

    def infer(self) -> tuple[Type, ...]:
        type = constant_type(self.value)
        return self.results if type is None else (type,)

    @classmethod
    def write(cls, writer: Writer, operation: Operation) -> bool:
        """Writes the value as it stands in a dictionary; a truth value has no type there."""
        rest = dict(operation.attributes)
        value = rest.pop("value", None)
        if constant_type(value) is None or value == UNIT or operation.operands or operation.regions:
            return False
        text = dictionary({"": value})[len('{"" = ') : -1]
        type = "i1" if isinstance(value, bool) else text.rpartition(" : ")[2]
        if [*map(str, operation.result_types)] != [type]:
            return False
        leading = f"{dictionary(rest)} " if rest else ""
        writer.line(f"{results_of(operation)}{operation.name} {leading}{text}")
        return True


@define("chlo.constant_like")
class ConstantLike(Definition):
    """The number `value` in the shape of `operand`."""

    operand = OperandOfAnyRank()
    value = Literal()
    traits = Trait.MOVES | Trait.ELEMENTWISE

    def infer(self) -> tuple[Type, ...]:
        element = str(constant_type(self.value))
        if element not in ANY:
            self.refuse(f"takes no value of {element}")
        return (self.operand._replace(element=element),)


@define("stablehlo.iota")
class Iota(Definition):
    """Along `iota_dimension` the numbers from zero on, the same along every other axis."""

    result = Result(elements=INTEGERS | FLOATS | COMPLEX)
    iota_dimension = Integer(least=0)
    assembly = "dim = $iota_dimension : result-types"
    traits = Trait.MOVES

    def infer(self) -> tuple[Type, ...]:
        result = self.result
        if None in result.shape:
            self.refuse(f"needs a static shape, got {result}")
        self.axes("dimension", (self.iota_dimension,), len(result.shape))
        return (result,)


class _Number(Definition):
    """A number that a device has among the others."""

    assembly = " : result-types"
    rounding = EXACT

    def infer(self) -> tuple[Type, ...]:
        return (Tensor((), "ui32"),)


PartitionId = _Number.named(
    "stablehlo.partition_id", "The number of the partition that runs the program."
)
ReplicaId = _Number.named(
    "stablehlo.replica_id", "The number of the replica that runs the program."
)


def _dense(array: npt.NDArray[Any]) -> Dense:
    return dense_of(array, element_of(array.dtype))
