"""What is given for a module by mistake is named, with what to do instead."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from topos import runtimes, stablehlo
from topos.errors import ParseError
from topos.stablehlo.forms.binary_mistakes import artifact_in, is_exported
from topos.stablehlo.forms.models import model_in

EXPORTED = (Path(__file__).parent / "softplus.exported").read_bytes()

HLO = """HloModule jit_f, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

ENTRY main.1 {
  x.1 = f32[4]{0} parameter(0)
  ROOT tanh.1 = f32[4]{0} tanh(x.1)
}
"""
WEIGHTS = "it holds weights alone; give the module, which takes them as arguments"
COMPILED = "give the module that it was compiled from"


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """Returns a protobuf message of numbers below 128 and of bytes."""
    data = b""
    for number, value in fields:
        # Each key takes two bytes, the second of them zero for a small number.
        key = number << 3 | (2 if isinstance(value, bytes) else 0)
        data += bytes([key & 0x7F | 0x80, key >> 7])
        data += bytes([value]) if isinstance(value, int) else length(value) + value
    return data


def length(value: bytes) -> bytes:
    return bytes([len(value) & 0x7F | 0x80, len(value) >> 7])


def archive(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as members:
        for name in names:
            members.writestr(name, b"bytes")
    return stream.getvalue()


def npz() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, arg0=np.ones(3))
    return stream.getvalue()


def safetensors() -> bytes:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    header = json.dumps({"weight": entry}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(8)


NODE = message((1, b"x"), (2, b"Placeholder"))
HLO_PROTO = message(
    (1, b"jit_f"), (2, b"main.1"), (3, message((1, b"main.1"), (2, message((1, b"x.1")))))
)
ONNX = message(
    (1, 8), (2, b"pytorch"), (7, message((1, NODE), (2, b"main"))), (8, message((2, 17)))
)
MISTAKES = {
    "hlo text": (HLO.encode(), "HLO text: jax.jit(f).lower(...).as_text() is StableHLO, and XLA's"),
    "hlo module": (HLO_PROTO, "an HloModuleProto, HLO in binary form: jax.extend.mlir.hlo_to_st"),
    "hlo": (message((1, HLO_PROTO)), "an HloProto, HLO as XLA dumps it: jax.extend.mlir.hlo_to_"),
    "onnx": (ONNX, "an ONNX model: export the network that it was written from with jax.export or"),
    "onnx cut off": (ONNX[:40], "an ONNX model: "),
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(24), "a TFLite model: its operations are those of TFLi"),
    "saved model": (message((1, 1), (2, message((2, message((1, NODE)))))), "a TensorFlow SavedMo"),
    "graph": (message((1, NODE), (1, NODE)), "a graph of TensorFlow: its operations are those of"),
    "core ml": (message((1, 5), (2, b"\n\x01x"), (502, b"\n\x01a")), "a Core ML model: export the"),
    "safetensors": (safetensors(), f"a safetensors file: {WEIGHTS}"),
    "gguf": (b"GGUF\3\0\0\0", f"a GGUF file: {WEIGHTS}"),
    "npz": (npz(), f"arrays in a .npz file: {WEIGHTS}"),
    "npy": (b"\x93NUMPY\1\0", f"an array in a .npy file: {WEIGHTS}"),
    "vmfb": (archive("module.fb", "main.so"), f"a compiled module of IREE (vmfb): {COMPILED}"),
    "vmfb cut off": (archive("module.fb", "main.so")[:60], "a compiled module of IREE (vmfb): "),
    "vmfb alone": (b"\xcc\x11\0\0\x0c\0\0\0IREE\0\0", "a compiled module of IREE (vmfb): "),
    "vmfb early": (bytes(4) + b"IREE\0\0", "a compiled module of IREE (vmfb): "),
    "elf": (b"\x7fELF\2\1\1\0", f"a compiled ELF library: {COMPILED}"),
    "torch": (archive("net/data.pkl", "net/version"), "a file of torch.save (.pt): export the"),
    "pickle": (pickle.dumps({"a": 1}), "a pickle, as torch.save writes: export the model with"),
    "keras": (archive("config.json", "model.weights.h5"), "a Keras model (.keras): export the"),
    "zip": (archive("a.mlir"), "a zip archive: unpack it first"),
    "gzip": (gzip.compress(b"module {}"), "a gzip archive: unpack it first"),
    "utf-16": ("module {}".encode("utf-16"), "text in UTF-16: write it as UTF-8"),
    "utf-16 bare": ("module {}".encode("utf-16-be"), "text in UTF-16: write it as UTF-8"),
    "exported cut off": (EXPORTED[:200], "a serialized jax.export.Exported that is cut off: write"),
    "artifact cut off": (EXPORTED[:1000], "a serialized jax.export.Exported that is cut off: "),
    "empty": (b"", "nothing: the text is empty"),
    "blank": (b" \n\n", "nothing: the text is empty"),
    "comments": (b"// only\n#loc = loc(unknown)\n", "nothing: the text is empty"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid", "a pointer of Git LFS: git lfs"),
    "html": (b"<!doctype html>\n<html>", "an HTML page: download the file itself"),
    "json": (b'{\n  "programs": []\n}', "JSON: give the module that it describes"),
    "jaxpr": (b"{ lambda ; a:f32[]. let in (a,) }", "a jaxpr: jax.jit(f).lower(...).as_text()"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_what_to_do(name: str) -> None:
    data, told = MISTAKES[name]
    with pytest.raises(ParseError) as caught:
        stablehlo.parse(data)
    assert str(caught.value).startswith(f"a module needs StableHLO, got {told}")


def test_other_bytes_are_told_as_no_text() -> None:
    noise = np.random.default_rng(5).bytes(4096)
    with pytest.raises(ParseError, match=r"^a module needs UTF-8 text or MLIR bytecode: 'utf-8'"):
        stablehlo.parse(noise)
    with pytest.raises(ParseError, match=r"^line 1, column 1: "):
        stablehlo.parse(bytes(100))


def test_a_mistaken_text_is_named_as_its_bytes_are() -> None:
    for text, told in ((HLO, "HLO text"), ("nets/my model.mlirbc", "the name of a file: give a")):
        with pytest.raises(ParseError, match=f"^a module needs StableHLO, got {told}"):
            runtimes.load("interpreter").compile(text)


def test_a_folder_is_told_with_what_could_be_meant(tmp_path: Path) -> None:
    (tmp_path / "a.mlirbc").touch()
    with pytest.raises(
        ParseError, match=r"^a module is a file, and this is a folder that holds .*a"
    ):
        stablehlo.parse(tmp_path)
    (tmp_path / "saved_model.pb").touch()
    with pytest.raises(
        ParseError, match=r"^a module needs StableHLO, got a TensorFlow SavedModel:"
    ):
        stablehlo.parse(tmp_path)


def test_no_beginning_of_a_module_is_taken_for_a_mistake() -> None:
    for text in (
        "module {\n}",
        "// HloModule\nmodule {}",
        '"builtin.module"() ({}) : () -> ()',
        '#loc = loc("x.onnx")\nmodule {}',
        "{-# dialect_resources: {} #-}",
        "func.func @main() { return }",
    ):
        assert stablehlo.text_of(text.encode()) == text


def test_a_model_is_known_by_all_of_its_outer_fields() -> None:
    onnx, hlo = MISTAKES["onnx"][1][:13], MISTAKES["hlo module"][1][:15]
    assert [form_of(ONNX + message((each, b"x")))[:13] for each in (3, 4, 6, 14, 20, 25, 26)] == (
        [onnx] * 7
    )
    assert form_of(ONNX + message((5, 1)))[:13] == onnx
    # A field of another number or kind, no graph, or a message that is none.
    others: list[tuple[int, int | bytes]] = [(9, b"x"), (5, b"x"), (3, 1), (21, b"x")]
    for other in others:
        assert not form_of(ONNX + message(other))
    assert not form_of(message((1, 8), (2, b"pytorch"), (8, b"x")))
    assert not form_of(message((0, 1)))
    names: list[tuple[int, int | bytes]] = [(1, b"jit_f"), (2, b"main.1")]
    body = message((1, b"main.1"), (2, message((1, b"x"))))
    assert form_of(message(*names, (3, body))).startswith(hlo)
    near_misses: list[list[tuple[int, int | bytes]]] = [
        [*names, (3, message((1, b"main.1")))],
        [*names, (3, message((2, message((1, b"x")))))],
        [*names[:1], (3, body)],
        [names[0], (2, b"\x01"), (3, body)],
        [(1, b"\xff"), names[1], (3, body)],
        [(1, 1), names[1], (3, body)],
    ]
    for near in near_misses:
        assert not form_of(message(*near)).startswith(hlo)
    graph = "a graph of TensorFlow"
    assert form_of(message((1, NODE), (2, b"x"), (5, 1))).startswith(graph)
    assert not form_of(message((1, NODE), (6, b"x")))
    assert not form_of(message((1, message((1, b"x")))))
    assert not form_of(message((1, message((2, b"x")))))
    core: list[tuple[int, int | bytes]] = [(1, 5), (2, b"\n\x01x")]
    assert form_of(message(*core, (200, b"x"))).startswith("a Core ML model")
    assert form_of(message(*core, (10, 1), (200, b"x"))).startswith("a Core ML model")
    assert not form_of(message(*core, (199, b"x")))
    assert not form_of(message(*core, (3, 1), (200, b"x")))
    assert not form_of(message((1, b"x"), (2, b"\n\x01x"), (200, b"x")))


def form_of(data: bytes) -> str:
    """Returns what bytes are known to be, `""` for none of the models."""
    mistake = model_in(data)
    return "" if mistake is None else f"{mistake.form}: {mistake.instead}"


def test_an_export_is_known_by_the_places_of_its_fields() -> None:
    # The root stands at 60, the table of places at 4: it is 56 bytes long, the fields 96.
    def changed(at: int, value: int) -> bytes:
        return EXPORTED[:at] + value.to_bytes(2, "little") + EXPORTED[at + 2 :]

    assert [is_exported(EXPORTED[:end]) for end in (0, 3, 59, 60, 64)] == [False] * 3 + [True] * 2
    assert artifact_in(EXPORTED[:1454]) is None
    assert artifact_in(EXPORTED) == EXPORTED[288:1455]
    assert artifact_in(EXPORTED[:289]) is None
    # Of 14 fields the last one is the artifact; fewer have none.
    assert [artifact_in(changed(4, size)) is None for size in (30, 31, 32)] == [True, True, False]
    assert [is_exported(changed(4, size)) for size in (31, 32, 4 + 2 * 64)] == [False, True, False]
    # A field lies within the others, and the artifact's is there.
    assert [is_exported(changed(6, most)) for most in (1, 97)] == [False, True]
    assert not is_exported(changed(4 + 4 + 2 * 13, 0))
    assert artifact_in(changed(4 + 4 + 2 * 13, 0xFFFF)) is None
