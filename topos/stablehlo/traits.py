"""Traits: what is true of an operation as a whole, from which every set of names is computed."""

from __future__ import annotations

from enum import Flag, auto


class Trait(Flag):
    """What a definition declares of its operation; see each member."""

    NONE = 0
    # Moves elements or chooses among them, and computes none: it costs no flops.
    MOVES = auto()
    # Of one scalar there is but one layout, so on scalars the operation does nothing.
    LAYOUT = auto()
    # Each element of the result depends on the elements at its own place alone.
    ELEMENTWISE = auto()
    # Works element by element where its regions do.
    CARRIES = auto()
    # Gives the same bits whichever operand comes first; a reduction may apply it by its name.
    COMMUTATIVE = auto()
    # A run executes one of the regions alone.
    CHOOSES = auto()
    # Makes a decision of a number, which a rounding may turn.
    DECIDES = auto()
    # Gives zero of numbers that are not where the range of the element ends.
    UNDERFLOWS = auto()
    # The value is written in the text.
    CONSTANT = auto()
    # Ends a block.
    TERMINATOR = auto()
    # Has results whose types are those of its operands, one by one.
    PAIRWISE = auto()
    # Has no results, so that the types its text states are those of its operands.
    WITHOUT_RESULT = auto()
    # MHLO has this operation of CHLO under its own prefix, as it has all of StableHLO.
    MHLO = auto()
    # Is read and printed, and refused by the verifier.
    UNSUPPORTED = auto()
    # Stands in a module beside its functions.
    DECLARATION = auto()
    # May be started, and awaited by another operation.
    ASYNCHRONOUS = auto()
