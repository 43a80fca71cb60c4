"""What the reference interpreter gets wrong or lacks, written as what it gets right.

The formulas of batch normalization and their order are those of the StableHLO specification,
sections batch_norm_training, batch_norm_inference and batch_norm_grad.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer, operations_of

# Bodies that give the same for the initial value once and twice.
IDEMPOTENT: Final = frozenset(
    {"stablehlo.and", "stablehlo.maximum", "stablehlo.minimum", "stablehlo.or"}
)


def rewrite(ir: Binding, module: Binding) -> None:
    """Rewrites scatters and normalizations of `module`.

    Raises `UnsupportedError` for a scatter that has no right form.
    """
    for operation in operations_of(ir, module):
        if operation.name == "stablehlo.scatter":
            _copy_operands(ir, operation)
        elif operation.name == "stablehlo.select_and_scatter":
            _start_once(ir, operation)
        elif operation.name in BATCH_NORMS:
            _expand(ir, operation)


def _copy_operands(ir: Binding, operation: Binding) -> None:
    """Gives a scatter operands of its own: the interpreter writes into them."""
    for place in range(len(operation.results)):
        operation.operands[place] = Writer(ir, operation)("reshape", operation.operands[place])


def _start_once(ir: Binding, operation: Binding) -> None:
    """Adds the initial value of a select_and_scatter behind it, where it is read twice."""
    body = operation.regions[1].blocks[0]
    first, *others = body.operations
    given = [each.name for each in others] == ["stablehlo.return"] and {*first.operands}
    if given != {*body.arguments} or first.name not in IDEMPOTENT | {"stablehlo.add"}:
        raise UnsupportedError(
            "the reference interpreter takes a select_and_scatter that adds, or takes the largest "
            "or smallest, alone"
        )
    if first.name in IDEMPOTENT:
        return
    initial, result = operation.operands[2], operation.results[0]
    element = str(initial.type.element_type)
    # What changes no number that is added to it, the sign of a zero included.
    nothing = "0" if isinstance(initial.type.element_type, ir.IntegerType) else "-0.0"
    nothing = {"i1": "false"}.get(element, nothing)
    nothing = f"({nothing}, {nothing})" if element.startswith("complex") else nothing
    operation.operands[2] = Writer(ir, operation).constant(nothing, initial.type)
    write = Writer(ir, operation, behind=True)
    total = write("add", result, write.broadcast(initial, [], result.type))
    result.replace_all_uses_except(total, total.owner.operation)


def _expand(ir: Binding, operation: Binding) -> None:
    """Replaces a batch normalization, inside the module's own context."""
    results = BATCH_NORMS[operation.name](_Normalization(ir, operation))
    for old, new in zip(operation.results, results, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()


class _Normalization:
    """The pieces that the three formulas share, for one operation."""

    def __init__(self, ir: Binding, operation: Binding) -> None:
        self.write = write = Writer(ir, operation)
        self.operands = list(operation.operands)
        self.type = self.operands[0].type
        self.feature = ir.IntegerAttr(operation.attributes["feature_index"]).value
        self.others = [axis for axis in range(self.type.rank) if axis != self.feature]
        epsilon = ir.FloatAttr(operation.attributes["epsilon"]).value
        self.epsilon = write.constant(f"{epsilon:.17e}", self.type)
        count = prod(self.type.shape[axis] for axis in self.others)
        self.count = write.constant(f"{count:.17e}", self.type)

    def spread(self, feature: Binding) -> Binding:
        """Returns a value of shape `[features]` broadcast to the operand's shape."""
        return self.write.broadcast(feature, [self.feature], self.type)

    def sum(self, value: Binding) -> Binding:
        """Returns the sum of `value` over every axis but the features'."""
        write, element = self.write, self.type.element_type
        scalar = write.type([], element)
        vector = write.type([self.type.shape[self.feature]], element)
        given = [value, write.zero(scalar)]
        reduction = write.add("reduce", given, [vector], {"dimensions": self.others}, regions=1)
        terms, inner = write.body(reduction, scalar, scalar)
        inner.add("return", [inner("add", *terms)], [])
        return reduction.results[0]

    def mean(self, value: Binding) -> Binding:
        """Returns the mean of `value` over every axis but the features', broadcast back."""
        return self.write("divide", self.spread(self.sum(value)), self.count)

    def narrowed(self, value: Binding) -> Binding:
        """Returns a broadcast value as the feature vector it came from."""
        shape = self.type.shape
        limits = [shape[axis] if axis == self.feature else 1 for axis in range(len(shape))]
        first = self.write.slice(value, [0] * len(shape), limits)
        vector = self.write.type([shape[self.feature]], self.type.element_type)
        return self.write("reshape", first, to=vector)

    def deviation(self, variance: Binding) -> Binding:
        """Returns the standard deviation with epsilon inside the root, at the operand's shape."""
        return self.write("sqrt", self.write("add", variance, self.epsilon))

    def normalize(
        self, scale: Binding, offset: Binding, mean: Binding, variance: Binding
    ) -> Binding:
        """Returns the operand normalized; `mean` and `variance` have its shape already."""
        write = self.write
        centered = write("subtract", self.operands[0], mean)
        normalized = write("divide", centered, self.deviation(variance))
        return write("add", write("multiply", self.spread(scale), normalized), self.spread(offset))


def _inference(form: _Normalization) -> list[Binding]:
    _, scale, offset, mean, variance = form.operands
    return [form.normalize(scale, offset, form.spread(mean), form.spread(variance))]


def _training(form: _Normalization) -> list[Binding]:
    operand, scale, offset = form.operands
    mean = form.mean(operand)
    centered = form.write("subtract", operand, mean)
    variance = form.mean(form.write("multiply", centered, centered))
    output = form.normalize(scale, offset, mean, variance)
    return [output, form.narrowed(mean), form.narrowed(variance)]


def _gradient(form: _Normalization) -> list[Binding]:
    write = form.write
    operand, scale, mean, variance, cotangent = form.operands
    spread_variance = form.spread(variance)
    deviation = form.deviation(spread_variance)
    centered = write("subtract", operand, form.spread(mean))
    whole = write("multiply", cotangent, form.count)
    total = form.sum(cotangent)
    correlation = form.spread(form.sum(write("multiply", cotangent, centered)))
    product = write("multiply", correlation, centered)
    correction = write("divide", product, write("add", spread_variance, form.epsilon))
    residual = write("subtract", write("subtract", whole, form.spread(total)), correction)
    factor = write("divide", write("divide", form.spread(scale), deviation), form.count)
    normalized = write("divide", centered, deviation)
    return [
        write("multiply", factor, residual),
        form.sum(write("multiply", cotangent, normalized)),
        total,
    ]


BATCH_NORMS: Final[Mapping[str, Callable[[_Normalization], list[Binding]]]] = {
    "stablehlo.batch_norm_grad": _gradient,
    "stablehlo.batch_norm_inference": _inference,
    "stablehlo.batch_norm_training": _training,
}
