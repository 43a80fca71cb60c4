"""Every road to numbers refuses a thread that flushes subnormals."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable

import numpy as np
import pytest

from tests.payload.kernels.test_subnormals import FLUSH_OPERANDS, FLUSH_RESULTS, control_bits
from topos import Tape, Tensor
from topos.errors import FlushedSubnormalsError

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="sets the x86-64 control word"
)


def roads() -> dict[str, Callable[[], object]]:
    """Returns each way to compute a product of two tensors, made ready."""
    tape = Tape()
    x = tape.input(np.float32(1e-38))
    y = (x * 0.5).symbol
    network = tape.into_network()
    entry = network.entry([y])
    plan = entry.lower()
    compiled = plan.compile("interpreter")
    tensor = Tensor(1e-38)
    return {
        "forward": network.forward,
        "interpret": entry.interpret,
        "plan": plan.forward,
        "interpreter": compiled.forward,
        "tensor": lambda: tensor * tensor,
    }


@pytest.mark.parametrize("name", list(roads()))
def test_a_thread_that_flushes_computes_nothing(name: str) -> None:
    compute = roads()[name]
    compute()
    with control_bits(FLUSH_RESULTS | FLUSH_OPERANDS), pytest.raises(FlushedSubnormalsError):
        compute()
    compute()
