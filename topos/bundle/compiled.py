"""Compiled forms: machine code that XLA made of a program, in a bundle beside its text.

No verifier reads machine code, so it runs only where a caller asks for it; the text is compiled
wherever a form does not fit the module, the versions, the machine, the numerics or the options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from topos import runtimes
from topos.bundle.bundle import Program
from topos.bundle.folder import entry_of
from topos.bundle.manifest import CompiledForm
from topos.bundle.report import State, Verdict, brief, told
from topos.engine import Numerics
from topos.errors import ArgumentError, BundleError, CompileError, UnsupportedError
from topos.runtimes import ArrayType, Executable, Runtime
from topos.runtimes._packing import unpacked
from topos.runtimes._runtime import isolating

# The runtime that a bundle has forms of, and how its devices of a kind are called.
RUNTIME: Final = "xla"
DEVICES: Final = ("cpu", "cuda", "rocm", "tpu")
JUDGE: Final = "compiled"
CONSENT: Final = "--compiled or compiled=True"


class Terms(NamedTuple):
    """How a program is made ready: as `Runtime.compile` takes it, and whether a form may run."""

    numerics: Numerics | str
    options: Mapping[str, Any]
    compiled: bool = False
    cache: Path | None = None


class Prepared(NamedTuple):
    """A program made ready, whether from a compiled form, and why where there is one to tell of."""

    executable: Executable
    is_restored: bool = False
    note: str = ""

    def verdicts(self, program: Program) -> list[Verdict]:
        """Returns what became of the compiled forms of a program, where it has any."""
        state = State.HOLDS if self.is_restored else State.SKIPPED
        return [told(JUDGE, program, state, self.note)] if self.note else []


def devices_of(compiled: Any) -> tuple[str, ...]:
    """Returns the devices that an export compiles for.

    Raises `ArgumentError` for what names none, `UnavailableError` where one is not here.
    """
    names = (compiled,) if isinstance(compiled, str) else compiled
    if not isinstance(names, Sequence) or any(name not in DEVICES for name in names):
        raise ArgumentError(f"compiled needs devices of {', '.join(DEVICES)}, got {compiled!r}")
    for device in names:
        runtime = runtimes.load(RUNTIME)
        runtime.place(0.0, options={**isolating(runtime), "device": device})
    return tuple(dict.fromkeys(names))


def forms_of(
    folder: Path, program: str, text: str, devices: Sequence[str]
) -> tuple[CompiledForm, ...]:
    """Writes a program compiled for each device, in a worker; raises `BundleError` if refused."""
    forms = []
    for device in devices:
        runtime = runtimes.load(RUNTIME)
        options = {**isolating(runtime), "device": device}
        try:
            data = runtime.compile(text, options=options).serialize()
        except (CompileError, UnsupportedError) as error:
            raise BundleError(f"{program} cannot be compiled for {device}: {error}") from error
        kept = unpacked(RUNTIME, data)
        assert kept is not None
        name = f"{program}.{device}.{RUNTIME}"
        (folder / name).write_bytes(data)
        forms.append(CompiledForm(RUNTIME, device, entry_of(folder, name), kept.origin))
    return tuple(forms)


def prepared(runtime: Runtime, program: Program, terms: Terms) -> Prepared:
    """Returns a program from a compiled form that fits, or else compiled from its text.

    Raises `BundleError` where the file of a form was altered.
    """
    numerics, options, compiled, cache = terms
    forms = [form for form in program.compiled if form.runtime == runtime.name]
    reasons = []
    for form in forms if compiled else ():
        try:
            data = program.code(form)
            found = runtime.restore(program.text, data, numerics=numerics, options=options)
            _demand_types(program, found)
            return Prepared(found, True, f"the compiled form for {form.device} is used")
        except (CompileError, UnsupportedError) as error:
            reasons.append(brief(error))
    if forms and not compiled:
        reasons.append(f"the compiled form for {forms[0].device} needs {CONSENT}")
    made = runtime.compile(program.text, numerics=numerics, options=options, cache=cache)
    return Prepared(made, False, f"compiled from the text: {reasons[0]}" if reasons else "")


def _demand_types(program: Program, executable: Executable) -> None:
    """Raises `CompileError` where a form has other types than the program, and would misread."""
    for found, ports in zip(
        executable.signature, (program.arguments, program.results), strict=True
    ):
        if found != tuple(ArrayType(port.shape, port.dtype) for port in ports):
            raise CompileError(f"the compiled form has other types than {program.name}")
