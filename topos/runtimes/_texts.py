"""What can be done with a module without running it; needs only the base installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topos.stablehlo.forms import ModuleLike, text_of

if TYPE_CHECKING:
    from topos.stablehlo.cost import CostAnalysis


# The parser is loaded by the first text, not by the import of the adapters.


def verify(module: ModuleLike) -> None:
    """Parses a module in any form and holds every operation of it to its rule.

    Raises `ParseError`, `VerifyError` or `UnsupportedError` with line, column and a caret;
    what is no module raises as `topos.stablehlo.text_of` does.
    """
    from topos.stablehlo.read import read

    read(text_of(module))


def printed(module: ModuleLike, *, generic: bool = False) -> str:
    """Returns a module in any form as text that reads back as the same.

    It is in custom assembly, or every operation in generic form if `generic`. Locations are left
    out. The module need not pass verification. Raises as `verify` does.
    """
    from topos.stablehlo import printer as printing
    from topos.stablehlo.read import parsed

    return printing.printed(parsed(text_of(module)), generic=generic)


def cost_analysis(module: ModuleLike) -> CostAnalysis:
    """Returns the operations that a run of `@main` executes, with their elements and flops.

    A loop's body counts once, and of several branches the one with the most flops. Raises as
    `verify` does, also where there is no `@main`.
    """
    from topos.stablehlo import cost as counting
    from topos.stablehlo.read import read, told_of

    text = text_of(module)
    with told_of(text):
        return counting.cost_analysis(read(text))


# What `cost_analysis` was called before, for those who call it so.
census = cost_analysis
