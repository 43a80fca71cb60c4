"""Convolution: patches of the input by the kernel, or, of one feature each, a place at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from topos.errors import ExecutionError
from topos.payload.kernels.canonical import canonical
from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.contraction import Product, product_of
from topos.runtimes.interpreter.kernels.sliding import Sliding, blocks
from topos.runtimes.interpreter.program import Array, Axes, Kernel
from topos.stablehlo.dialect import convolutions as dialect
from topos.stablehlo.types import dtype_of, extents

# The elements of the patches that are held at once.
_BLOCK: Final = 1 << 20
# Sums and products of so many elements lie in the second-level cache together.
_LINES: Final = 1 << 16
# Fewer groups of one feature are as well served by products of matrices.
_GROUPS: Final = 8


def _convolution(
    context: BuildContext[dialect.Convolution | dialect.DynamicConv],
) -> Kernel:
    op = context.op
    numbers = op.dimension_numbers
    features = numbers.kernel_output_feature_dimension, numbers.kernel_input_feature_dimension
    order = (*features, *numbers.kernel_spatial_dimensions)
    source, kernel = context.operands[:2]
    (result,) = context.results
    size = tuple(extents(kernel)[axis] for axis in order[2:])
    # The operand of the dynamic form says it only once it runs.
    padding = op.padding if isinstance(op, dialect.Convolution) else ()
    depth = extents(kernel)[order[1]] * math.prod(size)
    placed = tuple(extents(source)[axis] for axis in numbers.input)
    sliding = Sliding.of(context, placed, size, padding, op.lhs_dilation, op.rhs_dilation)
    return _Convolution(
        product=product_of(context.exact, [*map(dtype_of, (source, kernel, result))], depth),
        input=numbers.input,
        kernel=order,
        output=numbers.output,
        sliding=sliding,
        reversal=op.window_reversal or (False,) * len(size),
        groups=(op.batch_group_count, op.feature_group_count),
        shape=tuple(extents(result)[axis] for axis in numbers.output),
        dynamic=len(context.operands) == 3,
        exact=context.exact,
    )


@dataclass(frozen=True, slots=True)
class _Convolution:
    """Convolution of an input by a kernel, and by a padding that may be the third operand.

    Exact: every element of the output is the sum over the input's features, slowest, and over the
    kernel's places in row-major order, as `Product` sums. In Fast the features are the fastest,
    which makes patches that are quicker to copy. `input`, `kernel` and `output` are their axes of
    batch, feature and space; a kernel has output features in place of a batch. `shape` is the
    output's as [batch, feature, spatial].
    """

    product: Product
    input: Axes
    kernel: Axes
    output: Axes
    sliding: Sliding
    reversal: tuple[bool, ...]
    groups: tuple[int, int]
    shape: Axes
    dynamic: bool
    exact: bool

    def __call__(self, source: Array, kernel: Array, *padding: Array) -> Array:
        sliding = self._padded(source, padding[0]) if self.dynamic else self.sliding
        plain = self._each if self._is_depthwise(kernel) else self._all
        return plain(source, kernel, sliding).transpose(np.argsort(self.output))

    def _is_depthwise(self, kernel: Array) -> bool:
        one = kernel.shape[self.kernel[1]] == 1 and self.product.compute.kind != "c"
        return one and self.groups[0] == 1 and self.groups[1] >= _GROUPS and 0 not in self.shape

    def _each(self, source: Array, kernel: Array, sliding: Sliding) -> Array:
        """Returns the output of groups of one feature as [batch, feature, space].

        A sum adds the rounded product of each place in row-major order, with no patches and no
        product of matrices for each feature.
        """
        images = self.product.enter(np.moveaxis(source.transpose(self.input), 1, -1))
        weights = self.product.enter(np.moveaxis(kernel.transpose(self.kernel)[:, 0], 0, -1))
        counts, features = self.shape[2:], weights.shape[-1]
        # The features follow the axes of space.
        steps = ((*sliding.stride, 1), (*sliding.padding, (0, 0)), (*sliding.base, 1))
        wide = Sliding((*sliding.size, 1), *steps, (*sliding.dilation, 1))
        placed = wide.placed(np.repeat(images, features // self.groups[1], axis=-1), 0)
        result = np.empty((len(images), *counts, features), self.product.result)
        for block in blocks(result.shape[:-1], max(1, _LINES // features)):
            total = np.zeros(result[block].shape, self.product.compute)
            term = np.empty_like(total)
            for place in sliding.offsets():
                parts = zip(place, sliding.size, self.reversal, strict=True)
                offset = tuple(size - 1 - at if back else at for at, size, back in parts)
                operand = placed[wide.at((*offset, 0), (*counts, features))]
                np.multiply(operand[block], weights[place], out=term)
                np.add(total, term, out=total)
            result[block] = self.product.leave(canonical(total))
        return np.moveaxis(result, -1, 1)

    def _all(self, source: Array, kernel: Array, sliding: Sliding) -> Array:
        """Returns the output of any groups as [batch, feature, space]."""
        weights, images = self._weights(kernel), self._images(source)
        batch, features, *spatial = self.shape
        result = np.zeros((len(weights), batch, *spatial, weights.shape[-1]), self.product.result)
        if result.size:
            placed = sliding.placed(images, 0)
            windows = sliding.windows(placed, tuple(spatial), self.reversal)
            self._multiply(windows, weights, result)
        # [group, batch, spatial, feature] becomes [batch, group and feature, spatial].
        last = result.ndim - 1
        order = (1, 0, last, *range(2, last))
        return result.transpose(order).reshape(batch, features, *spatial)

    def _multiply(self, windows: Array, weights: Array, result: Array) -> None:
        """Writes the products of [group, batch, feature, spatial, size] and the weights."""
        groups, depth, columns = weights.shape
        rank = len(self.sliding.size)
        spatial = tuple(range(3, 3 + rank))
        places = tuple(range(3 + rank, windows.ndim))
        terms = (2, *places) if self.exact else (*places, 2)
        rows = windows.transpose(0, 1, *spatial, *terms)
        for block in blocks(result.shape[1:-1], max(1, _BLOCK // max(1, groups * depth))):
            patches = rows[:, *block]
            shape = patches.shape[1 : 2 + rank]
            total = self.product.multiply(patches.reshape(groups, math.prod(shape), depth), weights)
            result[:, *block] = self.product.leave(total).reshape(groups, *shape, columns)

    def _weights(self, kernel: Array) -> Array:
        """Returns the kernel as [group, input feature and place, output feature]."""
        plain = self.product.enter(kernel.transpose(self.kernel))
        if not self.exact:
            plain = np.moveaxis(plain, 1, -1)
        groups = math.prod(self.groups)
        grouped = plain.reshape(groups, plain.shape[0] // groups, math.prod(plain.shape[1:]))
        return np.ascontiguousarray(grouped.transpose(0, 2, 1))

    def _images(self, source: Array) -> Array:
        """Returns the input as [group, batch, feature, spatial]."""
        plain = self.product.enter(source.transpose(self.input))
        batch, features, *spatial = plain.shape
        batches, groups = self.groups
        if groups > 1:
            return plain.reshape(batch, groups, features // groups, *spatial).swapaxes(0, 1)
        return plain.reshape(batches, batch // batches, features, *spatial)

    def _padded(self, source: Array, padding: Array) -> Sliding:
        """Returns the windows with a padding from the run, which must give the stated shape."""
        ends = tuple((int(low), int(high)) for low, high in padding.tolist())
        sliding = replace(self.sliding, padding=ends)
        counts = sliding.counts(tuple(source.shape[axis] for axis in self.input[2:]))
        if counts != self.shape[2:]:
            raise ExecutionError(
                f"stablehlo.dynamic_conv needs a padding for {list(self.shape[2:])} windows,"
                f" got {[list(pair) for pair in ends]} for {list(counts)}"
            )
        return sliding


BUILDERS: Final[Builders] = {
    dialect.Convolution: _convolution,
    dialect.DynamicConv: _convolution,
}
