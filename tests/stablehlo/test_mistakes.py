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
