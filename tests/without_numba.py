"""A fixture of folders whose plans leave numba alone, which compiles for seconds in each process.

What its kernels compute in plans is a subject of tests/backend.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from topos import Backend


@pytest.fixture(scope="module", autouse=True)
def without_numba() -> Iterator[None]:
    Backend.use({"numba": False})
    yield
    Backend.use(None)
