"""Random numbers."""

from __future__ import annotations

from typing import Final

from topos.stablehlo.definition import Definition, Operand, Result, define
from topos.stablehlo.dialect._demands import known, static_sizes
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Choice
from topos.stablehlo.types import FLOATS, INTEGERS, PREDICATE, SIZES

_NUMBERS: Final = INTEGERS | FLOATS


@define("stablehlo.rng")
class Rng(Definition):
    """Random numbers of the shape `shape`, distributed as two parameters of one element say."""

    first = Operand("parameter", PREDICATE | _NUMBERS, is_scalar=True)
    second = Operand("parameter", PREDICATE | _NUMBERS, is_scalar=True)
    shape = Operand(elements=SIZES)
    rng_distribution = Choice(
        "#stablehlo<rng_distribution", ("NORMAL", "UNIFORM"), may_be_bare=True
    )
    assembly = "$first, $second, $shape, distribution = $rng_distribution : functional-type"
    traits = Trait.MOVES

    def infer(self) -> tuple[Type, ...]:
        first, second, distribution = self.first, self.second, self.rng_distribution
        if first.element != second.element:
            self.refuse(f"needs parameters of one element, got {first} and {second}")
        if distribution == "NORMAL" and first.element not in FLOATS:
            self.refuse(f"needs floating-point parameters of NORMAL, got {first}")
        count, values = static_sizes(self, 2, "shape"), known(self, 2)
        if values is None:
            return (Tensor((None,) * count, first.element),)
        if any(value < 0 for value in values):
            self.refuse(f"needs a shape of 0 or more, got {list(values)}")
        return (Tensor(values, first.element),)


@define("stablehlo.rng_bit_generator")
class RngBitGenerator(Definition):
    """The state that follows `initial_state`, and the random bits that are drawn on the way."""

    initial_state = Operand("initial state", _NUMBERS)
    output_state = Result("output state", _NUMBERS)
    output = Result("result", _NUMBERS)
    rng_algorithm = Choice(
        "#stablehlo<rng_algorithm", ("DEFAULT", "PHILOX", "THREE_FRY"), may_be_bare=True
    )
    assembly = "$initial_state, algorithm = $rng_algorithm : functional-type"
    traits = Trait.MOVES

    def infer(self) -> tuple[Type, ...]:
        if None in self.output.shape:
            self.refuse(f"needs a static shape, got {self.output}")
        return (self.initial_state, self.output)
