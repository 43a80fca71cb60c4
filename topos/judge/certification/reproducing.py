"""Reproducers: modules of one operation with constants, which show that a runtime is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from topos.judge.case import Case
from topos.judge.certification.cells import Found
from topos.judge.certification.forms import Instance
from topos.judge.target import RunError, Target
from topos.judge.verdicts import BAD, Verdict
from topos.runtimes._certificate import Fault, Outcome
from topos.runtimes.interpreter.program import Array
from topos.stablehlo import parse
from topos.stablehlo.dense import dense_of
from topos.stablehlo.ir import Tensor

# How many elements of an elementwise operation a reproducer has, at most.
SIZES: Final = (1, 16, 256)


def fault_of(
    target: Target,
    instance: Instance,
    arguments: Sequence[Array],
    found: Found,
    said: str,
) -> Fault:
    """Returns a wrong result with the smallest module that shows it, or one that might have."""
    text, got, oracle, shown = instance.text, said, "", False
    for candidate in _candidates(instance, arguments, found):
        text = candidate
        died, got, oracle = _shown(target, candidate)
        shown = died if found.cell.outcome is Outcome.DIED else bool(got)
        if shown:
            break
    return Fault(
        instance.operation, instance.variant, instance.element, "", got or said, oracle, text, shown
    )


def _candidates(instance: Instance, arguments: Sequence[Array], found: Found) -> Iterator[str]:
    """Yields modules that may show a fault, the smallest first."""
    count = arguments[0].size if arguments else 0
    alike = len({each.shape for each in arguments}) == 1
    if instance.is_elementwise and alike and found.cell.outcome is not Outcome.DIED:
        # A vector's code may be wrong where a scalar's is right.
        for size in SIZES:
            first = found.place[0] // size * size
            text = re.sub(r"tensor<\d+x", f"tensor<{size}x", instance.text)
            yield _with_constants(
                text, [each[first : first + size] for each in arguments], instance
            )
    if count <= SIZES[-1]:
        yield _with_constants(instance.text, arguments, instance)


def _with_constants(text: str, arguments: Sequence[Array], instance: Instance) -> str:
    """Returns a module without arguments that applies functions, behind a barrier, to constants."""
    lines, names, types = list[str](), list[str](), list[str]()
    for place, (array, parameter) in enumerate(zip(arguments, instance.arguments, strict=True)):
        assert isinstance(parameter.type, Tensor)
        constant = dense_of(array, parameter.type.element)
        types.append(str(constant.type))
        names.append(f"%b{place}")
        lines.append(f"  %c{place} = stablehlo.constant dense<{constant.body}> : {types[-1]}\n")
    if names:
        given = ", ".join(f"%c{place}" for place in range(len(names)))
        lines.append(
            f"  {', '.join(names)} = stablehlo.optimization_barrier {given} : {', '.join(types)}\n"
        )
    count = len(instance.results)
    head = re.search(r"-> (\([^{]*\)|[^{]*) \{", text)
    assert head is not None
    made = head[1]
    results = [f"%r#{place}" for place in range(count)] if count > 1 else ["%r"]
    produced = made.strip("()") if count > 1 else made
    several = f":{count}" if count > 1 else ""
    return (
        f"func.func @main() -> {made} {{\n{''.join(lines)}"
        f"  %r{several} = func.call @form({', '.join(names)})"
        f" : ({', '.join(types)}) -> ({produced})\n"
        f"  return {', '.join(results)} : {produced}\n}}\n{text}"
    )


def _shown(target: Target, text: str) -> tuple[bool, str, str]:
    """Returns whether the runtime died of a module, and what is wrong beside the oracle's."""
    case = Case(text)
    try:
        results = target.run(parse(text), (), case.signature)
    except RunError as error:
        return True, str(error).splitlines()[0], ""
    judgements = case.judged(results)
    for place, judgement in enumerate(judgements):
        verdicts = judgement.verdicts
        if Verdict(int(verdicts.max(initial=0))) in BAD:
            index = int(verdicts.argmax())
            got, oracle = results[place].ravel()[index], case.results[place].ravel()[index]
            return False, str(got), str(oracle)
    return False, "", ""
