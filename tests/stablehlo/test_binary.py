"""Every form that a module comes in is the same module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.project.paths import ROOT
from tests.stablehlo.binary_forms import artifact_of, bytecode_of, parsed
from topos import runtimes, stablehlo
from topos.errors import ArgumentError, ParseError, UnavailableError, UnsupportedError, VerifyError
from topos.stablehlo.forms import binary
from topos.stablehlo.forms.binary import bytecode_text, printed

jax = pytest.importorskip("jax")

TEXT = """module @norm {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %cst = stablehlo.constant dense<[5.000000e-01, 2.000000e+00, 0x7FC00000]> : tensor<3xf32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<2x3xf32>
    return %1 : tensor<2x3xf32>
  }
}
"""
ARRAY = np.linspace(-4, 4, 15, dtype=np.float32).reshape(5, 3)
# What jax 0.10 wrote for `softplus` below of a 5 x 3 array, with `serialize()`.
SERIALIZED = (Path(__file__).parent / "softplus.exported").read_bytes()


def softplus(array: Any) -> Any:
    return jax.numpy.logaddexp(array, 0.0).sum(axis=0)


@pytest.mark.parametrize("name", ["constant", "custom_call", "chlo_top_k", "scatter", "while"])
def test_bytecode_is_read_as_jaxlib_prints_it(name: str) -> None:
    text = (ROOT / "tests" / "gallery" / f"{name}.mlir").read_text(encoding="utf-8")
    _, module = parsed(text)
    # Bytes that jaxlib wrote a line above do not end this process.
    assert printed(bytecode_of(text)) == str(module.operation.get_asm())


def test_every_form_of_an_exported_function_runs_to_the_same_bits() -> None:
    exported = jax.export.export(jax.jit(softplus))(jax.ShapeDtypeStruct((5, 3), "float32"))
    lowered = jax.jit(softplus).lower(ARRAY)
    interpreter = runtimes.load("interpreter")
    forms = (exported, lowered, lowered.compiler_ir())
    texts = {stablehlo.text_of(form) for form in (*forms, stablehlo.parse(exported))}
    results = [interpreter.compile(text, numerics="exact")(ARRAY) for text in texts]
    assert len({result.tobytes() for (result,) in results}) == 1
    np.testing.assert_allclose(results[0][0], softplus(ARRAY), rtol=1e-6)


def test_a_file_of_text_may_have_a_mark_and_line_ends_of_windows(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes("\ufeff".encode() + TEXT.replace("\n", "\r\n").encode())
    assert stablehlo.text_of(tmp_path / "m") == TEXT


def test_a_foreign_runtime_compiles_the_bytes_of_an_export() -> None:
    (result,) = runtimes.load("xla").compile(bytearray(SERIALIZED))(ARRAY)
    np.testing.assert_allclose(result, softplus(ARRAY), rtol=1e-6)


def test_without_jaxlib_a_binary_form_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    data = artifact_of(TEXT)
    monkeypatch.setitem(sys.modules, "jaxlib", None)
    for form in (data, SERIALIZED):
        with pytest.raises(UnavailableError) as caught:
            stablehlo.parse(form)
        assert str(caught.value) == "MLIR bytecode needs jaxlib: pip install 'topos-compiler[xla]'"
    runtimes.verify(TEXT.encode())


def test_a_file_of_bytecode_is_read_as_its_text_and_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "no_suffix"
    path.write_bytes(bytecode_of(TEXT))
    program = (
        "import sys, pathlib; from topos import stablehlo; "
        "print(stablehlo.parse(pathlib.Path(sys.argv[1])), end='');"
        "assert not {'jax', 'jaxlib'} & {*sys.modules}"
    )
    words = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(words, check=True, timeout=120, capture_output=True, text=True)
    assert done.stdout == str(stablehlo.parse(TEXT))


def test_damaged_bytes_are_told() -> None:
    artifact, bytecode = artifact_of(TEXT), bytecode_of(TEXT)
    for data, told in (
        (artifact[:-100], "^jaxlib cannot read the MLIR bytecode: attempting to parse "),
        (b"ML\xefR", "^jaxlib cannot read the MLIR bytecode: "),
        (bytecode.replace(b"multiply", b"multiplz"), "unregistered operation 'stablehlo.multiplz'"),
    ):
        # Bytes that are cut off, or name another operation, do not end this process.
        with pytest.raises((ParseError, VerifyError), match=told):
            printed(data)


def test_an_artifact_of_a_later_version_says_what_to_do() -> None:
    version = parsed(TEXT)[0].get_current_version()
    later = artifact_of(TEXT).replace(f"v{version}".encode(), b"v9" + version[1:].encode())
    with pytest.raises(UnsupportedError, match=rf"^the portable .* 9{version[1:]}, and this j"):
        printed(later.replace(b"multiply_v1", b"multiply_v9"))


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import os; os.kill(os.getpid(), 11)", "died of SIGSEGV"),
        ("raise SystemExit(3)", "ended with status 3"),
        ("import time; time.sleep(60)", "was stopped after 0 seconds"),
    ],
)
def test_the_end_of_the_reader_is_told(
    program: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ended_reader.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(binary, "WORKER", "ended_reader")
    monkeypatch.setattr(binary, "STARTUP_SECONDS", 0.1 if "sleep" in program else 60)
    with pytest.raises(ParseError, match=f"the MLIR bytecode is damaged: jaxlib's reader {told}$"):
        bytecode_text(b"ML\xefR")


def test_what_is_no_form_of_a_module_is_told_by_its_type() -> None:
    with pytest.raises(ArgumentError, match=r"a path, a jax.export.Exported or .*, got int$"):
        stablehlo.parse(5)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        stablehlo.parse(Path("no such file"))
