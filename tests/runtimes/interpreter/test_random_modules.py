"""Random valid modules give what XLA gives, where nothing is rounded in more than one way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.runtimes.interpreter.module_steps import STEPS
from tests.runtimes.interpreter.modules import Sample, samples
from topos.runtimes import xla
from topos.runtimes.interpreter import RUNTIME

pytest.importorskip("jax")


@settings(
    max_examples=18,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(sample=samples(STEPS))
def test_a_random_module_agrees_with_xla(sample: Sample) -> None:
    expected = xla.RUNTIME.compile(sample.text, numerics="exact")(*sample.arguments)
    for numerics in ("exact", "fast"):
        results = RUNTIME.compile(sample.text, numerics=numerics)(*sample.arguments)
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, wanted, err_msg=f"{numerics}: {sample.text}")
