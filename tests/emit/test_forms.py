"""The forms of an emitted module, at StableHLO versions that have or lack what is in it."""

from __future__ import annotations

import sys

import ml_dtypes
import pytest

from tests.runtimes.require import require
from topos import Element, Plan, Tape, runtimes, stablehlo
from topos.errors import ArgumentError, EmitError, UnavailableError


def plan(element: Element | None = None) -> Plan:
    tape = Tape()
    x = tape.input([1, 2], element=element, name="x")
    (x + x).named("y")
    return tape.into_network().entry(["y"]).lower()


def test_a_version_and_a_form_say_the_same_module() -> None:
    require("xla")
    text = plan().emit_stablehlo()
    assert plan().emit_stablehlo(version="1.0.0") == text
    generic = plan().emit_stablehlo(form="generic")
    assert '"stablehlo.add"(%v0, %v0)' in generic
    artifact = plan().emit_stablehlo(version="1.0.0", form="artifact")
    assert b"StableHLO_v1.0.0" in artifact[:24]
    bytecode = plan().emit_stablehlo(form="bytecode")
    assert bytecode.startswith(b"ML\xefR")
    for form in (generic, artifact, bytecode):
        runtimes.verify(form)
        assert "topos.digest" in stablehlo.text_of(form)


@pytest.mark.parametrize("form", ["text", "generic", "bytecode", "artifact"])
def test_what_a_version_lacks_is_refused_with_its_place(
    form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    require("xla")
    small = plan(Element("f8E3M4", ml_dtypes.float8_e3m4))
    told = (
        r"^StableHLO 1\.0\.0 cannot hold the module: it lacks a type of func\.func as it .* line 2"
    )
    with pytest.raises(EmitError, match=told):
        small.emit_stablehlo(version="1.0.0", form=form)  # type: ignore[call-overload]
    assert small.emit_stablehlo(version="1.9.0", form=form)  # type: ignore[call-overload]
    assert capfd.readouterr().err == ""


def test_only_text_needs_no_jaxlib(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("jax", "jaxlib"):
        monkeypatch.setitem(sys.modules, name, None)
    assert plan().emit_stablehlo(form="generic")
    for form in ("bytecode", "artifact"):
        with pytest.raises(UnavailableError, match="needs jax and jaxlib"):
            plan().emit_stablehlo(form=form)
    with pytest.raises(UnavailableError, match="needs jax and jaxlib"):
        plan().emit_stablehlo(version="1.0.0")


def test_a_form_is_one_of_four() -> None:
    with pytest.raises(ArgumentError, match="one of text, generic, bytecode, artifact, got 'hlo'"):
        plan().emit_stablehlo(form="hlo")  # type: ignore[call-overload]
