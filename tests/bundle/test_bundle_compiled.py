"""Compiled forms in a bundle: used where asked for and where they fit, told of where not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bundle.bundled_models import mlp, rewritten
from topos.bundle import Bundle, check, export
from topos.bundle.compiled import Prepared, Terms, prepared
from topos.bundle.manifest import MANIFEST
from topos.bundle.report import State
from topos.cli import main
from topos.errors import ArgumentError, BundleError, UnavailableError
from topos.runtimes import load
from topos.runtimes.xla import Xla, build
from topos.serving.loaded import LoadedModel
from topos.serving.messages import Origin

pytest.importorskip("jax")

XLA = load("xla")
USED = "the compiled form for cpu is used"
UNASKED = "the compiled form for cpu needs --compiled or compiled=True"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compiled") / "model"
    export(folder, [mlp(1), mlp(4)], batched=True, compiled=["cpu"])
    return folder


@pytest.fixture
def copied(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "model"))


def made(folder: Path, place: int = 1, **changed: Any) -> Prepared:
    terms = Terms(**{"numerics": "fast", "options": {}, "compiled": True, **changed})
    return prepared(XLA, Bundle.load(folder).programs[place], terms)


def bits(folder: Path, found: Prepared) -> bytes:
    bundle = Bundle.load(folder)
    program, weights = bundle.programs[1], bundle.weights()
    run = found.executable.bind(program.resident(weights))
    calls = [run(*program.given(call)) for call in program.sample()]
    return b"".join(result.tobytes() for results in calls for result in results)


def test_a_form_has_the_bits_of_the_text(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = bits(written, made(written, compiled=False))
    monkeypatch.setattr(build, "program", None)
    found = made(written)
    assert (found.is_restored, found.note) == (True, USED)
    assert bits(written, found) == text


def test_each_program_has_its_own_and_a_check_tells_of_it(written: Path) -> None:
    bundle = Bundle.load(written)
    names = [form.file.name for each in bundle.programs for form in each.compiled]
    assert names == ["rows1.cpu.xla", "rows4.cpu.xla"]
    assert bundle.programs[0].compiled[0].fits["numerics"] == "fast"
    assert not bundle.unlisted()
    found = check(bundle, ["interpreter", "xla"], isolated=True, compiled=True)
    told = [each for each in found.verdicts if each.judge == "compiled"]
    assert [(each.program, each.state, each.reason) for each in told] == [
        (name, State.HOLDS, USED) for name in ("rows1", "rows4")
    ]
    assert found.passed


def test_nothing_of_a_form_is_loaded_unasked(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Xla, "restore")
    found = check(written, "xla")
    told = [each for each in found.verdicts if each.judge == "compiled"]
    assert [(each.state, each.reason) for each in told] == [
        (State.SKIPPED, f"compiled from the text: {UNASKED}")
    ] * 2
    assert found.passed
    model = LoadedModel.load(Origin(str(written), "xla", "fast", {}, None))
    assert model.description.notes == (f"compiled from the text: {UNASKED}",)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("versions", "_versions", "jax 0.1, jaxlib 0.1"), ("processor", "processor_label", "Z80 a1")],
)
def test_another_version_or_processor_compiles_the_text_and_says_so(
    written: Path, part: str, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, name, lambda: value)
    model = LoadedModel.load(Origin(str(written), "xla", "fast", {}, None, compiled=True))
    (note,) = model.description.notes
    assert note.startswith(f"compiled from the text: xla cannot load a module made for {part} ")
    assert note.endswith(f", here is {value}")


def test_other_terms_and_other_runtimes_compile_the_text(written: Path) -> None:
    found = made(written, numerics="exact")
    assert "made for numerics fast, here is exact" in found.note
    assert bits(written, found) == bits(written, made(written, numerics="exact", compiled=False))
    program = Bundle.load(written).programs[1]
    plain = prepared(load("interpreter"), program, Terms("fast", {}, True))
    assert (plain.is_restored, plain.note) == (False, "")


def test_an_altered_form_is_refused(copied: Path) -> None:
    bundle = Bundle.load(copied)
    path = copied / "rows4.cpu.xla"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    told = r"has a rows4\.cpu\.xla whose digest is another"
    with pytest.raises(BundleError, match=told):
        Bundle.load(copied)
    with pytest.raises(BundleError, match=told):
        bundle.programs[1].code(bundle.programs[1].compiled[0])
    # An attacker makes the digest anew, and an accident in XLA's own form is found there.
    rewritten(copied)
    assert "they are damaged or no module of xla" in made(copied).note


def test_the_form_of_another_program_is_not_used(copied: Path) -> None:
    shutil.copy(copied / "rows1.cpu.xla", copied / "rows4.cpu.xla")
    rewritten(copied)
    found = made(copied)
    assert "made for module" in found.note
    assert np.isfinite(np.frombuffer(bits(copied, found), np.float32)).all()


def test_a_manifest_without_forms_is_as_it_was(written: Path, exported: Path) -> None:
    assert b"compiled" not in (exported / MANIFEST).read_bytes()
    assert [each.compiled for each in Bundle.load(exported).programs] == [(), ()]
    for name in ("rows1.mlir", "rows4.mlirbc", "weights.safetensors"):
        assert (written / name).read_bytes() == (exported / name).read_bytes()


def test_a_device_that_is_none_or_not_here_is_refused_before_the_oracle(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"needs devices of cpu, .*, got \['gpu'\]"):
        mlp().export(tmp_path / "model", compiled=["gpu"])
    with pytest.raises(UnavailableError, match="xla has no device 'rocm' here"):
        mlp().export(tmp_path / "model", compiled=["rocm"])


def test_the_commands_write_and_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "compiled_model.py").write_text(
        "from tests.bundle.bundled_models import mlp\nplan = mlp()\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["export", "compiled_model.py:plan", "model", "--compiled", "cpu"]) == 0
    assert "compiled for cpu by xla: jax " in capsys.readouterr().out
    files = ["model/main.mlir", "--weights", "model/weights.safetensors", "--out", "again"]
    assert main(["bundle", *files, "--compiled", "cpu"]) == 0
    assert "compiled for cpu by xla: jax " in capsys.readouterr().out
    assert main(["check", "model", "--runtime", "xla", "--compiled"]) == 0
    assert f"holds: {USED}" in capsys.readouterr().out
    seconds = ["--runtime", "xla", "--seconds", "0.01", "--compiled"]
    assert main(["bench", "model", *seconds]) == 0
    assert f"xla main: {USED}" in capsys.readouterr().out
