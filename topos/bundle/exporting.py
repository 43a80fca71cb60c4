"""Exports: plans and their values written as a bundle."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import msgspec

from topos.bundle.bundle import Bundle, sample_ports
from topos.bundle.envelope import envelopes
from topos.bundle.folder import entry_of
from topos.bundle.manifest import (
    FORMAT,
    MANIFEST,
    WEIGHTS,
    Argument,
    File,
    Manifest,
    ProgramEntry,
    Result,
    encoded,
    is_name,
)
from topos.bundle.naming import Payloads, References, by_name
from topos.bundle.portable import serialized, version_of
from topos.bundle.replacement import replacing
from topos.bundle.rows import Answers, demand_independent, demand_known
from topos.bundle.sample import CALLS, Inputs, calls_of, pool_of, rows_of, taken
from topos.bundle.subject import Slot, Subject, subjects_of
from topos.bundle.walk import evaluated
from topos.engine import Plan
from topos.errors import ArgumentError, BundleError
from topos.graph import Parameters
from topos.neural.tensor_file import write_tensors
from topos.payload import Shape
from topos.reading import Tensor

__all__ = ["export"]


class Oracle(NamedTuple):
    """One program to write: its subject, its rows, and what the oracle answered to some calls."""

    subject: Subject
    rows: int | None
    calls: Sequence[Inputs]
    answers: Sequence[Mapping[str, Tensor]]
    envelopes: Mapping[str, float]


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
) -> Bundle:
    """Writes plans with the values of their parameters as a bundle, and returns it loaded.

    `parameters` default to the initial state. `resident` gives further inputs a value that stays:
    running statistics, say. `samples` are the inputs of calls that the oracle answers; floats that
    they leave out are drawn from `seed`. `batched` declares that the leading extent of every
    input and result counts rows that leave each other alone, which the oracle verifies; only then
    may there be several plans, recordings of one function at several numbers of rows, whose
    arguments go by their names. `compatibility` is the StableHLO version of the artifacts, or
    how long ago their readers may have been built: `week-4`, `week-12`, `max`, `current`.

    A bundle at `path` is replaced whole, anything else is left alone. Equal arguments make equal
    files. Raises `BundleError` where the plans do not make a bundle or `path` is taken,
    `FeedError` where a value is missing or does not fit, `OSError` where the folder cannot be
    written, `UnavailableError` without jaxlib.
    """
    if not isinstance(plans, Plan | Sequence):
        raise ArgumentError(f"an export needs plans, got {type(plans).__name__}")
    sequence = (plans,) if isinstance(plans, Plan) else tuple(plans)
    _demand_exportable(sequence, batched, name)
    readers = version_of(compatibility)
    subjects = subjects_of(sequence, parameters, resident)
    given = [by_name(sequence, sample, "samples") for sample in samples]
    if batched:
        subjects = tuple(sorted(subjects, key=rows_of))
    oracles = _batched(subjects, given, seed) if batched else _single(subjects[0], given, seed)
    with replacing(Path(path)) as folder:
        _write(folder, oracles, batched, name, readers)
    return Bundle.load(path)


def _single(subject: Subject, given: Sequence[Payloads], seed: int) -> list[Oracle]:
    calls = calls_of(subject, given, seed)
    answers = [evaluated(subject, inputs) for inputs in calls]
    return [Oracle(subject, None, calls, answers, envelopes(subject, calls, answers))]


def _batched(subjects: Sequence[Subject], given: Sequence[Payloads], seed: int) -> list[Oracle]:
    """Returns what the oracle says of each program, after it verified that rows are independent."""
    _demand_one_function(subjects)
    pool = pool_of(subjects, given, seed)
    count = len(next(iter(pool.values())).numpy())
    known: Answers = {}
    allowed: Mapping[str, float] = {}
    oracles = []
    for subject in subjects:
        rows = rows_of(subject)
        starts = range(0, min(CALLS * rows, max(count, 1)), rows)
        calls, answers = [], []
        for start in starts:
            places = {row: (start + row) % count for row in range(rows)}
            calls.append(taken(pool, list(places.values())))
            answers.append(evaluated(subject, calls[-1]))
            demand_known(known, places, answers[-1], f"the plan of {rows} rows")
        demand_independent(subject, calls[0], answers[0], seed)
        # Rows are the same whatever stands beside them, and so is how they hand rounding on.
        allowed = allowed or envelopes(subject, calls, answers)
        oracles.append(Oracle(subject, rows, calls, answers, allowed))
    return oracles


def _write(
    folder: Path, oracles: Sequence[Oracle], batched: bool, name: str | None, readers: str
) -> None:
    """Writes every file of a bundle, the manifest last."""
    write_tensors(folder / WEIGHTS, oracles[0].subject.resident, {})
    entries = tuple(_program(folder, oracle, readers) for oracle in oracles)
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


def _program(folder: Path, oracle: Oracle, readers: str) -> ProgramEntry:
    subject, name = oracle.subject, "main" if oracle.rows is None else f"rows{oracle.rows}"
    module, artifact, sample = (
        f"{name}{suffix}" for suffix in (".mlir", ".mlirbc", ".sample.safetensors")
    )
    text = subject.plan.emit_stablehlo()
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


def _demand_exportable(plans: Sequence[Plan], batched: bool, name: str | None) -> None:
    if not plans:
        raise BundleError("a bundle needs one plan or more, got none")
    for plan in plans:
        if not isinstance(plan, Plan):
            raise ArgumentError(f"an export needs plans, got {type(plan).__name__}")
    if len(plans) > 1 and not batched:
        raise BundleError(
            f"a bundle of {len(plans)} plans needs batched=True: one function at several numbers"
            " of rows that leave each other alone"
        )
    if name is not None and not is_name(name):
        raise BundleError(f"a bundle's name needs letters, digits, '.', '_' and '-', got {name!r}")


def _demand_one_function(subjects: Sequence[Subject]) -> None:
    """Raises `BundleError` where plans differ in more than their rows."""
    rows = [rows_of(subject) for subject in subjects]
    if len(set(rows)) < len(rows):
        raise BundleError(f"the plans need a number of rows each, got {rows}")
    first, *others = subjects
    for subject in others:
        if _per_row(subject) != _per_row(first):
            raise BundleError(
                "the plans need equal names and types but for the rows, got "
                f"{first.plan.signature()} and {subject.plan.signature()}"
            )


def _port(slot: Slot) -> tuple[str, Shape, str]:
    return slot.name, slot.port.type.shape, slot.port.type.element.name


def _per_row(subject: Subject) -> list[tuple[object, ...]]:
    return [
        (slot.name, slot.port.type.shape[slot.value is None :], str(slot.port.type.element))
        for slot in (*subject.arguments, *subject.results)
    ]
