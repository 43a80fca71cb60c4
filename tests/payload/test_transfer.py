"""Transfers: the elements of numpy's own copy, however the source lies."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from topos.payload.storage import aligned
from topos.payload.transfer import transfer


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16, np.int8], ids=str)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((600, 700), (1, 0)),
        ((513, 129), (1, 0)),
        ((33, 5000), (1, 0)),
        ((31, 5000), (1, 0)),
        ((3, 200, 300), (0, 2, 1)),
        ((200, 5, 300), (2, 1, 0)),
        ((200, 5, 300), (2, 0, 1)),
        ((200, 300, 4), (1, 0, 2)),
        ((0, 300), (1, 0)),
    ],
    ids=str,
)
def test_a_transfer_is_numpys_copy(
    shape: tuple[int, ...], axes: tuple[int, ...], dtype: type[np.generic]
) -> None:
    generator = np.random.default_rng(1)
    numbers = generator.integers(-100, 100, shape).astype(dtype)
    for source in (numbers.transpose(axes), numbers.transpose(axes)[..., ::-1], numbers[::-1].T):
        target = aligned(source.shape, source.dtype)
        transfer(source, target)
        assert target.tobytes() == source.tobytes()
