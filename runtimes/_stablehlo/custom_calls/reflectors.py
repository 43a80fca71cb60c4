"""Elementary reflectors: the products that a QR factorization is stored as."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["reflected"]

Array = npt.NDArray[Any]


def reflected(vectors: Array, scales: Array, matrix: Array, *, adjoint: bool) -> Array:
    """Returns Q times `matrix`, or its adjoint times it, `[m, n]`.

    Q is the product H1 H2 ... of Hi = 1 - t v v^H, where t is an element of `scales` and v a
    column of `vectors`, `[m, k]`, with one on the diagonal and zeros above (LAPACK Users' Guide,
    section 5.4).
    """
    result = np.array(matrix)
    count = len(scales)
    # The reflector nearest to the matrix comes first.
    for place in range(count) if adjoint else reversed(range(count)):
        vector = np.array(vectors[place:, place])
        vector[:1] = 1
        scale = np.conjugate(scales[place]) if adjoint else scales[place]
        rows = result[place:]
        rows -= np.outer(scale * vector, np.conjugate(vector) @ rows)
    return result
