"""Programs whose loops, branches and calls are built like @main, and all other bodies as usual."""

from __future__ import annotations

from typing import Any, Final

from topos.runtimes.interpreter.build import ProgramBuilder
from topos.runtimes.interpreter.program import Program
from topos.stablehlo import Module
from topos.stablehlo.dialect import calling, control, custom

# The operations whose regions and callees a run of @main goes through.
CONTROL: Final = frozenset(
    {control.Case, control.If, control.While, calling.Call, custom.Composite}
)


class FollowingBuilder(ProgramBuilder):
    """Makes kernels of its own, in a subclass, but in the bodies that an operation applies."""

    def __init__(self, module: Module, *, exact: bool) -> None:
        functions = {function.name: function for function in module.functions}
        super().__init__(functions, exact)
        self._plain = ProgramBuilder(functions, exact)

    def main(self) -> Program:
        """Returns the program of `@main`."""
        self._plain.build_all()
        self.build_all()
        return self.program("main", 0)

    def _regions(self, frame: Any, operation: Any, definition: Any, names: Any) -> list[Program]:
        if definition in CONTROL:
            return super()._regions(frame, operation, definition, names)
        return self._plain._regions(frame, operation, definition, names)
