"""How near the results of a runtime are to the oracle's."""

from __future__ import annotations

import numpy as np

from topos import Plan, Run


def demand_near(plan: Plan, run: Run) -> None:
    """Asserts that each result is near the oracle's, beside the largest number of it.

    Errors of a whole program have no table.
    """
    oracle = plan.network.entry(plan.results).interpret()
    for port in plan.signature().results:
        ours = oracle.of(port.symbol).numpy().astype(np.float64)
        theirs = run.of(port.symbol).numpy().astype(np.float64)
        tolerance = {"f64": 1e-13, "f32": 1e-5, "bf16": 2e-2}[port.type.element.name]
        np.testing.assert_allclose(theirs, ours, atol=tolerance * np.abs(ours).max(), rtol=0)
