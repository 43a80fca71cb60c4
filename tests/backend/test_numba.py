"""The compiled kernels: the oracle's bits, or none at all."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos import Numerics, Tape
from topos.backend import Backend, Formula, numba, twins
from topos.backend.twins import TWINS
from topos.payload import kernels

pytest.importorskip("numba")

Array = npt.NDArray[Any]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
SHAPES = [(1, 1, 1), (3, 0, 2), (5, 7, 9), (8, 8, 8), (300, 5, 3), (4, 130, 260), (2, 300, 513)]


def drawn(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> Array:
    """Returns numbers of very different magnitudes, with a few specials among them."""
    random = np.random.default_rng(seed)
    array = np.ldexp(random.standard_normal(shape), random.integers(-20, 20, shape))
    flat = array.reshape(-1)
    for place, special in enumerate([np.nan, np.inf, -np.inf, -0.0, 1e-310]):
        if flat.size > 40:
            flat[place * 7] = special
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def same(ours: Array, theirs: Array) -> bool:
    """Returns whether two arrays agree in dtype, shape and bytes."""
    return (ours.dtype, ours.shape, ours.tobytes()) == (
        theirs.dtype,
        theirs.shape,
        theirs.tobytes(),
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_compiled_product_has_the_oracle_bits(shape: tuple[int, int, int], dtype: Any) -> None:
    rows, depth, columns = shape
    left, right = drawn((rows, depth), dtype, 0), drawn((depth, columns), dtype, 1)
    assert same(twins.matmul(left, right), kernels.product.matmul(left, right))
    turned = twins.matmul(right.T, left.T)
    assert same(turned, kernels.product.matmul(right.T, left.T))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_compiled_product_takes_batches(dtype: Any) -> None:
    left, right = drawn((3, 2, 5, 4), dtype, 2), drawn((3, 2, 4, 6), dtype, 3)
    assert same(twins.matmul(left, right), kernels.product.matmul(left, right))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("terms", [1, 2, 3, 31, 32, 33, 1000, 1023])
def test_compiled_sum_has_the_oracle_bits(terms: int, dtype: Any) -> None:
    array = drawn((5, terms), dtype, terms)
    for operand, axes in [(array, (1,)), (array, (0,)), (array, (0, 1)), (array.T, (1,))]:
        assert same(twins.sum_(operand, axes), kernels.reduction.sum(operand, axes))
    deep = drawn((3, 4, terms), dtype, terms)
    assert same(twins.sum_(deep, (1, 2)), kernels.reduction.sum(deep, (1, 2)))
    negative = np.full((2, terms), -0.0, dtype)
    assert same(twins.sum_(negative, (1,)), kernels.reduction.sum(negative, (1,)))


@pytest.mark.parametrize("name", ["exp", "ln", "tanh"])
def test_compiled_maps_have_the_oracle_bits(name: str) -> None:
    random = np.random.default_rng(4)
    patterns = random.integers(0, 1 << 63, 20_000, dtype=np.int64).view(np.float64)
    moderate = random.uniform(-40.0, 40.0, 20_000)
    tiny = np.ldexp(random.standard_normal(5_000), random.integers(-60, 0, 5_000))
    specials = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 709.7827, -745.13, 1.0])
    values = np.concatenate([patterns, -patterns, moderate, np.abs(moderate), tiny, specials])
    compiled, reference = getattr(twins, name), getattr(kernels.maps, name)
    assert same(compiled(values), reference(values))
    assert same(compiled(values[::-2]), reference(values[::-2]))
    assert same(compiled(values[:3].reshape(1, 3)), reference(values[:3].reshape(1, 3)))


def test_every_twin_serves() -> None:
    assert Backend.NUMBA.status().ready
    assert [numba.refusal(twin, dtype) for twin in TWINS.values() for dtype in twin.dtypes] == (
        [None] * 7
    )


def test_a_twin_with_other_bits_is_refused_with_a_reason() -> None:
    def doubled(array: Array) -> Array:
        return kernels.maps.exp(array) * 2.0

    exp = TWINS[Formula.EXP]
    refused = numba.refusal(exp._replace(kernel=doubled), np.dtype(np.float64))
    assert refused == "topos.payload.kernels.maps.exp of float64 differs from the oracle's bits"


def test_a_twin_that_does_not_compile_is_refused_with_a_reason() -> None:
    def broken(array: Array) -> Array:
        raise RuntimeError("no code for this machine")

    exp = TWINS[Formula.EXP]
    refused = numba.refusal(exp._replace(kernel=broken), np.dtype(np.float64))
    assert refused is not None
    assert refused.endswith("does not compile: RuntimeError: no code for this machine")


def program(tape: Tape) -> Any:
    """Records a product, a map, and sums along rows and of everything."""
    left = tape.input(drawn((40, 30), np.dtype(np.float64), 5), name="left")
    right = tape.input(drawn((30, 50), np.dtype(np.float64), 6), name="right")
    return {"sum": (left @ right).tanh().exp().sum(1).sum()}


def test_plans_keep_the_oracle_bits_with_compiled_kernels() -> None:
    from topos import f64

    network, names = Tape.record(program, element=f64)
    finite = {
        name: np.nan_to_num(drawn(shape, np.dtype(np.float64), 7), posinf=1.0, neginf=1.0)
        for name, shape in [("left", (40, 30)), ("right", (30, 50))]
    }
    entry = network.entry([names["sum"]], numerics=Numerics.EXACT)
    for feeds in ({}, finite):
        ours = entry.lower().forward(feeds=feeds).of(names["sum"]).numpy()
        assert same(ours, entry.interpret(feeds=feeds).of(names["sum"]).numpy())


def test_without_numba_the_oracle_serves_and_the_status_says_why() -> None:
    code = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] == 'numba':
            raise ImportError('numba needs another numpy')
sys.meta_path.insert(0, Blocked())
import numpy as np
from topos import Backend, Tape
tape = Tape()
x = tape.input(np.ones((2, 2), np.float32))
y = (x @ x).symbol
print(tape.into_network().entry([y]).lower().forward().of(y).numpy().tolist())
print(Backend.NUMBA.status())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "[[2.0, 2.0], [2.0, 2.0]]\n"
        "Status(ready=False, detail='numba cannot be imported: numba needs another numpy')\n"
    )


def test_an_absent_numba_is_told_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba, "_installed", lambda: None)
    status = numba.status()
    assert status == (False, "it needs numba: pip install 'topos-compiler[numba]'")


@pytest.mark.parametrize("path", ["accumulate", "accumulate_tall"])
def test_every_path_of_the_product_is_checked(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from topos.backend.compiled import product

    monkeypatch.setattr(product, path, lambda a, b, out: out.fill(7))
    matmul = TWINS[Formula.GEMM]
    # A twin of another name is another question to the cache of answers.
    asked = matmul._replace(dtypes=(*matmul.dtypes, np.dtype(np.float16)))
    for dtype in FLOATS:
        refused = numba.refusal.__wrapped__(asked, dtype)
        assert refused == f"{matmul.name} of {dtype} differs from the oracle's bits"


def test_compiled_code_runs_on_one_thread_and_is_not_reassociated() -> None:
    from topos.backend.compiled import OPTIONS

    assert "parallel" not in OPTIONS
    assert OPTIONS["fastmath"] is False
