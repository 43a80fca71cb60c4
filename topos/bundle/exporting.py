"""Exports: plans and their values written as a bundle."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec

from topos.bundle.bundle import Bundle, sample_ports
from topos.bundle.compiled import devices_of, forms_of
from topos.bundle.folder import entry_of, place_of
from topos.bundle.manifest import (
    AGAIN,
    FORMAT,
    MANIFEST,
    WEIGHTS,
    Argument,
    File,
    Manifest,
    ProgramEntry,
    Result,
    demand_name,
    encoded,
)
from topos.bundle.naming import Payloads, References, by_name
from topos.bundle.oracles import Oracle, batched_oracles, single_oracle
from topos.bundle.plan_subject import subjects_of
from topos.bundle.portable import serialized, version_of
from topos.bundle.replacement import demand_place, replacing
from topos.bundle.subject import Slot, Subject
from topos.engine import Plan
from topos.errors import ArgumentError, BundleError
from topos.graph import Parameters
from topos.neural.tensor_file import write_tensors
from topos.payload import Shape


def export(
    path: str | os.PathLike[str],
    plans: Plan | Sequence[Plan],
    parameters: Parameters | Payloads | None = None,
    *,
    resident: References | None = None,
    samples: Sequence[References] = (),
    batched: bool = False,
    name: str | None = None,
    compatibility: str = "week-12",
    seed: int = 0,
    compiled: Sequence[str] = (),
) -> Bundle:
    """Writes plans with the values of their parameters as a bundle, and returns it loaded.

    `parameters` default to the initial state; arrays are read where they lie until the export is
    done, for they may be large. `resident` gives further inputs a value that stays:
    running statistics, say. `samples` are the inputs of calls that the oracle runs; floats that
    they leave out are drawn from `seed`. `batched` declares that the leading extent of every
    input and result counts rows that leave each other alone, which the oracle tries; only then
    may there be several plans, recordings of one function at several numbers of rows, whose
    arguments go by their names. `compatibility` is the StableHLO version of the artifacts, or
    how long ago their readers may have been built: `week-4`, `week-12`, `max`, `current`.
    `compiled` names devices of XLA, such as `cpu`, whose machine code is written beside the text,
    in Fast numerics.

    A bundle at `path` is replaced whole, once the new one was loaded from beside it; anything else
    is left alone. Equal arguments make equal files, but for machine code. Raises `ArgumentError`
    for arguments of another kind, `BundleError` where the plans do not make a bundle, the sample
    says nothing of a result, or `path` is taken, `FeedError` where a value is missing or does not
    fit, `OSError` where the folder cannot be written, `UnavailableError` without jaxlib or one of
    the devices.
    """
    demand_options(samples, batched, name)
    sequence = plans_of(plans, batched)
    readers, devices = readers_of(path, compatibility), devices_of(compiled)
    subjects = subjects_of(sequence, parameters, resident)
    given = [by_name(sequence, sample, "samples") for sample in samples]
    return written(path, subjects, given, batched, name, readers, seed, devices)


def readers_of(path: str | os.PathLike[str], compatibility: str) -> str:
    """Returns the StableHLO version of artifacts, once a bundle may take its place at `path`.

    The oracle takes its time, which is lost where nothing can be written afterwards.
    """
    target = place_of(path, "an export").folder
    readers = version_of(compatibility)
    demand_place(target)
    return readers


def written(
    path: str | os.PathLike[str],
    subjects: Sequence[Subject],
    samples: Sequence[Payloads],
    batched: bool,
    name: str | None,
    readers: str,
    seed: int,
    devices: Sequence[str],
) -> Bundle:
    """Writes subjects as a bundle, with what the oracle says of them, and returns it loaded.

    Each is compiled for `devices`.
    """
    for subject in subjects:
        demand_names(subject)
    if batched:
        oracles = batched_oracles(subjects, samples, seed)
    else:
        oracles = [single_oracle(subjects[0], samples, seed)]
    with replacing(place_of(path, "an export").folder) as folder:
        _write(folder, oracles, batched, name, readers, devices)
        _demand_readable(folder)
    return Bundle.load(path)


def _demand_readable(folder: Path) -> None:
    """Raises `BundleError` where what was written cannot be loaded: it may not take any place."""
    try:
        Bundle.load(folder)
    except BundleError as error:
        # The folder has a name that nobody gave, and is gone when this is read.
        reason = str(error).removesuffix(AGAIN).replace(str(folder), "the bundle")
        raise BundleError(f"an export needs what can be loaded again: {reason}") from None


def _write(
    folder: Path,
    oracles: Sequence[Oracle],
    batched: bool,
    name: str | None,
    readers: str,
    devices: Sequence[str] = (),
) -> None:
    """Writes every file of a bundle, the manifest last."""
    write_tensors(folder / WEIGHTS, oracles[0].subject.resident, {})
    entries = tuple(_program(folder, oracle, readers, devices) for oracle in oracles)
    manifest = Manifest(
        FORMAT,
        version("topos-compiler"),
        name,
        readers,
        batched,
        entry_of(folder, WEIGHTS),
        entries,
    )
    (folder / MANIFEST).write_bytes(encoded(manifest))


def _program(folder: Path, oracle: Oracle, readers: str, devices: Sequence[str]) -> ProgramEntry:
    subject, name = oracle.subject, "main" if oracle.rows is None else f"rows{oracle.rows}"
    module, artifact, sample = (
        f"{name}{suffix}" for suffix in (".mlir", ".mlirbc", ".sample.safetensors")
    )
    text = subject.text
    (folder / module).write_bytes(text.encode())
    (folder / artifact).write_bytes(serialized(text, readers))
    arguments = tuple(Argument(*_port(slot), slot.value is not None) for slot in subject.arguments)
    results = tuple(Result(*_port(slot), oracle.envelopes[slot.name]) for slot in subject.results)
    entry = ProgramEntry(
        name,
        oracle.rows,
        entry_of(folder, module),
        entry_of(folder, artifact),
        File(sample, 0, ""),
        len(oracle.calls),
        arguments,
        results,
        forms_of(folder, name, text, devices),
    )
    tensors = [
        tensor
        for inputs, answers in zip(oracle.calls, oracle.answers, strict=True)
        for tensor in (
            *(inputs[slot.name] for slot in subject.inputs),
            *(answers[slot.name] for slot in subject.results),
        )
    ]
    places = [port.name for port in sample_ports(entry)]
    write_tensors(folder / sample, dict(zip(places, tensors, strict=True)), {})
    return msgspec.structs.replace(entry, sample=entry_of(folder, sample))


def _port(slot: Slot) -> tuple[str, Shape, str]:
    return slot.name, slot.type.shape, slot.type.element.name


# All names of a bundle stand in its manifest, which has to stay readable in a moment.
LONGEST: Final = 1000


def plans_of(plans: Plan | Sequence[Plan], batched: bool) -> tuple[Plan, ...]:
    """Returns the plans; raises `ArgumentError` for anything else, `BundleError` for too many."""
    if not isinstance(plans, Plan | Sequence):
        raise ArgumentError(f"an export needs plans, got {type(plans).__name__}")
    sequence = (plans,) if isinstance(plans, Plan) else tuple(plans)
    if not sequence:
        raise BundleError("a bundle needs one plan or more, got none")
    for plan in sequence:
        if not isinstance(plan, Plan):
            raise ArgumentError(f"an export needs plans, got {type(plan).__name__}")
    if len(sequence) > 1 and not batched:
        raise BundleError(
            f"a bundle of {len(sequence)} plans needs batched=True: one function at several"
            " numbers of rows that leave each other alone"
        )
    return sequence


def demand_options(samples: Any, batched: Any, name: Any) -> None:
    """Raises `ArgumentError` for an option of another kind, `BundleError` for no possible name.

    They come from outside, and may be anything.
    """
    if not isinstance(samples, Sequence) or isinstance(samples, str | bytes):
        raise ArgumentError(
            "samples need a sequence of mappings, one a call, such as [{'x': array}], "
            f"got {type(samples).__name__}"
        )
    for sample in samples:
        if not isinstance(sample, Mapping):
            raise ArgumentError(
                f"samples need mappings of names to values, got {type(sample).__name__}"
            )
    if not isinstance(batched, bool):
        raise ArgumentError(f"batched needs True or False, got {batched!r}")
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"a bundle's name needs a string, got {type(name).__name__}")
    demand_name(name)


def demand_names(subject: Subject) -> None:
    """Raises `BundleError` where an argument or a result has a name that no manifest can hold."""
    for slot in (*subject.arguments, *subject.results):
        if len(slot.name) > LONGEST:
            raise BundleError(
                f"a bundle needs names of {LONGEST} characters at most, got {len(slot.name)} of "
                f"{slot.name[:20]!r}..."
            )
        if not slot.name.isascii() and slot.name.encode(errors="replace").decode() != slot.name:
            raise BundleError(f"a bundle needs names of Unicode characters, got {slot.name!a}")
