"""The fields of a protobuf message, by which a file of a model is known."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["BYTES", "VARINT", "Field", "fields"]

# https://protobuf.dev/programming-guides/encoding.
VARINT, DOUBLE, BYTES, SINGLE = 0, 1, 2, 5
WIDTHS: Final = {DOUBLE: 8, SINGLE: 4}
LONGEST_VARINT: Final = 10
# A model has its graph among its first fields; what repeats may repeat a million times.
MOST_FIELDS: Final = 64


class Field(NamedTuple):
    """A field's number, the kind of its value on the wire, and that value.

    A value is a whole number of the kind `VARINT`, and bytes of any other.
    """

    number: int
    kind: int
    value: int | memoryview


def fields(message: bytes | memoryview) -> list[Field]:
    """Returns the first fields of a message; none where the bytes are no message.

    The last one may be cut off, as that of a file that is not whole.
    """
    data, position, found = memoryview(message), 0, list[Field]()
    while position < len(data) and len(found) < MOST_FIELDS:
        key, position = _varint(data, position)
        number, kind = key >> 3, key & 7
        if key < 0 or not number:
            return []
        if kind == VARINT:
            value, position = _varint(data, position)
            if value < 0:
                return []
            found.append(Field(number, kind, value))
            continue
        length, position = (WIDTHS.get(kind, -1), position)
        if kind == BYTES:
            length, position = _varint(data, position)
        if length < 0:
            return []
        found.append(Field(number, kind, data[position : position + length]))
        position += length
    return found


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    """Returns a number and the position behind it; the number is -1 where there is none."""
    number = 0
    for place, byte in enumerate(data[position : position + LONGEST_VARINT]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, position + place + 1
    return -1, position
