"""What every runtime keeps of the contract, whatever executes the text."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtimes.test_samples import require
from topos import runtimes
from topos.errors import CompileError, PostureError, UnavailableError

TEXT = "func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }"


def test_names_are_the_files() -> None:
    assert runtimes.names() == ("interpreter", "iree", "reference", "xla")
    assert tuple(runtimes.status()) == runtimes.names()


def test_an_unknown_runtime_is_told_with_the_known_ones() -> None:
    message = "^no runtime is called 'nope'; there are interpreter, iree, reference, xla$"
    with pytest.raises(UnavailableError, match=message):
        runtimes.load("nope")


@pytest.mark.parametrize("name", runtimes.names())
def test_numerics_are_two_words(name: str) -> None:
    require(name)
    for posture in ("exact", "fast"):
        assert runtimes.load(name).compile(TEXT, numerics=posture)(np.float32(1.5))[0] == 1.5
    with pytest.raises(PostureError, match=r"^numerics are 'exact' or 'fast', got 'precise'$"):
        runtimes.load(name).compile(TEXT, numerics="precise")


@pytest.mark.parametrize("name", runtimes.names())
def test_an_unknown_option_is_refused(name: str) -> None:
    require(name)
    with pytest.raises(CompileError, match="nope"):
        runtimes.load(name).compile(TEXT, options={"nope": 1})
