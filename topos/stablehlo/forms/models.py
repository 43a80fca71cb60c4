"""Models in protobuf, known by their outermost fields: ONNX, XLA's HLO, TensorFlow, Core ML."""

from __future__ import annotations

from typing import Final, NamedTuple

from topos.stablehlo.forms.mistakes import SAVED_MODEL, TENSORFLOW, Mistake

# https://protobuf.dev/programming-guides/encoding.
VARINT, DOUBLE, BYTES, SINGLE = 0, 1, 2, 5
WIDTHS: Final = {DOUBLE: 8, SINGLE: 4}
LONGEST_VARINT: Final = 10
# A model has its graph among its first fields; what repeats may repeat a million times.
MOST_FIELDS: Final = 64
ONNX: Final = Mistake(
    "an ONNX model",
    "export the network that it was written from with jax.export or torch_xla, or convert the file "
    "with onnx-mlir --EmitONNXIR and onnx-mlir-opt --convert-onnx-to-stablehlo",
)
HLO: Final = Mistake(
    "an HloModuleProto, HLO in binary form",
    "jax.extend.mlir.hlo_to_stablehlo turns its bytes into MLIR bytecode",
)
HLO_PROTO: Final = Mistake(
    "an HloProto, HLO as XLA dumps it",
    "jax.extend.mlir.hlo_to_stablehlo turns the bytes of its hlo_module into MLIR bytecode",
)
GRAPH: Final = Mistake("a graph of TensorFlow", TENSORFLOW)
CORE_ML: Final = Mistake(
    "a Core ML model",
    "export the model that it was converted from, with jax.export or torch_xla",
)
# The fields of onnx.ModelProto by number: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
ONNX_FIELDS: Final = {
    **dict.fromkeys((1, 5), VARINT),
    **dict.fromkeys((2, 3, 4, 6, 7, 8, 14, 20, 25, 26), BYTES),
}
ONNX_GRAPH: Final = 7
FIRST_CORE_ML_MODEL: Final = 200


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


def model_in(data: bytes) -> Mistake | None:
    """Returns what model the bytes are and what to do with it, or None where they are none."""
    found = fields(data)
    if not found:
        return None
    numbers = {each.number for each in found}
    if _is_hlo(found):
        return HLO
    if _is_hlo(_inner(found, 1)):
        return HLO_PROTO
    fits_onnx = all(ONNX_FIELDS.get(each.number) == each.kind for each in found)
    if ONNX_GRAPH in numbers and fits_onnx:
        return ONNX
    if found[0].kind == VARINT and found[0].number == 1:
        # The version of a schema, and graphs with their tags; or what describes a Core ML model.
        if numbers == {1, 2} and numbers >= {each.number for each in _inner(found, 2)}:
            return SAVED_MODEL
        if max(numbers) >= FIRST_CORE_ML_MODEL and numbers - {1, 2, 10} == {max(numbers)}:
            return CORE_ML
    # A node of TensorFlow has a name and an operation.
    node = _inner(found, 1)
    is_graph = _name(node, 1) and _name(node, 2) and numbers <= {1, 2, 3, 4, 5}
    return GRAPH if is_graph else None


def _is_hlo(found: list[Field]) -> bool:
    """Returns whether the fields are those of an HloModuleProto: names, then computations."""
    kinds = {each.number: each.kind for each in found}
    if any(kinds.get(number) != BYTES for number in (1, 2, 3)):
        return False
    computation = _inner(found, 3)
    named = _name(found, 1) and _name(found, 2) and _name(computation, 1)
    return named and any(each.number == 2 for each in computation)


def _inner(found: list[Field], number: int) -> list[Field]:
    """Returns the fields of the first field of that number; none where it is no message."""
    for each in found:
        if each.number == number and isinstance(each.value, memoryview):
            return fields(each.value)
    return []


def _name(found: list[Field], number: int) -> bool:
    """Returns whether the first field of that number is a name that can be printed."""
    for each in found:
        if each.number == number and isinstance(each.value, memoryview):
            text = bytes(each.value).decode("utf-8", errors="replace")
            return bool(text) and text.isprintable() and "\ufffd" not in text
    return False
