"""Certifying: every operation, element and class of inputs on a runtime, one certificate of all."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import isqrt
from pathlib import Path
from typing import Any, Final

import numpy as np

from topos import runtimes
from topos.engine import Numerics
from topos.errors import CrashError, ToposError
from topos.judge.certification.cells import Found
from topos.judge.certification.forms import Choice, Instance, forms, instances, left_out
from topos.judge.certification.journal import Done, Journal
from topos.judge.certification.probes import probed
from topos.judge.certification.reproducing import fault_of
from topos.judge.certification.subjects import TOGETHER, Subject, together
from topos.judge.progress import Stage
from topos.judge.target import RunError, Target, TargetLike
from topos.runtimes._certificate import Cell, Certificate, Fault, Key, Outcome
from topos.runtimes._compile_cache import processor
from topos.runtimes.interpreter.run import built
from topos.stablehlo import parse
from topos.stablehlo.types import ELEMENTS

# The seconds that one module may take to compile or to run in a worker.
SECONDS: Final = 240.0
LONGEST: Final = 160
# The elements that most modules have come first, should there be no time for all.
FIRST: Final = ("f32", "i32", "f64", "bf16", "f16", "i64", "i1", "ui32", "i8", "ui8")
# What is said of an instance that the oracle itself refuses.
ORACLE: Final = "the oracle refuses: "
# A module that only moves an element.
MOVED: Final = """
func.func @main(%a: tensor<1x{T}>) -> tensor<1x{T}> {{
  %0 = stablehlo.reverse %a, dims = [0] : tensor<1x{T}>
  return %0 : tensor<1x{T}>
}}
"""
# What differs between the refusals of one kind.
PLACE: Final = re.compile(r"(?:UNKNOWN: )?-:\d+:\d+: |line \d+, column \d+: |<stdin>:\d+:\d+: ")
EXTENTS: Final = re.compile(r"(?<=[<x])\d+x")
INSTRUCTIONS: Final = ("avx2", "fma", "avx512f", "sve")


class Certification:
    """A certificate in the making: `steps` goes through it, `certificate` is what was found.

    `only` chooses instances by their key. With a `journal`, what is done is written there, and
    what stands there is not done again.
    """

    def __init__(
        self,
        runtime: TargetLike,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
        seed: int = 0,
        only: Choice = lambda key: True,
        journal: Path | None = None,
    ) -> None:
        self._target = Target(runtime, numerics, _limited(runtime, options))
        self._numerics, self._seed = Numerics.of(numerics), seed
        chosen = [each for form in forms() for each in instances(form, only)]
        # Of one element, for a runtime that has no such elements refuses them at once.
        order = [*FIRST, *ELEMENTS]
        chosen.sort(key=lambda each: order.index(each.element))
        self.instances: tuple[Instance, ...] = tuple(chosen)
        title = f"{self._target} {self._numerics.value} {self._versions()} seed {seed}"
        self._journal = Journal(journal, title)

    def steps(self) -> Iterator[Stage]:
        """Runs what is not done yet, and says before each module what it has."""
        subjects = [Subject(each, self._seed) for each in self.instances]
        total, keys = len(subjects), {each.key for each in self.instances}
        done = self._journal.done
        rest = [each for each in subjects if each.instance.key not in done]
        yield Stage(len(keys & done.keys()), total, "elements")
        rest = self._of_known_elements(rest)
        for first in range(0, len(rest), TOGETHER):
            batch = rest[first : first + TOGETHER]
            names = sorted({each.instance.operation for each in batch})
            what = f"{batch[0].instance.element}: {names[0]} to {names[-1]}"
            yield Stage(len(keys & done.keys()), total, what)
            self._run([each for each in batch if self._is_able(each)])
        yield Stage(total, total, "probes and reproducers")

    def certificate(self, *, probes: bool = True) -> Certificate:
        """Returns what was found; a wrong result has a module that shows it.

        The runtime runs these modules and, unless told otherwise, the probes.
        """
        kept = self._journal.done
        done = {each.key: kept[each.key] for each in self.instances if each.key in kept}
        cells = {
            key: {
                name: found.cell
                for name, found in each.classes.items()
                if found.cell.outcome is not Outcome.BITS
            }
            for key, each in done.items()
            if not each.refusal
        }
        refusals = {key: each.refusal for key, each in done.items() if each.refusal}
        unable = {key: told for key, told in refusals.items() if told.startswith(ORACLE)}
        return Certificate(
            str(self._target),
            self._numerics.value,
            self._versions(),
            _processor_name(),
            self._seed,
            cells,
            {key: told for key, told in refusals.items() if key not in unable},
            probed(self._target) if probes else {},
            tuple(self._faults(done)),
            left_out() | _unable(unable) | _not_run(self.instances, kept),
        )

    def _of_known_elements(self, subjects: Sequence[Subject]) -> list[Subject]:
        """Returns those whose elements the runtime knows, and keeps the others as refused.

        An element is unknown where the runtime refuses what only moves it.
        """
        wanted = {element for each in subjects for element in each.instance.elements}
        unknown = dict[str, str]()
        for element in (each for each in ELEMENTS if each in wanted):
            module = parse(MOVED.format(T=element)).verify()
            array = np.ones(1, ELEMENTS[element])
            try:
                self._target.run(module, [array], built(module).signature)
            except RunError as error:
                unknown[element] = f"unknown elements: {_reason(error).replace(element, 'T')}"
        known = []
        for each in subjects:
            refused = [unknown[name] for name in each.instance.elements if name in unknown]
            if refused:
                self._journal.keep(each.instance.key, Done(refused[0]))
            else:
                known.append(each)
        return known

    def _is_able(self, subject: Subject) -> bool:
        """Returns whether the oracle runs an instance; why not is kept."""
        try:
            for name in subject.classes:
                subject.oracle(*subject.arguments(name))
        except ToposError as error:
            self._journal.keep(subject.instance.key, Done(f"{ORACLE}{_reason(error)}"))
            return False
        return True

    def _run(self, subjects: Sequence[Subject]) -> None:
        """Runs instances in one module; parts of it find those that hinder the others."""
        if not subjects:
            return
        try:
            classes = self._classes(subjects)
        except RunError as error:
            if len(subjects) > 1:
                # Where some fail, more do: halves would compile most of them many times.
                size = isqrt(len(subjects))
                for first in range(0, len(subjects), size):
                    self._run(subjects[first : first + size])
                return
            self._journal.keep(subjects[0].instance.key, Done(_reason(error)))
            return
        for key, done in classes.items():
            self._journal.keep(key, done)

    def _classes(self, subjects: Sequence[Subject]) -> dict[Key, Done]:
        """Returns what was found of instances; raises `RunError` unless all run.

        One that is alone may die of some inputs and not of others.
        """
        module, signature = together([each.instance for each in subjects])
        prepared = self._target.prepared(module, signature)
        found: dict[Key, dict[str, Found]] = defaultdict(dict)
        said, crashed = "", False
        for name in dict.fromkeys(name for each in subjects for name in each.classes):
            given = [array for each in subjects for array in each.arguments(name)]
            try:
                results = [*prepared(given)]
            except RunError as error:
                if len(subjects) > 1:
                    raise
                said = said or _reason(error)
                crashed = crashed or isinstance(error.__cause__, CrashError)
                found[subjects[0].instance.key][name] = Found(Cell(Outcome.DIED))
                prepared = self._target.prepared(module, signature)
                continue
            for subject in subjects:
                count = len(subject.instance.results)
                if name in subject.classes:
                    found[subject.instance.key][name] = subject.found(name, results[:count])
                results = results[count:]
        outcomes = [cell.cell.outcome for classes in found.values() for cell in classes.values()]
        if not crashed and {*outcomes} == {Outcome.DIED}:
            # What has one entry for compiling and running refuses there.
            return {subjects[0].instance.key: Done(said)}
        return {each.instance.key: Done("", found[each.instance.key], said) for each in subjects}

    def _faults(self, done: Mapping[Key, Done]) -> Iterator[Fault]:
        """Yields a fault for each form that is wrong, of all its elements and inputs."""
        wrong: dict[tuple[str, str], list[tuple[Instance, str, Found, str]]] = defaultdict(list)
        for instance in self.instances:
            each = done.get(instance.key, Done())
            for name, found in each.classes.items():
                if found.cell.outcome in (Outcome.WRONG, Outcome.DIED):
                    place = (instance.operation, instance.variant)
                    wrong[place].append((instance, name, found, each.said))
        for _, places in sorted(wrong.items()):
            elements = " ".join(dict.fromkeys([each.element for each, _, _, _ in places]))
            inputs = ", ".join(dict.fromkeys([name for _, name, _, _ in places]))
            instance, name, found, said = places[0]
            arguments = Subject(instance, self._seed).arguments(name)
            fault = fault_of(self._target, instance, arguments, found, said)
            yield fault._replace(elements=elements, inputs=inputs)

    def _versions(self) -> str:
        runtime = self._target.runtime
        known = isinstance(runtime, str) and runtime in runtimes.names()
        return runtimes.load(str(runtime)).status().detail if known else ""


def _unable(refusals: Mapping[Key, str]) -> dict[str, str]:
    """Returns why the oracle refuses, by the form and its elements."""
    elements: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (operation, variant, element), reason in refusals.items():
        elements[f"{operation} {variant}".strip(), reason].append(element)
    return {f"{form} of {' '.join(each)}": why for (form, why), each in elements.items()}


def _not_run(chosen: Sequence[Instance], done: Mapping[Key, Done]) -> dict[str, str]:
    """Returns of which elements some operations are not run yet."""
    left = Counter([each.element for each in chosen if each.key not in done])
    return {f"{count} of {element}": "not run yet" for element, count in left.items()}


def certify(
    runtime: TargetLike,
    *,
    numerics: Numerics | str = Numerics.FAST,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    only: Choice = lambda key: True,
    journal: Path | None = None,
) -> Certificate:
    """Returns the certificate of a runtime: what it makes of every operation and element.

    `runtime`, `numerics` and `options` are those of `judge.grade`. `only` takes an operation's
    name, form and element and says whether it is run. What is done is written to `journal`, and not
    done again by another call. Raises `UnavailableError` where the runtime is not ready.
    """
    making = Certification(
        runtime, numerics=numerics, options=options, seed=seed, only=only, journal=journal
    )
    for _ in making.steps():
        pass
    return making.certificate()


def _limited(runtime: TargetLike, options: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Returns options by which a runtime with a worker gets no more than `SECONDS`."""
    if not isinstance(runtime, str) or runtime not in runtimes.names():
        return options
    if runtimes.load(runtime).worker is None:
        return options
    return {"timeout": SECONDS, **(options or {})}


def _reason(error: Exception) -> str:
    """Returns the first line of an error, without places in a text and extents."""
    line = next(iter(str(error).splitlines()), type(error).__name__)
    line = EXTENTS.sub("", PLACE.sub("", line))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def _processor_name() -> str:
    lines = processor().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    flags = {
        word for line in lines if line.startswith(("flags", "Features")) for word in line.split()
    }
    known = [each for each in INSTRUCTIONS if each in flags]
    return " ".join([lines[1], *models, *known])
