"""Custom calls on XLA: jax's own run though jax lowered none, any other is refused by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.project.paths import ROOT
from tests.runtimes.require import require
from topos.errors import UnsupportedError
from topos.runtimes import load

jax = pytest.importorskip("jax")

Array = npt.NDArray[Any]

# Of each way in which jax calls LAPACK; tools/linear_algebra.py tries all of them.
FUNCTIONS = ("inv", "cholesky", "qr", "svd", "eigh", "eig")
CALL = """
module {
  func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.custom_call @TARGET(%x) {ATTRIBUTES} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  }
}
"""
# 2 x, by way of the square root of 4.
FACTORIZATION = """
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %four = stablehlo.constant dense<[[4.0, 0.0], [0.0, 4.0]]> : tensor<2x2xf32>
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%four) {
    mhlo.backend_config = {uplo = 76 : ui8},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]
  } : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  %1 = stablehlo.dot_general %x, %0#0, contracting_dims = [1] x [0]
      : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}
"""
IDENTITY = np.eye(2, dtype=np.float32)


@pytest.fixture(scope="module", autouse=True)
def xla() -> None:
    require("xla")


def test_linear_algebra_of_jax_runs_in_a_process_that_lowered_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    from linear_algebra import ENVELOPE, Case, deviation  # type: ignore[import-not-found]
    from linear_algebra_cases import CASES  # type: ignore[import-not-found]

    generator, element = np.random.default_rng(3), np.dtype(np.float32)
    drawn = [CASES[name].draw(generator, element) for name in FUNCTIONS]
    flat = [array for arrays in drawn for array in arrays]

    def everything(*arrays: Any) -> Any:
        left = iter(arrays)
        return [
            CASES[name].function(*(next(left) for _ in arguments))
            for name, arguments in zip(FUNCTIONS, drawn, strict=True)
        ]

    assert deviation(Case(everything, lambda *_: flat), "float32") <= ENVELOPE


@pytest.mark.parametrize(
    ("target", "attributes", "reason"),
    [
        ("nobody", "", "has no custom call @nobody: nobody registered it"),
        ("lapack_nothing_ffi", "", "has no custom call @lapack_nothing_ffi: nobody registered it"),
        # XLA knows these, and ends the process.
        ("SliceToDynamic", "", "has no custom call @SliceToDynamic: nobody registered it"),
        ("TopK", "", "takes the custom call @TopK with results of values and of indices, got 1"),
        ("xla.sdy.FuncResultSharding", "", "takes .* with mhlo.frontend_attributes alone"),
        ("xla_ffi_python_cpu_callback", "", "it calls back into the process that made the module"),
    ],
)
def test_a_target_that_xla_does_not_take_is_refused_by_name(
    target: str, attributes: str, reason: str
) -> None:
    text = CALL.replace("TARGET", target).replace("ATTRIBUTES", attributes)
    with pytest.raises(UnsupportedError, match=f"^xla .*{reason}"):
        load("xla").compile(text)


@pytest.mark.parametrize(
    ("target", "attributes", "one"),
    [
        ("Sharding", 'mhlo.sharding = "{replicated}"', 1.0),
        ("mhlo.erf", "mhlo.attributes = {}, mhlo.version = 1 : i64", 0.842701),
    ],
)
def test_a_target_that_xla_takes_itself_runs(target: str, attributes: str, one: float) -> None:
    text = CALL.replace("TARGET", target).replace("ATTRIBUTES", attributes)
    (result,) = load("xla").compile(text, options={"isolated": True})(IDENTITY)
    np.testing.assert_allclose(result, one * IDENTITY, atol=1e-6)


TRANSFORM = """
func.func @main(%x: tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = KIND, length = [LENGTHS]
      : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  return %0 : tensor<2x4xcomplex<f32>>
}
"""


@pytest.mark.parametrize("kind", ["FFT", "IFFT"])
def test_a_fourier_transform_is_as_long_as_its_operand(kind: str) -> None:
    text = TRANSFORM.replace("KIND", kind)
    x = np.ones((2, 4), np.complex64)
    (whole,) = load("xla").compile(text.replace("LENGTHS", "2, 4"))(x)
    assert whole[0, 0] == (8 if kind == "FFT" else 1)
    for lengths in ("2, 64", "3", "4, 4"):
        with pytest.raises(UnsupportedError, match=r"^xla takes an fft as long as the last dim"):
            load("xla").compile(text.replace("LENGTHS", lengths))


THREAD = f"""
import sys
from pathlib import Path
import numpy as np
from topos import Tape
from topos.runtimes import load
from topos.serving import Session, Settings
sys.path.insert(0, {str(ROOT)!r})
from tests.bundle.bundled_models import rewritten

folder = Path(sys.argv[1], "bundle")
tape = Tape()
(tape.input(shape=[2, 2], name="x") * 2.0).named("y")
tape.into_network().entry(["y"]).lower().export(folder)
(folder / "main.mlir").write_text({FACTORIZATION!r})
rewritten(folder)
with Session([folder], runtime="xla", settings=Settings(isolation="thread")) as session:
    x = np.eye(2, dtype=np.float32)
    assert session.infer("bundle", {{"x": x}})["y"].tolist() == [[2, 0], [0, 2]]
Path(sys.argv[1], "compiled").write_bytes(load("xla").compile({FACTORIZATION!r}).serialize())
"""


def test_a_thread_of_a_session_runs_them_and_so_does_a_compiled_form(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", THREAD, str(tmp_path)], check=True, timeout=120)
    program = (
        "import sys, numpy as np\nfrom pathlib import Path\nfrom topos.runtimes import load\n"
        "run = load('xla').deserialize(Path(sys.argv[1]).read_bytes())\n"
        "assert run(np.eye(2, dtype=np.float32))[0].tolist() == [[2, 0], [0, 2]]\n"
    )
    path = str(tmp_path / "compiled")
    subprocess.run([sys.executable, "-c", program, path], check=True, timeout=120)
