"""Bodies of operations: how many an operation has, and what one that reduces takes and returns."""

from __future__ import annotations

from collections.abc import Sequence

from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect._demands import holding
from topos.stablehlo.ir import FunctionType, Tensor, Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.rounding import OfBody
from topos.stablehlo.shapes import Shape, extents_agree, shapes_agree
from topos.stablehlo.types import ANY, COMPLEX, FLOATS, width


def bodies(view: Definition) -> tuple[FunctionType, ...]:
    """Returns what each region takes and returns, where all of them are there and not empty."""
    count = len(view.region_order)
    if len(view.bodies) != count:
        view.refuse(f"needs {view.needed(count, 'region')}, got {len(view.bodies)}")
    if not all(region.blocks for region in view.operation.regions):
        view.refuse("needs a region that is not empty")
    return view.bodies


def reduced(view: OpView) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Returns the inputs of a reduction and its initial values, one each."""
    count, odd = divmod(len(view.operands), 2)
    if not count or odd:
        view.refuse(f"needs as many initial values as inputs, got {len(view.operands)} operands")
    inputs = tuple([holding(view, type, "an input") for type in view.operands[:count]])
    initials = tuple([holding(view, type, "an initial value") for type in view.operands[count:]])
    return inputs, initials


class Reduction(Definition):
    """Inputs that a body combines, from an initial value for each."""

    rounding = OfBody()
    operand_order = "inputs, then an initial value for each"
    region_order = ("body: takes accumulators, then elements of the inputs; returns accumulators",)

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        inputs, initials = reduced(self)
        for taken, initial in zip(inputs, initials, strict=True):
            if initial.shape or not same_element(initial.element, taken.element):
                needs = f"{Tensor((), taken.element)} as the initial value of its input {taken}"
                self.refuse(f"needs {needs}, got {initial}")
        return ((*initials, *reducer_types(inputs)),)

    def body_note(self) -> str:
        inputs, initials = reduced(self)
        return differing(self, "the initial value", initials, inputs)


def differing(view: OpView, what: str, ones: Sequence[Tensor], inputs: Sequence[Tensor]) -> str:
    """Returns which of `ones` is of another element than its input, or `""`."""
    for one, taken in zip(ones, inputs, strict=False):
        if one.element != taken.element:
            return f"{view.name} has {what} {one} for its input {taken}, and its body takes both"
    return ""


def reducer_types(taken: Sequence[Tensor]) -> tuple[Type, ...]:
    """Returns a scalar of each type, as the body of a reduction takes its arguments."""
    return tuple([Tensor((), type.element) for type in taken])


def promotable(one: str, other: str) -> bool:
    """Returns whether values of the element `one` can be taken as `other`.

    Floating-point numbers can whatever their precision; others where the kind is the same and the
    bits are as many or more.
    """
    if one in FLOATS or other in FLOATS:
        return one in FLOATS and other in FLOATS
    return (one in COMPLEX) == (other in COMPLEX) and width(one) <= width(other)


def same_element(one: str, other: str) -> bool:
    """Returns whether two elements are the same, or floating-point of whatever precision."""
    return one == other or (one in FLOATS and other in FLOATS)


def accumulators(view: OpView, body: FunctionType, count: int) -> tuple[Tensor, ...]:
    """Returns the `count` tensors that a body returns."""
    if len(body.results) != count:
        view.refuse(f"needs a body that returns {count} tensors, got {len(body.results)}")
    for type in body.results:
        if not isinstance(type, Tensor):
            view.refuse(f"needs a body that returns tensors, got {type}")
    return tuple([type for type in body.results if isinstance(type, Tensor)])


def returned_scalar(
    view: OpView,
    body: FunctionType,
    taken: Sequence[Type],
    what: str = "body",
    elements: frozenset[str] = ANY,
) -> Tensor:
    """Returns the scalar that a body returns, which takes scalars such as `taken`."""
    if len(body.operands) != len(taken):
        view.refuse(f"needs a {what} of {len(taken)} arguments, got {len(body.operands)}")
    for argument, scalar in zip(body.operands, taken, strict=True):
        if argument != scalar:
            view.refuse(f"needs a {what} that takes {scalar}, got {argument}")
    if len(body.results) != 1:
        view.refuse(f"needs a {what} that returns 1 value, got {len(body.results)}")
    returned = holding(view, body.results[0], f"the {what}'s result", elements)
    if returned.shape:
        view.refuse(f"needs a {what} that returns a scalar, got {returned}")
    return returned


def demand_reducer(
    view: OpView,
    body: FunctionType,
    inputs: Sequence[Tensor],
    initials: Sequence[Tensor],
    allowed: Shape = (),
) -> tuple[Tensor, ...]:
    """Returns the accumulators of a body that takes them all, then an input for each.

    They have the shape of the initial values, and elements that those of the initial values and of
    the inputs are promotable to; an input's argument may keep some axes of `allowed`.
    """
    count = len(inputs)
    if len(body.operands) != 2 * count:
        view.refuse(f"needs a body of {2 * count} arguments, got {len(body.operands)}")
    returned = accumulators(view, body, count)
    for index, accumulator in enumerate(returned):
        _demand_arguments(view, body, index, accumulator)
        _demand_initial(view, accumulator, initials[index])
        _demand_input(view, body.operands[count + index], inputs[index], allowed)
    return returned


def _demand_arguments(view: OpView, body: FunctionType, index: int, accumulator: Tensor) -> None:
    left, right = body.operands[index], body.operands[len(body.results) + index]
    if not _alike(left, accumulator, precise=True):
        view.refuse(f"needs a body that takes what it returns, {accumulator}, got {left}")
    # The right argument holds an input, which may be floating-point of another precision.
    if not _alike(right, accumulator, precise=False):
        view.refuse(f"needs a body that takes what it returns, {accumulator}, got {right}")


def _alike(argument: Type, accumulator: Tensor, precise: bool) -> bool:
    if not isinstance(argument, Tensor) or not shapes_agree(argument.shape, accumulator.shape):
        return False
    if precise:
        return argument.element == accumulator.element
    return same_element(argument.element, accumulator.element)


def _demand_initial(view: OpView, accumulator: Tensor, initial: Tensor) -> None:
    if not shapes_agree(initial.shape, accumulator.shape):
        view.refuse(f"needs a body that returns the shape of {initial}, got {accumulator}")
    if not promotable(initial.element, accumulator.element):
        view.refuse(f"needs a body that returns what {initial} promotes to, got {accumulator}")


def _demand_input(view: OpView, argument: Type, taken: Tensor, allowed: Shape) -> None:
    assert isinstance(argument, Tensor), "an argument is as the accumulator"
    if not promotable(taken.element, argument.element):
        view.refuse(f"needs a body that takes what {taken} promotes to, got {argument}")
    if len(argument.shape) > len(allowed):
        view.refuse(
            f"needs a body whose arguments have rank {len(allowed)} or less, got {argument}"
        )
    # The argument's axes are some of the allowed ones, in order.
    rest = list(argument.shape)
    for extent in allowed:
        if rest and extents_agree(extent, rest[0]):
            del rest[0]
    if rest:
        view.refuse(f"needs a body whose arguments are parts of {taken}, got {argument}")
