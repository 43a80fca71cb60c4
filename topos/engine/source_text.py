"""The Python of a program: its text, and the two ways to run it, which compute the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, Final

from topos.engine.program import Instruction, Program
from topos.op import Array

__all__ = ["Function", "function_of", "text_of"]

Function = Callable[[Sequence[Array], Sequence[Array]], tuple[Array, ...]]

# Python compiles a line in some ten microseconds, a step of a list costs a tenth of one to run.
_LONGEST: Final = 20_000
_WIDTH: Final = 90


def text_of(program: Program) -> str:
    """Returns the program as a Python function of its sources and the arrays of an arena."""
    lines = ["def run(sources, arena):"]
    lines += _unpacked(list(program.sources), "sources")
    lines += _unpacked(list(program.buffers), "arena")
    for instruction in program.instructions:
        lines += _lines(instruction)
    results = list(program.results.values())
    lines.append(f"    return ({', '.join(results)},)")
    return "\n".join(lines)


def function_of(program: Program) -> Function:
    """Returns the program as a function: compiled, or walked where it has very many lines."""
    if len(program.instructions) > _LONGEST:
        return _walker(program)
    space: dict[str, Any] = {**program.functions, **program.constants}
    exec(_compiled(text_of(program)), space)
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


def _lines(instruction: Instruction) -> list[str]:
    arguments = ", ".join(instruction.arguments)
    if instruction.out is not None:
        arguments += f", out={instruction.out}"
    call = f"{instruction.function}({arguments})"
    if instruction.targets:
        call = f"{', '.join(instruction.targets)} = {call}"
    note = f"  # {instruction.note}" if instruction.note else ""
    lines = [f"    {call}{note}"]
    if instruction.released:
        lines.append(f"    del {', '.join(instruction.released)}")
    return lines


def _walker(program: Program) -> Function:
    """Returns the function that walks over the instructions, slots in a list."""
    places: dict[str, int] = {}
    for name in (*program.sources, *program.buffers):
        places[name] = len(places)
    fixed: list[Any] = []
    steps = [_placed(program, instruction, places, fixed) for instruction in program.instructions]
    return _Walker(steps, fixed, [places[name] for name in program.results.values()])


