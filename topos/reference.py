"""The oracle's kernels, re-exported for differential tests outside this project.

Each function takes and returns numpy arrays, and its docstring states the definition of its bits.
docs/guides/oracle.md gives the reasons, and says how to check a value without this project.
"""

from topos.payload.kernels import arithmetic as arithmetic
from topos.payload.kernels import comparison as comparison
from topos.payload.kernels import conversion as conversion
from topos.payload.kernels import maps as maps
from topos.payload.kernels import power as power
from topos.payload.kernels import product as product
from topos.payload.kernels import reduction as reduction
from topos.payload.kernels import selection as selection
from topos.payload.kernels import stable as stable
from topos.payload.kernels import window as window

__all__ = [name for name in dir() if not name.startswith("_")]
