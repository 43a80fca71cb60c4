"""Bundles: exported models, verified when they are loaded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeVar

import numpy.typing as npt

from topos.bundle.folder import Place, damaged, place_of, read, unlisted, verify
from topos.bundle.manifest import (
    MANIFEST,
    Argument,
    CompiledForm,
    Manifest,
    Port,
    ProgramEntry,
    Result,
    decoded,
)
from topos.bundle.replacement import present_manifest
from topos.bundle.tensors import demand_tensors, read_tensors
from topos.errors import BundleError

Array = npt.NDArray[Any]
Placed = TypeVar("Placed")

ATTEMPTS: Final = 16


class Call(NamedTuple):
    """A call of the oracle: what it was given by name, and what it returned by name."""

    inputs: Mapping[str, Array]
    results: Mapping[str, Array]


class Program:
    """One module of a bundle: `rows` is its leading extent where the bundle is batched."""

    def __init__(self, folder: Path, entry: ProgramEntry) -> None:
        self._folder, self._entry = folder, entry
        self.name: str = entry.name
        self.rows: int | None = entry.rows
        self.arguments: tuple[Argument, ...] = entry.arguments
        self.results: tuple[Result, ...] = entry.results
        self.compiled: tuple[CompiledForm, ...] = entry.compiled
        self.digest: str = entry.module.sha256

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """The arguments that each call brings."""
        return tuple(each for each in self.arguments if not each.resident)

    @property
    def text(self) -> str:
        """The module as StableHLO text; `digest` is the SHA-256 of its bytes."""
        try:
            return read(self._folder, self._entry.module).decode()
        except UnicodeDecodeError as error:
            name = self._entry.module.name
            raise damaged(self._folder, f"needs UTF-8 text in {name}: {error}") from None

    @property
    def artifact(self) -> bytes:
        """The module as a StableHLO portable artifact."""
        return read(self._folder, self._entry.artifact)

    def code(self, form: CompiledForm) -> bytes:
        """The machine code of one of `compiled`, as the runtime serialized it."""
        return read(self._folder, form.file)

    def sample(self) -> tuple[Call, ...]:
        """Returns calls with what the oracle returned."""
        arrays = read_tensors(self._folder, self._entry.sample, sample_ports(self._entry))
        return tuple(
            Call(
                {port.name: arrays[_place(call, "inputs", port)] for port in self.inputs},
                {port.name: arrays[_place(call, "results", port)] for port in self.results},
            )
            for call in range(self._entry.calls)
        )

    def resident(self, placed: Mapping[str, Placed]) -> dict[int, Placed]:
        """Returns those of `placed`, weights by name, that are arguments, by their positions."""
        arguments = enumerate(self.arguments)
        return {place: placed[each.name] for place, each in arguments if each.resident}

    def given(self, call: Call) -> list[Array]:
        """Returns the inputs of a call in the order of `inputs`."""
        return [call.inputs[each.name] for each in self.inputs]

    def __repr__(self) -> str:
        arguments, results = (", ".join(map(str, each)) for each in (self.inputs, self.results))
        return f"Program({self.name}: ({arguments}) -> ({results}))"


class Bundle:
    """An exported model in a folder that was complete and unaltered when it was loaded.

    Files are read, and verified again, where they are asked for: a folder that was replaced
    since then raises `BundleError`.
    """

    def __init__(self, place: Place, manifest: Manifest, version: str) -> None:
        self._manifest, self._folder = manifest, place.folder
        self.path: Path = place.folder
        self.name: str = place.name if manifest.name is None else manifest.name
        self.version: str = version
        self.topos: str = manifest.topos
        self.compatibility: str = manifest.compatibility
        self.batched: bool = manifest.batched
        self.programs: tuple[Program, ...] = tuple(
            Program(self._folder, entry) for entry in manifest.programs
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Returns the bundle at `path`.

        Links on the path are followed once: all files are those of one folder, though a link may
        lead elsewhere meanwhile. A bundle that its manifest does not name has the name of `path`
        as it was given. Every file is held against the manifest's lengths, digests and types.
        Raises `BundleError` with what is missing, altered, or does not fit; nothing outside the
        folder is read.
        """
        for _ in range(ATTEMPTS):
            place, text = _present(path)
            try:
                return cls(place, _verified(place.folder, text), _version(text))
            except BundleError:
                # One that was replaced on the way was never seen whole, and the new one may be.
                if _present(path) == (place, text):
                    raise
        raise BundleError(f"{place.folder} is replaced faster than it can be read")

    @classmethod
    def glance(cls, path: str | os.PathLike[str]) -> Self:
        """Returns the bundle at `path` by its manifest alone, its files unread.

        They are verified where they are asked for. Raises `BundleError` where the manifest is
        missing or does not fit.
        """
        place, text = _present(path)
        return cls(place, _decoded(place.folder, text), _version(text))

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What a call brings, without the rows where the bundle is batched."""
        return self._per_call(self.programs[0].inputs)

    @property
    def results(self) -> tuple[Port, ...]:
        """What a call returns, without the rows where the bundle is batched."""
        return self._per_call(self.programs[0].results)

    def weights(self) -> dict[str, Array]:
        """Returns the value of every resident argument by name.

        The arrays are read once into one block of memory, read-only, contiguous, each at a
        multiple of 64 bytes. Every call reads again: the caller owns what it returns.
        """
        return read_tensors(self._folder, self._manifest.weights, _resident(self._manifest))

    def unlisted(self) -> tuple[str, ...]:
        """Returns the names in the folder that are no file of the bundle: nobody reads those.

        Raises `BundleError` where the folder is gone.
        """
        try:
            return tuple(unlisted(self._folder, self._manifest))
        except OSError as error:
            raise BundleError(f"{self._folder} cannot be listed: {error.strerror}") from error

    def _per_call(self, ports: tuple[Port, ...]) -> tuple[Port, ...]:
        first = 1 if self.batched else 0
        return tuple(Port(each.name, each.shape[first:], each.element) for each in ports)

    def __repr__(self) -> str:
        rows = [str(each.rows) for each in self.programs if each.rows is not None]
        unit = "row" if rows == ["1"] else "rows"
        batches = f", {'/'.join(rows)} {unit}" if rows else ""
        return f"Bundle({self.name} {self.version}{batches})"


def _present(path: str | os.PathLike[str]) -> tuple[Place, bytes]:
    """Returns where a bundle stands, and the bytes of its manifest."""
    for _ in range(ATTEMPTS):
        place = _standing(path)
        try:
            return place, present_manifest(place.folder)
        except BundleError:
            # The folder that a link led to may be gone as soon as the link leads elsewhere.
            if _standing(path) == place:
                raise
    raise BundleError(f"the links of {path} change faster than the bundle can be read")


def _standing(path: str | os.PathLike[str]) -> Place:
    """Returns the place of a bundle.

    A folder whose manifest is a link into a folder below it stands for that folder. Kubernetes
    lays its volumes out so, to replace all files of a ConfigMap at once.
    """
    place = place_of(path, "a bundle")
    manifest = Path(os.path.realpath(place.folder / MANIFEST))
    return place._replace(folder=manifest.parent) if place.folder in manifest.parents else place


def _version(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:12]


def _decoded(folder: Path, text: bytes) -> Manifest:
    try:
        return decoded(text)
    except BundleError as error:
        raise BundleError(f"{folder}: {error}") from None


def _verified(folder: Path, text: bytes) -> Manifest:
    """Returns what a manifest says, after every file was held against it."""
    manifest = _decoded(folder, text)
    demand_tensors(folder, manifest.weights, _resident(manifest))
    for entry in manifest.programs:
        verify(folder, entry.module)
        verify(folder, entry.artifact)
        for form in entry.compiled:
            verify(folder, form.file)
        demand_tensors(folder, entry.sample, sample_ports(entry))
    return manifest


def sample_ports(entry: ProgramEntry) -> tuple[Port, ...]:
    """Returns what the sample file of a program holds, by the names there."""
    own: list[tuple[str, Port]] = [
        ("inputs", each) for each in entry.arguments if not each.resident
    ]
    own += [("results", each) for each in entry.results]
    return tuple(
        Port(_place(call, kind, port), port.shape, port.element)
        for call in range(entry.calls)
        for kind, port in own
    )


def _place(call: int, kind: str, port: Port) -> str:
    return f"{call}/{kind}/{port.name}"


def _resident(manifest: Manifest) -> tuple[Argument, ...]:
    """Returns the resident arguments, which all programs share."""
    return tuple(each for each in manifest.programs[0].arguments if each.resident)
