"""Programs that jax exports for the CPU, run here and by jax itself."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from topos.runtimes.interpreter import run_text

jax = pytest.importorskip("jax")
pytest.importorskip("jax.export")

Array = npt.NDArray[Any]

RNG = np.random.default_rng(3)
SQUARES: Final = RNG.standard_normal((2, 3, 3)).astype(np.float32)
TALL: Final = RNG.standard_normal((2, 4, 3)).astype(np.float32)
SYMMETRIC: Final = np.asarray(SQUARES + np.swapaxes(SQUARES, -1, -2))

KEY: Final = np.array([1, 2], np.uint32)


def everything(squares: Any, tall: Any, symmetric: Any, key: Any) -> Any:
    """Returns what each of jax's functions gives; one program, since each compilation is slow."""
    lax, numpy = jax.lax, jax.numpy
    return {
        "approx_max_k": lax.approx_max_k(tall, 2),
        "bits": jax.random.bits(key, (3, 5)),
        "cholesky": lax.linalg.cholesky(squares @ squares.mT + numpy.eye(3)),
        "fft": numpy.fft.rfft2(tall),
        "inverse": numpy.linalg.inv(squares),
        "lu": lax.linalg.lu(tall),
        "qr": lax.linalg.qr(tall, full_matrices=False),
        # Signs of vectors are those of scipy's LAPACK, which jax needs and calls.
        "eigh": lax.linalg.eigh(symmetric),
        "svd": lax.linalg.svd(tall, full_matrices=True),
    }


def test_the_interpreter_gives_what_jax_gives() -> None:
    arguments = [SQUARES, TALL, SYMMETRIC, KEY]
    compiled = jax.jit(everything)
    text = jax.export.export(compiled, platforms=["cpu"])(*arguments).mlir_module()
    got = run_text(text, arguments)
    wanted, _ = jax.tree_util.tree_flatten_with_path(compiled(*arguments))
    assert len(got) == len(wanted)
    for mine, (path, leaf) in zip(got, wanted, strict=True):
        theirs = np.asarray(leaf)
        assert mine.dtype == theirs.dtype, path
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=3e-5, err_msg=str(path))
