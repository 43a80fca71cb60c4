"""Plans of these tests leave numba alone."""

from tests.without_numba import without_numba

__all__ = ["without_numba"]
