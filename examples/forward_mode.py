"""Forward-mode differentiation, written outside topos over its public surface.

`Dual` is one more reading of the vocabulary: a value of another reading with its tangent. Over
`Tensor` it computes a Jacobian-vector product, over `Value` it records one as ordinary nodes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final, Generic, Self, TypeVar

from topos import ToposError
from topos.compiler import OPERATIONS, Element, Operation, Recordable, Table, replay
from topos.model import Network, Symbol, Tape, Tensor, absolute, f64, mean

__all__ = ["Dual", "jvp", "pushed", "tangent"]

R = TypeVar("R", bound=Recordable)
# One table serves every reading, so a rule is typed by the caller: `pushed` ties its arguments
# and its answer to one reading.
Rule = Callable[[Any, Sequence[Any], Any, Sequence[Any]], Any]

tangent: Final[Table[[Sequence[Any], Any, Sequence[Any]], Any]] = Table("tangent")
"""The tangent of a result from operation, operands, result, and the operands' tangents.

A tangent is `None` where a value is constant; a rule sees one tangent or more that are not.
"""


def rule_of(*names: str) -> Callable[[Rule], Rule]:
    """Registers the decorated function as the rule of each operation named."""
    kinds = {kind.name: kind for kind in OPERATIONS}

    def register(rule: Rule) -> Rule:
        for name in names:
            tangent.rule(kinds[name])(rule)
        return rule

    return register


@rule_of("add", "sub", "neg", "convert", "select", "gather", "scatter")
@rule_of("sum", "sum_along", "broadcast", "broadcast_along", "reshape", "permute", "transpose")
@rule_of("narrow", "pad", "concatenate", "unfold", "fold")
def linear(operation: Operation, operands: Sequence[R], output: R, tangents: Any) -> R:
    """Returns the operation applied to the tangents; masks and indices stay what they are."""
    return output.express(operation, *map(moved, operands, tangents))


def moved(operand: R, own: R | None) -> R:
    """Returns what a linear operation takes for an operand: its tangent, zeros, or the data."""
    if own is not None:
        return own
    return operand.fill(0.0) if operand.element.differentiable else operand


@rule_of("mul", "matmul")
def multilinear(operation: Operation, operands: Sequence[R], output: R, tangents: Any) -> R:
    """Returns the product rule: for each operand the operation with its tangent in its place."""
    terms = [
        output.express(operation, *operands[:place], own, *operands[place + 1 :])
        for place, own in enumerate(tangents)
        if own is not None
    ]
    return reduce(operator.add, terms)


@rule_of("div", "power", "maximum", "minimum", "map")
def elementwise(operation: Operation, operands: Sequence[R], output: R, tangents: Any) -> R:
    """Returns each tangent by the reverse rule: a diagonal Jacobian is its own transpose."""
    terms: list[Any] = [
        operation.backward(operands, output, own)[place]
        for place, own in enumerate(tangents)
        if own is not None
    ]
    result: R = reduce(operator.add, terms)
    return result


@rule_of("step", "compare")
def flat(operation: Operation, operands: Sequence[R], output: R, tangents: Any) -> None:
    """Returns no tangent: between its jumps the result is constant."""


@rule_of("max_along")
def largest(operation: Any, operands: Sequence[R], output: R, tangents: Sequence[R]) -> R:
    """Returns the tangent of the element that the reverse rule sends the gradient to."""
    (chosen,) = operation.backward(operands, output, output.fill(1.0))
    (own,) = tangents
    taken: R = chosen.equal(1.0).select(own, own.fill(0.0))
    return taken.sum(operation.axes)


@rule_of("log_softmax")
def log_softmax(operation: Any, operands: Sequence[R], output: R, tangents: Sequence[R]) -> R:
    """Returns the tangent less its mean under the softmax."""
    axes, (own,) = (operation.axis,), tangents
    average = (output.exp() * own).sum(axes)
    return own - average.broadcast_along(axes, (output.shape[operation.axis],))


@rule_of("log_sum_exp")
def log_sum_exp(operation: Any, operands: Sequence[R], output: R, tangents: Sequence[R]) -> R:
    """Returns the mean of the tangent under the softmax."""
    axes, (operand,), (own,) = (operation.axis,), operands, tangents
    spread = output.broadcast_along(axes, (operand.shape[operation.axis],))
    return ((operand - spread).exp() * own).sum(axes)


def pushed(
    operation: Operation, operands: Sequence[R], output: R, tangents: Sequence[R | None]
) -> R | None:
    """Returns the tangent of `output`, or `None` where no operand moves it."""
    if not output.element.differentiable or all(own is None for own in tangents):
        return None
    result: R | None = tangent(operation, operands, output, tangents)
    return result


class Dual(Recordable, Generic[R]):
    """A value of another reading with its tangent; without one it is a constant."""

    __slots__ = ("primal", "tangent")

    def __init__(self, primal: R, tangent: R | None = None) -> None:
        if tangent is not None and not fits(tangent, primal):
            raise DualError(f"a tangent needs a floating primal of its type, got {primal!r}")
        self.primal, self.tangent = primal, tangent

    @property
    def shape(self) -> tuple[int, ...]:
        return self.primal.shape

    @property
    def element(self) -> Element:
        return self.primal.element

    def express(self, operation: Operation, *operands: Self) -> Self:
        primals = [operand.primal for operand in operands]
        output = self.primal.express(operation, *primals)
        tangents = [operand.tangent for operand in operands]
        return type(self)(output, pushed(operation, primals, output, tangents))

    def fill(self, number: int | float) -> Self:
        return type(self)(self.primal.fill(number))

    def iota(self, shape: tuple[int, ...]) -> Self:
        return type(self)(self.primal.iota(shape))


class DualError(ToposError, ValueError):
    """A tangent that does not fit its primal."""


def fits(tangent: Recordable, primal: Recordable) -> bool:
    """Returns whether `primal` has a derivative and `tangent` its shape and element."""
    own, needed = (tangent.shape, tangent.element), (primal.shape, primal.element)
    return primal.element.differentiable and own == needed


def jvp(
    function: Callable[..., Dual[R]], primals: Sequence[R], tangents: Sequence[R | None]
) -> tuple[R, R]:
    """Returns `function(*primals)` and its derivative along `tangents`, of which some are `None`.

    Both are tensors where the primals are, and recorded values where those are.
    """
    duals = [Dual(primal, own) for primal, own in zip(primals, tangents, strict=True)]
    result = function(*duals)
    own = result.primal.fill(0) if result.tangent is None else result.tangent
    return result.primal, own


def replayed(network: Network, result: Symbol, tangents: Mapping[Symbol, Tensor]) -> Dual[Tensor]:
    """Returns the value of `result`, with its derivative as the parameters move by `tangents`."""
    recorded = [node for node in network.nodes() if node.symbol.position <= result.position]
    sources = [node.symbol for node in recorded if not node.operands]
    run = network.entry(sources).interpret()
    values = {symbol.position: Dual(run.of(symbol), tangents.get(symbol)) for symbol in sources}
    replay(network.columns, range(len(recorded)), values)
    return values[result.position]


# Nine of Fisher's irises (1936), three of a species: sepal and petal, length and width, in cm.
IRISES: Final = [
    [[5.1, 3.5, 1.4, 0.2], [4.9, 3.0, 1.4, 0.2], [4.7, 3.2, 1.3, 0.2]],
    [[7.0, 3.2, 4.7, 1.4], [6.4, 3.2, 4.5, 1.5], [6.9, 3.1, 4.9, 1.5]],
    [[6.3, 3.3, 6.0, 2.5], [5.8, 2.7, 5.1, 1.9], [7.1, 3.0, 5.9, 2.1]],
]
SPECIES: Final = [[[float(own == row) for own in range(3)]] * 3 for row in range(3)]


def surprise(weights: R, irises: R, species: R) -> R:
    """Returns the mean of minus the log-likelihood of each iris's species."""
    scores = (irises @ weights).tanh().log_softmax(1)
    return -mean((species * scores).sum((1,)))


def main() -> int:
    """Prints a slope four ways and a Hessian-vector product two ways."""
    start = Tensor([[0.1, -0.2, 0.3], [0.4, 0.1, -0.3], [-0.5, 0.2, 0.4], [0.3, -0.1, 0.2]], f64)
    along = start * start - 0.1
    irises, species = Tensor(IRISES, f64).reshape((9, 4)), Tensor(SPECIES, f64).reshape((9, 3))

    tape = Tape(element=f64)
    weights, direction = tape.parameter(start), tape.leaf(along)
    constants = [tape.leaf(irises), tape.leaf(species)]
    first = tape.differentiate(surprise(weights, *constants), [weights])
    descent = tape.value(first.of(weights)) * direction
    second = tape.differentiate(descent.sum(), [weights])
    jvp(surprise, [weights, *constants], [direction, None, None])[1].named("slope")
    gradient, product = first.of(weights), second.of(weights)
    network = tape.into_network()

    value, slope = jvp(surprise, [start, irises, species], [along, None, None])
    plan = network.entry(["slope"]).lower()
    run = network.entry([gradient, product]).interpret()
    print(f"loss {value.item():.6f}; its slope along a direction:")
    print(f"  {slope.item():.17f}  forward, computed over tensors")
    print(f"  {plan.forward().of('slope').item():.17f}  forward, recorded: {plan!r}")
    text_slope = plan.compile("interpreter", numerics="exact").forward().of("slope")
    print(f"  {text_slope.item():.17f}  the same as StableHLO")
    print(f"  {(run.of(gradient) * along).sum().item():.17f}  reverse: gradient times direction")

    curvature = replayed(network, gradient, {weights.symbol: along}).tangent
    assert curvature is not None
    print("the gradient's own slope along it, the Hessian times the direction, first row:")
    print(f"  {curvature.numpy()[0]}  forward over reverse")
    print(f"  {run.of(product).numpy()[0]}  reverse over reverse")
    furthest = absolute(curvature - run.of(product)).max().item()
    print(f"  {furthest:.1e} apart at most")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
