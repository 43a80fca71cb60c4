"""The manifest: what a bundle says of itself, as text that is checked before it is believed."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import msgspec
import numpy as np

from topos.errors import BundleError
from topos.payload import CARRIED, TensorType

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
WEIGHTS: Final = "weights.safetensors"
# What a file and a bundle may be called: nothing that leads out of a folder or hides in it.
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
DIGEST: Final = re.compile(r"[0-9a-f]{64}")
MOST_AXES: Final = 64
MOST_BYTES: Final = 1 << 62
MOST_CALLS: Final = 10_000

AGAIN: Final = "; copy or export it again"
"""How what is said of a damaged bundle ends."""


class Port(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What goes in or comes out of a call: a name, a shape, the name of an element."""

    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy storage of one element."""
        return CARRIED[self.element].dtype

    @property
    def type(self) -> TensorType:
        """The shape and the element."""
        return TensorType(self.shape, CARRIED[self.element])

    @property
    def nbytes(self) -> int:
        """How many bytes its array has."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


class Argument(Port, frozen=True, forbid_unknown_fields=True):
    """An argument of `@main`; a resident one has its value in the bundle."""

    resident: bool


class Result(Port, frozen=True, forbid_unknown_fields=True):
    """A result of `@main`, and how far a runtime's may be from the oracle's.

    `envelope` is a share of the largest finite magnitude of the oracle's result in the same call.
    """

    envelope: float


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the bundle: its name in the folder, its length, its SHA-256 in hexadecimal."""

    name: str
    bytes: int
    sha256: str


class CompiledForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Machine code of a program: the runtime that made it, for which device, from and for what.

    `fits` has versions, processor, threads, numerics and options by name, as the runtime told them.
    """

    runtime: str
    device: str
    file: File
    fits: dict[str, str]


# What has no compiled forms has none of the field, and every topos can read it.
class ProgramEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One program: its module as text and as portable artifact, its signature, its sample."""

    name: str
    rows: int | None
    module: File
    artifact: File
    sample: File
    calls: int
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    compiled: tuple[CompiledForm, ...] = ()

    def files(self) -> tuple[File, ...]:
        """Returns every file of the program."""
        return (self.module, self.artifact, self.sample, *(each.file for each in self.compiled))


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bundle: who wrote it, its weights and its programs, the fewest rows first.

    `name` is None where the folder's own name serves; `compatibility` is the StableHLO version
    that the artifacts are written for.
    """

    format: int
    topos: str
    name: str | None
    compatibility: str
    batched: bool
    weights: File
    programs: tuple[ProgramEntry, ...]

    def files(self) -> tuple[File, ...]:
        """Returns every file that the manifest lists."""
        return (self.weights, *(file for each in self.programs for file in each.files()))


def encoded(manifest: Manifest) -> bytes:
    """Returns a manifest as text, the same for the same manifest."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def decoded(data: bytes) -> Manifest:
    """Returns the manifest that a text says; raises `BundleError` where it says none."""
    try:
        # A later format may differ in anything else, so its number is read first.
        version = msgspec.json.decode(data, type=dict[str, Any]).get("format")
        if version != FORMAT or isinstance(version, bool):
            raise BundleError(
                f"{MANIFEST} needs format {FORMAT}, which this topos reads, got {version!r}"
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"{MANIFEST} cannot be read: {error}{AGAIN}") from None
    _demand_consistent(manifest)
    return manifest


def is_name(text: str) -> bool:
    """Returns whether a bundle, a program or a file may be called so."""
    return NAME.fullmatch(text) is not None


def demand_name(name: str | None) -> None:
    """Raises `BundleError` where a bundle may not be called so; None is called as its folder."""
    if name is not None and not is_name(name):
        raise BundleError(f"a bundle's name needs letters, digits, '.', '_' and '-', got {name!r}")


def _demand(holds: bool, reason: str) -> None:
    if not holds:
        raise BundleError(f"{MANIFEST} {reason}{AGAIN}")


def _demand_consistent(manifest: Manifest) -> None:
    """Raises `BundleError` where the parts of a manifest do not fit each other."""
    if manifest.name is not None:
        _demand(is_name(manifest.name), f"needs a plain word as name, got {manifest.name!r}")
    names = [file.name for file in manifest.files()]
    for file in manifest.files():
        _demand_file(file)
    _demand(len(set(names)) == len(names), "names one file for two purposes")
    _demand(bool(manifest.programs), "needs one program or more, got none")
    for program in manifest.programs:
        _demand_program(program, manifest.batched)
    rows = [program.rows or 0 for program in manifest.programs]
    _demand(rows == sorted(set(rows)), f"needs programs by ascending rows, got {rows}")
    first = manifest.programs[0]
    for program in manifest.programs[1:]:
        fits = _per_row(program, manifest.batched) == _per_row(first, manifest.batched)
        _demand(fits, f"has {program.name}, which differs from {first.name} in more than its rows")


def _demand_file(file: File) -> None:
    _demand(is_name(file.name), f"names a file outside its folder: {file.name!r}")
    _demand(file.name != MANIFEST, "names itself as a file of the bundle")
    _demand(file.bytes >= 0, f"needs a length of {file.name}, got {file.bytes}")
    _demand(DIGEST.fullmatch(file.sha256) is not None, f"needs a SHA-256 of {file.name}")


def _demand_program(program: ProgramEntry, batched: bool) -> None:
    name = program.name
    _demand(is_name(name), f"needs a plain word as name of a program, got {name!r}")
    fits = 1 <= program.calls <= MOST_CALLS
    _demand(fits, f"needs a sample of 1 to {MOST_CALLS} calls for {name}, got {program.calls}")
    _demand((program.rows is not None) == batched, f"needs rows of {name} just where batched")
    _demand(program.rows is None or program.rows >= 1, f"needs rows of {name}, got {program.rows}")
    for form in program.compiled:
        words = (form.runtime, form.device)
        _demand(
            all(map(is_name, words)), f"needs words for the compiled form of {name}, got {words}"
        )
    signature: tuple[tuple[Port, ...], ...] = (program.arguments, program.results)
    for ports in signature:
        names = [port.name for port in ports]
        _demand(len(set(names)) == len(names), f"needs names of their own in {name}, got {names}")
        for port in ports:
            _demand_port(port, name)
    for result in program.results:
        fits = math.isfinite(result.envelope) and result.envelope >= 0
        _demand(fits, f"needs an envelope of {result.name} in {name}, got {result.envelope}")
    calls = [*(each for each in program.arguments if not each.resident), *program.results]
    rows = "1 row" if program.rows == 1 else f"{program.rows} rows"
    for port in calls if batched else ():
        fits = port.shape[:1] == (program.rows,)
        _demand(fits, f"needs {rows} in {name}, got {port}")


def _demand_port(port: Port, program: str) -> None:
    where = f"{port.name!r} in {program}"
    _demand(port.element in CARRIED, f"has no known element for {where}, got {port.element!r}")
    possible = len(port.shape) <= MOST_AXES and all(extent >= 0 for extent in port.shape)
    possible = possible and port.nbytes <= MOST_BYTES
    _demand(possible, f"has no possible shape for {where}, got {port.shape}")


def _per_row(program: ProgramEntry, batched: bool) -> tuple[Any, ...]:
    """Returns the signature without rows and envelopes: what programs of a bundle share."""
    first = 1 if batched else 0
    arguments = [
        (each.name, each.shape[0 if each.resident else first :], each.element, each.resident)
        for each in program.arguments
    ]
    results = [(each.name, each.shape[first:], each.element) for each in program.results]
    return (*arguments, *results)
