"""Local replay: every operation of a run on its own, with the operands that the oracle gave it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from topos.judge.samples.following import CONTROL, FollowingBuilder
from topos.runtimes.interpreter.context import BuildContext, Builder, Constant
from topos.runtimes.interpreter.program import Array, Kernel
from topos.stablehlo import Module, parse
from topos.stablehlo.ir import Block, Function, Operation, Parameter, Region, Tensor, Type
from topos.stablehlo.scope import captured
from topos.stablehlo.walks import called_first

# So many operations go into one module.
TOGETHER: Final = 80


class Step(NamedTuple):
    """One operation with the operands and results of its first run; `order` is when that ended."""

    operation: Operation
    operands: tuple[Array, ...]
    operand_types: tuple[Type, ...]
    results: tuple[Array, ...]


@dataclass(frozen=True)
class Replay:
    """A module that calls each of some operations once, on its own arguments.

    The results of `steps[i]` are those of @main from `starts[i]` on.
    """

    module: Module
    arguments: tuple[Array, ...]
    steps: tuple[Step, ...]
    starts: tuple[int, ...]


def steps_of(module: Module, arguments: Sequence[Array]) -> list[Step]:
    """Returns the operations of a verified module in the order in which the oracle ran them.

    Each stands once, with the values of its first run, whatever function or loop it is in. Left out
    are constants, what calls or chooses, and what takes anything but tensors or captures a value.
    """
    builder = _Recorder(module)
    with np.errstate(all="ignore"):
        builder.main().run(*arguments)
    return list(builder.steps.values())


class _Recorder(FollowingBuilder):
    """Builds exact programs whose kernels remember their first operands and results."""

    def __init__(self, module: Module) -> None:
        super().__init__(module, exact=True)
        self.steps: dict[int, Step] = {}

    def _kernel(self, builder: Builder, context: BuildContext[Any]) -> Kernel | Constant:
        kernel = super()._kernel(builder, context)
        types = (*context.operands, *context.results)
        told = all(isinstance(each, Tensor) for each in types) and context.operands
        if isinstance(kernel, Constant) or type(context.op) in CONTROL or not told:
            return kernel
        if captured(context.operation.regions):
            return kernel
        return self._recording(kernel, context)

    def _recording(self, kernel: Kernel, context: BuildContext[Any]) -> Kernel:
        operation, single = context.operation, len(context.results) == 1

        def recording(*operands: Array) -> Any:
            if id(operation) in self.steps:
                return kernel(*operands)
            # A kernel may write to what dies with it.
            kept = tuple([np.array(each) for each in operands])
            results = kernel(*operands)
            every = (results,) if single else tuple(results)
            copies = tuple([np.array(each) for each in every])
            self.steps[id(operation)] = Step(operation, kept, context.operands, copies)
            return results

        return recording


def replays(module: Module, steps: Sequence[Step]) -> Iterator[Replay]:
    """Yields modules that run the operations of `module`, `TOGETHER` in each."""
    for first in range(0, len(steps), TOGETHER):
        yield _replay(module, steps[first : first + TOGETHER])


def _replay(module: Module, steps: Sequence[Step]) -> Replay:
    taken = {function.name for function in module.functions}
    functions, calls, parameters = list[Function](), list[str](), list[str]()
    returned, arguments, starts = list[tuple[str, str]](), list[Array](), list[int]()
    for place, step in enumerate(steps):
        name = f"operation_{place}"
        while name in taken:
            name += "_"
        operation, results = step.operation, step.operation.result_types
        given = [f"%a{place}_{each}" for each in range(len(step.operands))]
        functions.append(alone(name, step))
        parameters += [
            f"{each}: {type}" for each, type in zip(given, step.operand_types, strict=True)
        ]
        arguments += step.operands
        starts.append(len(returned))
        # An operation may take a value twice; the function that holds it takes it once.
        distinct = [operation.operands.index(each) for each in dict.fromkeys(operation.operands)]
        several = "" if len(results) == 1 else f":{len(results)}"
        calls.append(
            f"%c{place}{several} = func.call @{name}({', '.join(given[each] for each in distinct)})"
            f" : ({', '.join(str(step.operand_types[each]) for each in distinct)})"
            f" -> ({', '.join(map(str, results))})"
        )
        suffixes = [f"#{each}" for each in range(len(results))] if several else [""]
        returned += [
            (f"%c{place}{suffix}", str(type))
            for suffix, type in zip(suffixes, results, strict=True)
        ]
    types = ", ".join(type for _, type in returned)
    text = (
        f"func.func @main({', '.join(parameters)}) -> ({types}) {{\n  "
        + "\n  ".join(calls)
        + f"\n  return {', '.join(name for name, _ in returned)} : {types}\n}}"
    )
    (main,) = parse(text).functions
    everyone = {each.name: each for each in (*module.functions, *functions)}
    reached = called_first(everyone, [function.name for function in functions])
    called = [everyone[each] for each in reached]
    whole = module._replace(attributes={}, functions=(main, *called))
    return Replay(whole, tuple(arguments), tuple(steps), tuple(starts))


def alone(name: str, step: Step) -> Function:
    """Returns the private function of one operation, under names of its own."""
    operation = step.operation
    names = {each: f"%operand_{place}" for place, each in enumerate(operation.operands)}
    parameters = tuple(
        [
            Parameter(new, step.operand_types[operation.operands.index(old)], {})
            for old, new in names.items()
        ]
    )
    count = len(operation.result_types)
    made = ("%result",) if count == 1 else tuple([f"%result#{each}" for each in range(count)])
    renamed = operation._replace(
        operands=tuple([names[each] for each in operation.operands]), results=made
    )
    end = Operation("func.return", (), made, {}, (), operation.result_types, (), 0, 0)
    results = tuple([Parameter("", type, {}) for type in operation.result_types])
    body = Region((Block(parameters, (renamed, end)),))
    return Function(name, parameters, results, {"sym_visibility": "private"}, body, 0, 0)
