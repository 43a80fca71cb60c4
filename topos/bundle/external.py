"""External judges: commands of any make that verify or run the modules of a checked bundle.

A program that our own verifier refused goes to none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy.typing as npt

from topos.bundle.bundle import Call, Program
from topos.bundle.commands import EVALUATOR, VALIDATOR, Commands, Done, called, is_own, words_of
from topos.bundle.report import Check, State, Verdict, blocked, judged, told
from topos.errors import ExecutionError
from topos.runtimes import ArrayType
from topos.runtimes._archive import load, save

Array = npt.NDArray[Any]


def named_verdicts(
    environment: Mapping[str, str], check: Check, folder: Path, commands: Commands | None = None
) -> list[Verdict]:
    """Returns the verdicts of the commands that an environment names, where it names any."""
    verdicts = []
    if command := environment.get(VALIDATOR):
        verdicts += validator_verdicts(command, check, folder, commands)
    if command := environment.get(EVALUATOR):
        verdicts += evaluator_verdicts(command, check, folder, commands)
    return verdicts


def validator_verdicts(
    command: str, check: Check, folder: Path, commands: Commands | None = None
) -> list[Verdict]:
    """Returns whether a command accepts the modules: it is called with the path of a text.

    A status of zero accepts. `topos validate` gets all modules at once. `folder` takes the texts,
    and `commands` keeps the process for later calls. Raises `ArgumentError` for a text that is no
    command.
    """
    words, call = words_of(command), commands.called if commands else called
    open_to = [each for each in check.bundle.programs if not check.refused(each)]
    modules = {program.name: _text(program, folder) for program in open_to}
    if is_own(words) and modules:
        done = dict.fromkeys(modules, call(words, [*modules.values()], len(modules)))
    else:
        done = {name: call(words, [module], 1) for name, module in modules.items()}
    return [
        _validated(modules[program.name], program, done[program.name])
        if program.name in modules
        else blocked("validator", program)
        for program in check.bundle.programs
    ]


def evaluator_verdicts(
    command: str, check: Check, folder: Path, commands: Commands | None = None
) -> list[Verdict]:
    """Returns what the samples are by a command: `COMMAND MODULE ARGS.npz RESULTS.npz ...`.

    It is called once, with such a triple for each call of each program. The arguments are `arg0`,
    `arg1`, ..., the results `result0`, ...; elements that numpy does not know are stored as their
    bits. `folder` takes the files, and `commands` keeps the process of `topos eval` for others.
    Raises `ArgumentError` for a text that is no command.
    """
    words, weights = words_of(command), check.bundle.weights()
    programs = check.bundle.programs
    asked = {
        program.name: _asked(program, weights, folder)
        for program in programs
        if not check.refused(program)
    }
    # Most of an evaluator's time is its start, so one process takes the modules of all programs.
    paths = [path for each in asked.values() for path in each.paths]
    call = commands.called if commands else called
    done = call(words, paths, len(asked)) if asked else Done(words[0])
    verdicts = []
    for program in programs:
        if program.name in asked and done.lacking:
            verdicts.append(told("evaluator", program, State.SKIPPED, done.lacking))
        elif program.name in asked:
            answers = partial(_answers, program, asked, done)
            verdicts += judged("evaluator", program, answers)
        else:
            verdicts.append(blocked("evaluator", program))
    return verdicts


class _Asked(NamedTuple):
    """What a command is asked of one program: a module, and the archives of each call."""

    module: Path
    arguments: tuple[Path, ...]
    results: tuple[Path, ...]

    @property
    def paths(self) -> list[Path]:
        """The triples, one after the other."""
        pairs = zip(self.arguments, self.results, strict=True)
        return [path for pair in pairs for path in (self.module, *pair)]

    @property
    def is_answered(self) -> bool:
        """Whether every call has results."""
        return all(path.is_file() for path in self.results)


def _validated(module: Path, program: Program, done: Done) -> Verdict:
    # A command that takes many modules says which of them are valid.
    if not done.failure or f"{module}: valid" in done.said:
        return told("validator", program, State.HOLDS)
    if done.lacking:
        return told("validator", program, State.SKIPPED, done.lacking)
    return told("validator", program, State.FAILED, done.reason(module))


def _asked(program: Program, weights: Mapping[str, Array], folder: Path) -> _Asked:
    """Writes a module and the arguments of its sample's calls."""
    module, calls = _text(program, folder), program.sample()
    arguments, results = (
        tuple(module.with_suffix(f".{place}.{kind}.npz") for place in range(len(calls)))
        for kind in ("args", "results")
    )
    for path, call in zip(arguments, calls, strict=True):
        every = {**weights, **call.inputs}
        save(path, [every[port.name] for port in program.arguments], "arg")
    for path in results:
        path.unlink(missing_ok=True)
    return _Asked(module, arguments, results)


def _answers(
    program: Program, asked: Mapping[str, _Asked], done: Done, calls: Sequence[Call]
) -> list[list[Array]]:
    own = asked[program.name]
    # One module's failure is no other's, unless nothing tells whose it is.
    if not own.is_answered or all(each.is_answered for each in asked.values()):
        if done.failure:
            raise ExecutionError(done.reason(own.module))
        if not own.is_answered:
            raise ExecutionError(f"{done.command} wrote no results")
    types = [ArrayType(port.shape, port.dtype) for port in program.results]
    return [load(path, types, "result") for path in own.results]


def _text(program: Program, folder: Path) -> Path:
    path = folder / f"{program.name}.mlir"
    path.write_text(program.text, encoding="utf-8")
    return path
