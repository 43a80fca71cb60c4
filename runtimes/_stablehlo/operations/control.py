"""Control: calls, branches, loops, and the barrier that does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy.typing as npt

from topos.runtimes._stablehlo.program import Kernel, Program
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.syntax import Symbol, Tensor, Type

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]

_TRUTH: Final = Tensor((), "i1")


def _single(results: Sequence[Array]) -> Any:
    return results[0] if len(results) == 1 else results


def _call(site: Site) -> Kernel:
    callee = site.attribute("callee")
    if not isinstance(callee, Symbol):
        site.refuse(f"needs a function, got {callee}")
    program = site.function(callee, site.operation)
    site.demand(
        program.arguments == site.operands and program.results == site.results,
        f"needs the types of @{callee}, {_signature(program.arguments, program.results)},"
        f" got {_signature(site.operands, site.results)}",
    )
    return partial(_run, program)


def _run(program: Program, *arguments: Array) -> Any:
    return _single(program.run(*arguments))


def _signature(arguments: Sequence[Type], results: Sequence[Type]) -> str:
    return " -> ".join(f"({', '.join(map(str, types))})" for types in (arguments, results))


def _branch(site: Site) -> Kernel:
    wanted = _TRUTH if site.name == "stablehlo.if" else Tensor((), "i32")
    site.demand(site.operands == (wanted,), f"needs one {wanted} to choose by")
    count = len(site.regions)
    enough = count == 2 if site.name == "stablehlo.if" else count > 0
    site.demand(enough, f"needs a region for each branch, got {count}")
    for region in site.regions:
        outcome = region.results == site.results
        site.demand(
            outcome and len(region.arguments) == site.captures,
            f"needs branches of {_signature((), site.results)},"
            f" got {_signature(region.arguments, region.results)}",
        )
    return partial(_chosen, site.regions, site.name == "stablehlo.if")


def _chosen(regions: Sequence[Program], truth: bool, index: Array, *captures: Array) -> Any:
    # The first branch is that of a true value; an index outside the branches takes the last.
    place = int(not index) if truth else int(index)
    if not 0 <= place < len(regions):
        place = len(regions) - 1
    return _single(regions[place].run(*captures))


def _while(site: Site) -> Kernel:
    site.demand(site.operands == site.results, "needs results of the types of its operands")
    site.demand(len(site.regions) == 2, f"needs a condition and a body, got {len(site.regions)}")
    condition, body = site.regions
    for region, results in ((condition, (_TRUTH,)), (body, site.results)):
        taken = region.arguments[: len(region.arguments) - site.captures]
        site.demand(
            taken == site.operands and region.results == results,
            f"needs a region of {_signature(site.operands, results)},"
            f" got {_signature(taken, region.results)}",
        )
    return _Loop(condition, body, len(site.operands))


@dataclass(frozen=True, slots=True)
class _Loop:
    """A condition and a body over the same values."""

    condition: Program
    body: Program
    count: int

    def __call__(self, *values: Array) -> Any:
        state: Sequence[Array] = values[: self.count]
        captures = values[self.count :]
        while self.condition.run(*state, *captures)[0]:
            state = self.body.run(*state, *captures)
        return _single(state)


def _barrier(site: Site) -> Kernel:
    site.demand(site.operands == site.results, "needs results of the types of its operands")
    return _unchanged


def _unchanged(*values: Array) -> Any:
    return _single(values)


BUILDERS: Final[Mapping[str, Builder]] = {
    "func.call": _call,
    "stablehlo.case": _branch,
    "stablehlo.if": _branch,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.while": _while,
}
