"""The claim of an operation: the types that its text states, which a rule holds it to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topos.stablehlo.ir import Function, FunctionType
from topos.stablehlo.meshes import Mesh
from topos.stablehlo.subject import Subject

__all__ = ["Claim", "Rule"]


@dataclass(frozen=True, slots=True)
class Claim(Subject):
    """One operation whose own rule is still to be checked; its regions have passed theirs.

    `bodies` holds for each region the types of its arguments and of what it returns, `()` for
    both where it has no block; `functions` and `meshes` are those of the module. Types may be
    dynamic, unranked, tuples or tokens.
    """

    bodies: tuple[FunctionType, ...]
    functions: Mapping[str, Function]
    meshes: Mapping[str, Mesh]


# A rule returns nothing and refuses what breaks it.
Rule = Callable[[Claim], None]
