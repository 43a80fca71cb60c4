"""Values that IREE would overwrite while they are still to be read, kept apart by copies."""

from __future__ import annotations

from typing import Final

from topos.runtimes._mlir import Binding, main_of
from topos.runtimes._origins import Origins
from topos.runtimes._rewriting import Writer, operations_of, shaped
from topos.runtimes.iree.reads import FRESH, Reads

# Operations whose results IREE shares, also where two sorts write to them.
KNOWN: Final = frozenset({"stablehlo.constant", "stablehlo.iota"})
UPDATE: Final = "stablehlo.dynamic_update_slice"
# Operations that IREE computes in the memory of as many first operands as they have results.
WRITERS: Final = frozenset({UPDATE, "stablehlo.scatter", "stablehlo.sort"})
BARRIER: Final = "stablehlo.optimization_barrier"


def keep_values(ir: Binding, module: Binding) -> None:
    """Keeps updates, scatters and sorts of `module` from writing over what is read after them.

    IREE takes the memory of an argument of `@main` for its own, also where a resident, another
    result or the caller's array lies there: an argument that such an operation may write to is
    copied first, and so is what passes a barrier on its way there, which hides from IREE that the
    value before it is still needed. What an update writes is computed before it, for IREE would
    compute it in place from what it has just overwritten. Places and constants that are written to
    become copies, for IREE shares equal ones.
    """
    operations = operations_of(ir, module)
    writers = [each for each in operations if each.name in WRITERS]
    if not writers:
        return
    # Those of the text, before there are others.
    barriers = [each for each in operations if each.name == BARRIER]
    copies = _Copies(ir)
    for each in writers:
        if each.name == UPDATE:
            each.operands[1] = Writer(ir, each)(BARRIER, each.operands[1])
        for place in range(len(each.results)):
            value = each.operands[place]
            if not isinstance(value.owner, ir.Block) and value.owner.name in KNOWN:
                each.operands[place] = Writer(ir, each)(BARRIER, copies.of(value, each))
    overwritten = [value for each in writers for value in [*each.operands][: len(each.results)]]
    main = main_of(ir, module)
    (block,) = main.regions[0].blocks
    origins = Origins(ir, operations).of(overwritten, lambda name: name not in FRESH)
    for argument in block.arguments:
        if argument in origins:
            copies.instead(argument, block.operations[0].operation)
    for each in barriers:
        for place, result in enumerate(each.results):
            if result in origins:
                each.operands[place] = copies.of(each.operands[place], each)
    for each in writers:
        _keep_read(Reads(ir, each, copies.made, block), each, copies)


def _keep_read(reads: Reads, writer: Binding, copies: _Copies) -> None:
    """Copies what a loop, a branch or a caller hands to `writer` and what is read after it again.

    A carried value that is read only before its update is not copied.
    """
    for place in range(len(writer.results)):
        sources = reads.sources(place)
        if sources is None:
            continue
        if any(reads.again(source, place) for source in sources):
            writer.operands[place] = copies.of(writer.operands[place], writer)
            continue
        for view in reads.views(sources, place):
            copies.instead(view, view.owner, after=True)


class _Copies:
    """Copies by selections that IREE cannot see through; `made` has them.

    Each has a number of its own, for IREE takes equal ones for one, and a copy of a copy by an
    equal selection for the copy.
    """

    def __init__(self, ir: Binding) -> None:
        self._ir = ir
        self.made: set[Binding] = set()

    def of(self, value: Binding, before: Binding) -> Binding:
        """Returns a copy that stands before an operation."""
        return self._copied(value, Writer(self._ir, before))

    def instead(self, value: Binding, at: Binding, *, after: bool = False) -> None:
        """Puts a copy before `at`, or after it, and in the place of every use of `value`."""
        copy = self._copied(value, Writer(self._ir, at, behind=after))
        value.replace_all_uses_except(copy, copy.owner.operation)

    def _copied(self, value: Binding, write: Writer) -> Binding:
        number = write.constant(len(self.made), write.type([], "i32"))
        hidden = write.compare(number, "EQ", write(BARRIER, number))
        copy = write.select(hidden, value, self._zero(value.type, write))
        self.made.add(copy)
        return copy

    def _zero(self, type: Binding, write: Writer) -> Binding:
        if not isinstance(type.element_type, self._ir.ComplexType):
            return write.zero(type)
        part = write.zero(shaped(self._ir, type, str(type.element_type.element_type)))
        apart = write(BARRIER, part)
        return write("complex", apart, apart, to=type)
