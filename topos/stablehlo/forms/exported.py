"""The bytes of `jax.export.Exported.serialize()`: a flatbuffer that holds a portable artifact."""

from __future__ import annotations

import struct
from typing import Final

from topos.stablehlo.forms.mistakes import Mistake

# How MLIR's bytecode begins: https://mlir.llvm.org/docs/BytecodeFormat.
MAGIC: Final = b"ML\xefR"
# The place of `mlir_module_serialized` among the fields of jax's table; a schema only appends.
SLOT: Final = 13
MOST: Final = 64
CUT_OFF: Final = Mistake(
    "a serialized jax.export.Exported that is cut off", "write all the bytes of serialize()"
)


def artifact_in(data: bytes) -> bytes | None:
    """Returns the portable artifact of a serialized `Exported`, or None where there is none.

    jax itself needs the package flatbuffers to read these bytes, and they have no identifier: they
    are known by the artifact that stands where the schema puts it.
    """
    try:
        (root,) = struct.unpack_from("<I", data)
        (back,) = struct.unpack_from("<i", data, root)
        table = root - back
        size, slot = *struct.unpack_from("<H", data, table), 4 + 2 * SLOT
        if size < slot + 2:
            return None
        (field,) = struct.unpack_from("<H", data, table + slot)
        at = root + field
        at += struct.unpack_from("<I", data, at)[0]
        (length,) = struct.unpack_from("<I", data, at)
    # An offset that leads out of the bytes, behind their end or before their start.
    except struct.error:
        return None
    artifact = data[at + 4 : at + 4 + length]
    return artifact if len(artifact) == length and artifact.startswith(MAGIC) else None


def is_exported(data: bytes) -> bool:
    """Returns whether bytes begin as a serialized `Exported` does: with the places of its fields.

    Where the bytes end before they tell where these stand, they stand first.
    """
    try:
        (root,) = struct.unpack_from("<I", data)
        table = root - struct.unpack_from("<i", data, root)[0] if root + 4 <= len(data) else 4
        size, inline = struct.unpack_from("<HH", data, table)
        count = (size - 4) // 2
        places = struct.unpack_from(f"<{count}H", data, table + 4) if SLOT < count < MOST else ()
    except struct.error:
        return False
    return bool(places) and all(place < inline for place in places) and places[SLOT] > 0
