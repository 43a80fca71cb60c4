"""What can be done with StableHLO text without running it; needs only the base installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topos.runtimes._runtime import requested

if TYPE_CHECKING:
    from topos.stablehlo.cost import Census

__all__ = ["census", "printed", "verify"]

# The parser is loaded by the first text, not by the import of the adapters.


def verify(text: str) -> None:
    """Parses StableHLO text and holds every operation of it to its rule.

    Raises `ParseError`, `VerifyError` or `UnsupportedError` with line, column and a caret;
    `ArgumentError` where `text` is no string.
    """
    requested(text, None)
    from topos.stablehlo.read import read

    read(text)


def printed(text: str) -> str:
    """Returns StableHLO text, pretty or generic, as pretty text that reads back as the same.

    Locations are left out. The module need not pass verification. Raises as `verify` does.
    """
    requested(text, None)
    from topos.stablehlo import printer as printing
    from topos.stablehlo.read import parsed

    return printing.printed(parsed(text))


def census(text: str) -> Census:
    """Returns the operations that a run of `@main` executes, with their elements and flops.

    A loop's body counts once. Raises as `verify` does, also where there is no `@main`.
    """
    requested(text, None)
    from topos.stablehlo import cost as counting
    from topos.stablehlo.read import read, told_of

    with told_of(text):
        return counting.census(read(text))
