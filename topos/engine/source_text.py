"""The Python of a program: its text, and the two ways to run it, which compute the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, Final, NamedTuple

from topos.engine.program import Instruction, Program
from topos.op import Array

Function = Callable[[Sequence[Array], Sequence[Array]], tuple[Array, ...]]

# Python takes some ten microseconds and five kilobytes to compile a line, which saves half a
# microsecond in each run.
_LONGEST: Final = 12_000
_WIDTH: Final = 90


def text_of(program: Program, *, notes: bool = True) -> str:
    """Returns the program as a Python function of its sources and the arrays of an arena.

    With `notes`, each line says which nodes it computes.
    """
    lines = ["def run(sources, arena):"]
    lines += _unpacked(list(program.sources), "sources")
    lines += _unpacked(list(program.buffers), "arena")
    for instruction in program.instructions:
        lines += _lines(instruction, notes)
    results = list(program.results.values())
    lines.append(f"    return ({', '.join(results)},)")
    return "\n".join(lines)


def function_of(program: Program, bound: Mapping[str, Callable[..., Any]]) -> Function:
    """Returns the program as a function: compiled, or walked where it has very many lines.

    `bound` are functions that stand in for those of the same names.
    """
    program = program._replace(functions={**program.functions, **bound})
    if len(program.instructions) > _LONGEST:
        return _Walker(program)
    space: dict[str, Any] = {**program.functions, **program.constants}
    exec(_compiled(text_of(program, notes=False)), space)
    function: Function = space["run"]
    return function


@lru_cache(maxsize=128)
def _compiled(text: str) -> CodeType:
    # Plans of one structure share their text, since slots are numbered from zero in each.
    return compile(text, "<schedule>", "exec")


def _unpacked(names: list[str], what: str) -> list[str]:
    if not names:
        return []
    rows, row = [], "    ("
    for name in names:
        if len(row) > _WIDTH:
            rows.append(row.rstrip())
            row = "     "
        row += f"{name}, "
    return [*rows, f"{row.rstrip()}) = {what}"]


def _lines(instruction: Instruction, notes: bool) -> list[str]:
    arguments = ", ".join(instruction.arguments)
    if instruction.out is not None:
        arguments += f", out={instruction.out}"
    call = f"{instruction.function}({arguments})"
    if instruction.targets:
        call = f"{', '.join(instruction.targets)} = {call}"
    note = f"  # {' '.join(f'%{node}' for node in instruction.nodes)}" if notes else ""
    lines = [f"    {call}{note}".removesuffix("  # ")]
    if instruction.released:
        lines.append(f"    del {', '.join(instruction.released)}")
    return lines


class _Call(NamedTuple):
    """An instruction whose names have become places in a list of slots."""

    function: Callable[..., Any]
    arguments: tuple[int, ...]
    out: int | None
    targets: tuple[int, ...]
    released: tuple[int, ...]


class _Walker:
    """A program as a list of calls: slower a step than compiled text, and ready at once."""

    __slots__ = ("_calls", "_fixed", "_more", "_results")

    def __init__(self, program: Program) -> None:
        fixed = {**program.constants, **program.literals, **program.functions}
        places = {name: place for place, name in enumerate(fixed)}
        for name in (*program.sources, *program.buffers):
            places[name] = len(places)
        bound = len(places)

        def placed(names: Iterable[str]) -> tuple[int, ...]:
            return tuple([places.setdefault(name, len(places)) for name in names])

        self._calls = [
            _Call(
                program.functions[each.function],
                placed(each.arguments),
                None if each.out is None else placed((each.out,))[0],
                placed(each.targets),
                placed(each.released),
            )
            for each in program.instructions
        ]
        self._fixed, self._more = list(fixed.values()), len(places) - bound
        self._results = placed(program.results.values())

    def __call__(self, sources: Sequence[Array], arena: Sequence[Array]) -> tuple[Array, ...]:
        slots = [*self._fixed, *sources, *arena, *[None] * self._more]
        for function, arguments, out, targets, released in self._calls:
            if out is not None and not released and len(arguments) == 2:
                left, right = arguments
                function(slots[left], slots[right], out=slots[out])
                continue
            values = [slots[place] for place in arguments]
            if out is not None:
                function(*values, out=slots[out])
            elif len(targets) == 1:
                slots[targets[0]] = function(*values)
            else:
                for place, result in zip(targets, function(*values), strict=True):
                    slots[place] = result
            for place in released:
                slots[place] = None
        return tuple([slots[place] for place in self._results])
