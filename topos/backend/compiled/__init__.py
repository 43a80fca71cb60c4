"""Kernels written as scalar loops for numba, each the twin of one in `topos.payload.kernels`.

A module here imports numba and is imported only where numba is installed. No kernel calls the C
library, and none may be reassociated or contracted: `OPTIONS` forbids both.
"""

from typing import Any, Final

__all__ = ["OPTIONS"]

OPTIONS: Final[dict[str, Any]] = {
    "fastmath": False,
    "error_model": "numpy",
    "boundscheck": False,
    "cache": True,
    "nogil": True,
}
