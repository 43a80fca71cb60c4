"""The reading that scans a Fast run: tensors whose operations run Fast kernels."""

from __future__ import annotations

from typing import Self

import numpy as np

from topos.op import Operation
from topos.reading import Tensor

__all__ = ["FastTensor"]


class FastTensor(Tensor):
    """A tensor that computes each operation as a Fast plan does, node by node."""

    __slots__ = ()

    def express(self, operation: Operation, *operands: Self) -> Self:
        types = [operand.type for operand in operands]
        inferred = operation.infer(*types)
        kernel = operation.fast(*types)
        arrays = [operand._array for operand in operands]
        with np.errstate(all="ignore"):
            if not kernel.writes:
                return self.wrap(kernel.function(*arrays), inferred.element)
            out = np.empty(inferred.shape, inferred.element.dtype)
            kernel.function(*arrays, out=out)
        return self.wrap(out, inferred.element)
