"""No runtime is given a module that our verifier refuses; foreign bytes kill only their reader."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.bundle.bundled_models import mlp, rewritten
from topos import Tape, runtimes
from topos.bundle import Bundle, check, demand_runnable, modules
from topos.bundle.manifest import Manifest
from topos.bundle.portable import serialized
from topos.bundle.report import State
from topos.bundle.trial import trials
from topos.errors import BundleError
from topos.stablehlo.forms import binary
from topos.stablehlo.forms.binary import printed

CALLED = """\
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @TARGET(%x) {api_version = 4 : i32} :
    (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
UNCALLED = (
    CALLED.replace("@main", "private @other")
    + """\
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
"""
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tape = Tape()
    (tape.input(shape=[3], name="x") * 2.0).named("y")
    return tape.into_network().entry(["y"]).lower().export(tmp_path / "b").path


def with_text(folder: Path, text: str) -> Bundle:
    """Returns the bundle with another text, every digest fitting."""
    (folder / "main.mlir").write_text(text)
    rewritten(folder)
    return Bundle.load(folder)


@pytest.mark.parametrize("text", [CALLED, UNCALLED], ids=["called", "uncalled"])
@pytest.mark.parametrize("target", ["xla_ffi_python_cpu_callback", "of_nobody"])
def test_a_custom_call_that_is_not_known_is_run_by_nobody(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, target: str
) -> None:
    bundle = with_text(folder, text.replace("TARGET", target))
    reason = f"custom_call @{target}, whose target is not known to be harmless"
    with pytest.raises(BundleError, match=f"main is no module to run: line 2, column 8: {reason}"):
        demand_runnable(bundle.programs[0])
    runtime = runtimes.load("interpreter")
    compiled: list[str] = []
    monkeypatch.setattr(type(runtime), "compile", lambda self, text, **_: compiled.append(text))
    found = check(bundle, ["interpreter"])
    told = {each.judge: (each.state, each.reason) for each in found.verdicts}
    assert told["interpreter"] == (State.BLOCKED, "refused by the verifier")
    assert told["topos"][0] is State.FAILED
    assert reason in told["topos"][1]
    assert not found.passed
    with pytest.raises(BundleError, match=reason):
        trials(bundle, [runtime], bundle.programs)
    assert compiled == []


def test_a_custom_call_that_is_known_is_run(folder: Path) -> None:
    bundle = with_text(folder, CALLED.replace("TARGET", "Sharding"))
    demand_runnable(bundle.programs[0])
    (ran,) = [each for each in check(bundle, "interpreter").verdicts if each.judge == "interpreter"]
    # It is the same number, and the sample wants it twice.
    assert ran.state is State.OUTSIDE


TYPES: dict[str, tuple[str, str]] = {
    "another result": ("-> tensor<3xf32>", "-> (tensor<3xf32>, tensor<3xf32>)"),
    "another shape": ("tensor<3xf32>", "tensor<1x3xf32>"),
    "another element": ("tensor<3xf32>", "tensor<3xf16>"),
}


@pytest.mark.parametrize("change", TYPES)
def test_a_signature_is_the_manifests_to_the_last_type(folder: Path, change: str) -> None:
    old, new = TYPES[change]
    text = """\
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
"""
    demand_runnable(with_text(folder, text).programs[0])
    text = text.replace(old, new)
    if change == "another result":
        text = text.replace(
            "return %x : tensor<3xf32>", "return %x, %x : tensor<3xf32>, tensor<3xf32>"
        )
    with pytest.raises(BundleError, match=r"the manifest has \w+ float32\[3\], and @main has"):
        demand_runnable(with_text(folder, text).programs[0])


def test_arguments_in_another_order_are_refused(tmp_path: Path) -> None:
    folder = mlp().export(tmp_path / "b").path

    def swapped(manifest: Manifest) -> Manifest:
        (program,) = manifest.programs
        first, second, *others = program.arguments
        turned = msgspec.structs.replace(program, arguments=(second, first, *others))
        return msgspec.structs.replace(manifest, programs=(turned,))

    demand_runnable(Bundle.load(folder).programs[0])
    rewritten(folder, swapped)
    with pytest.raises(BundleError, match=r"the manifest has arguments float32.8., float32.5, 8"):
        demand_runnable(Bundle.load(folder).programs[0])


def test_foreign_bytes_are_read_by_a_process_of_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = Bundle.load(folder)
    (program,), version = bundle.programs, bundle.compatibility
    own, other = program.artifact, serialized(mlp().emit_stablehlo(), version)
    read: list[bytes] = []

    def noted(data: bytes) -> str:
        read.append(data)
        return printed(data)

    monkeypatch.setattr(modules, "printed", noted)
    modules.demand_same(program.text, own, version)
    for foreign, reason in ((b"ML\xefR nothing", "cannot be read: "), (other, "holds another")):
        with pytest.raises(BundleError, match=f"the artifact {reason}"):
            modules.demand_same(program.text, foreign, version)
    assert set(read) <= {own}


def test_other_bytes_of_the_same_module_hold_it(folder: Path) -> None:
    bundle = Bundle.load(folder)
    (program,) = bundle.programs
    older = serialized(program.text, "1.13.0")
    assert older != program.artifact
    modules.demand_same(program.text, older, bundle.compatibility)


def test_a_reader_that_is_killed_is_told(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "killed_reader.py").write_text("import os; os.kill(os.getpid(), 11)")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(binary, "WORKER", "killed_reader")
    (folder / "main.mlirbc").write_bytes(b"ML\xefR nothing")
    rewritten(folder)
    found = check(folder, "interpreter")
    (told,) = [each for each in found.verdicts if each.judge == "artifact"]
    assert told.state is State.FAILED
    died = "the MLIR bytecode is damaged: jaxlib's reader died of SIGSEGV"
    assert told.reason == f"the artifact cannot be read: {died}"
