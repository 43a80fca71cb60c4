"""Writing a plan as a StableHLO module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from topos.emit import lowering as _lowering
from topos.emit.donation import Donations, donated
from topos.emit.header import function_head, module_text
from topos.emit.patterns import raised, raising, results_of
from topos.emit.text import quoted, tensor_type
from topos.emit.writer import stamp
from topos.engine import Numerics, Plan
from topos.engine.catalog import Match, demanded
from topos.errors import EmitError
from topos.graph import Form, Location
from topos.op import Input, Parameter

assert _lowering.__all__  # Importing the rules fills the table they are registered in.

ARGUMENTS: Final = (Parameter, Input)
"""The operations that become arguments of `@main` and have no lowering rule."""


def write(plan: Plan, donate: Donations | None = None) -> str:
    """Returns the module text of `plan`: one `func.func public @main`.

    Parameters, then inputs, are its arguments and the declared results its results. A value is
    called `%vN` after its node. Where nodes amount to an operation of the target, that is written
    in their place, under the name of the last of them, in every memory posture. `donate` maps
    arguments to the results that may take their buffers, by symbol or name.
    `topos.emit.header` says what names, version and digest are. Raises `EmitError` where an
    element has no MLIR spelling or a donation cannot be.
    """
    signature = plan.signature()
    head = function_head(signature, donated(signature, donate))
    types = ", ".join(tensor_type(port.type) for port in signature.results)
    body = _Body(plan)
    results = ", ".join(body.names[port.symbol.position] for port in signature.results)
    return module_text(signature, [head, *body.lines, f"    return {results} : {types}", "  }"])


class _Body:
    """The lines of the function, and the name of each node's value, as they are written."""

    def __init__(self, plan: Plan) -> None:
        self.columns = columns = plan.network.columns
        self.exact = plan.numerics is Numerics.EXACT
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self._forms, self._operands = columns.forms, columns.operands
        self._locations = columns.locations
        self._stamps: dict[Form, Callable[..., str] | int] = {}
        results = [symbol.position for symbol in plan.results]
        matches = {match.place: match for match in raised(columns, plan.order, results)}
        if not matches:
            for index in plan.order:
                self._lower(index)
            return
        lowered = demanded(columns, results, matches.values())
        lowered.difference_update(*(match.results for match in matches.values()))
        for index in plan.order:
            if index in matches:
                self._raise(matches[index])
            elif index in lowered:
                self._lower(index)

    def _raise(self, match: Match) -> None:
        """Writes the one operation that stands for `match`."""
        text = raising(self.columns, match, self.exact)
        self._write(text, match.root, f"%v{match.root}", match.operands)
        self.names.update(results_of(match))

    def _lower(self, index: int) -> None:
        """Writes the node at `index` by its lowering rule."""
        form, operands = self._forms[index], self._operands[index]
        name = self.names[index] = f"%v{index}"
        text = self._stamps.get(form)
        if text is None:
            if isinstance(form.operation, ARGUMENTS):
                return
            text = self._stamps[form] = self._stamp(form, index)
        if isinstance(text, int):
            self.names[index] = self.names[operands[text]]
        elif self._locations is None:
            self.lines.append(text(name, *map(self.names.__getitem__, operands)))
        else:
            self._write(text, index, name, operands)

    def _write(
        self, text: Callable[..., str], index: int, name: str, operands: tuple[int, ...]
    ) -> None:
        inputs = map(self.names.__getitem__, operands)
        if self._locations is None:
            self.lines.append(text(name, *inputs))
        else:
            self.lines.append(text(name, *inputs, _located(self._locations[index])))

    def _stamp(self, form: Form, index: int) -> Callable[..., str] | int:
        try:
            return stamp(form, self.exact, self._locations is not None)
        except EmitError as error:
            title = self.columns.title(index)
            raise EmitError(f"{title} cannot be written: {error}") from None


def _located(location: Location) -> str:
    return f"loc({quoted(location.file)}:{location.line}:{location.column})"
