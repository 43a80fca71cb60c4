"""Plans compiled by a runtime: parameters and feeds in, a run out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topos.engine import Numerics, Plan, Run
from topos.graph.network import Feeds
from topos.graph.parameters import Parameters
from topos.reading import Tensor
from topos.runtimes import load
from topos.runtimes._runtime import Executable

__all__ = ["CompiledPlan", "compile_plan"]


class CompiledPlan:
    """A plan whose emitted module a runtime executes; it is forward-only."""

    def __init__(self, plan: Plan, runtime: str, executable: Executable) -> None:
        self.plan, self.runtime, self.executable = plan, runtime, executable
        self._results = plan.signature().results

    def forward(self, parameters: Parameters | None = None, feeds: Feeds | None = None) -> Run:
        """Returns a run of the compiled module; `parameters` default to the initial state."""
        arrays = self.executable(*self.plan.arguments(parameters, feeds))
        values = {
            port.symbol.position: Tensor.wrap(array, port.type.element)
            for port, array in zip(self._results, arrays, strict=True)
        }
        return Run(self.plan.network, values, None)

    def __repr__(self) -> str:
        return f"CompiledPlan({self.runtime}, {self.plan.signature()})"


def compile_plan(
    plan: Plan, runtime: str, numerics: Numerics, options: Mapping[str, Any] | None
) -> CompiledPlan:
    """Returns `plan` emitted and compiled by the runtime called `runtime`."""
    adapter = load(runtime)
    executable = adapter.compile(plan.emit_stablehlo(), numerics=numerics, options=options)
    return CompiledPlan(plan, runtime, executable)
