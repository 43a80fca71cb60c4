"""Custom calls on their way into XLA: the targets that jax ships made ready, any other refused.

jax registers its kernels of LAPACK as it is imported, but looks up the routines behind them only
while it lowers a call of its own: a module that comes as text would jump to nowhere.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import operations_of

CUSTOM_CALL: Final = "stablehlo.custom_call"
FOURIER: Final = "stablehlo.fft"
LAPACK: Final = "lapack_"
SPARSE: Final = "cpu_csr_sparse_dense_ffi"
# A call back into the Python that made the module, which is not this process's.
CALLBACK: Final = "python_cpu_callback"
# Targets that XLA itself takes on a CPU.
BUILT_IN: Final = frozenset(
    {
        *("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint"),
        *("annotate_device_placement", "MoveToDevice", "MoveToHost"),
        *("ApproxTopK", "Eigh", "ProductOfElementaryHouseholderReflectors", "Qr", "TopK"),
    }
)
# XLA reads two results of the one, and these attributes of the others, without looking whether they
# are there.
TOP_K: Final = "TopK"
NEEDED: Final = {"xla.sdy.": "mhlo.frontend_attributes", "mhlo.": "mhlo.attributes"}


def admit_custom_calls(ir: Binding, module: Binding) -> None:
    """Makes the kernels ready that `module` calls on a CPU.

    Raises `UnsupportedError` with the first target that nobody registered in this process, that
    calls back into Python, or that has not the form in which XLA takes it; so for a Fourier
    transform of other lengths than its operand has, at which XLA's library ends the process.
    """
    for transform in _found(ir, module, FOURIER):
        _demand_whole(ir, transform)
    calls = [
        (ir.StringAttr(call.attributes["call_target_name"]).value, call)
        for call in _found(ir, module, CUSTOM_CALL)
    ]
    targets = {target for target, _ in calls}
    if not targets:
        return
    prepare_kernels(targets)
    registered = _registered()
    for target, call in calls:
        _demand_form(target, call)
        is_known = target in BUILT_IN or any(map(target.startswith, NEEDED))
        if not is_known and registered is not None and target not in registered:
            raise UnsupportedError(
                f"xla has no custom call @{target}: nobody registered it in this process by "
                "jax.ffi.register_ffi_target"
            )


def _demand_form(target: str, call: Binding) -> None:
    if target.endswith(CALLBACK):
        raise UnsupportedError(
            f"xla cannot run the custom call @{target}: it calls back into the process that made "
            "the module"
        )
    if target == TOP_K and len(call.results) != 2:
        raise UnsupportedError(
            f"xla takes the custom call @{TOP_K} with results of values and of indices, got "
            f"{len(call.results)}"
        )
    for prefix, attribute in NEEDED.items():
        if target.startswith(prefix) and attribute not in call.attributes:
            raise UnsupportedError(f"xla takes the custom call @{target} with {attribute} alone")


def prepare_kernels(targets: set[str]) -> None:
    """Makes those of `targets` ready that jax ships and leaves unfinished until it lowers them."""
    if any(target.startswith(LAPACK) for target in targets):
        _initialize_lapack()
    if SPARSE in targets:
        # jax registers this one with the module that uses it.
        import jax.experimental.sparse  # noqa: F401


def _demand_whole(ir: Binding, transform: Binding) -> None:
    # The verifier holds the lengths of a transform to or from real numbers to these.
    if "RFFT" in str(transform.attributes["fft_type"]):
        return
    lengths = [*ir.DenseI64ArrayAttr(transform.attributes["fft_length"])]
    shape = [*ir.RankedTensorType(transform.operands[0].type).shape]
    if lengths != shape[len(shape) - len(lengths) :]:
        raise UnsupportedError(
            f"xla takes an fft as long as the last dimensions of its operand, got {lengths} "
            f"for {shape}"
        )


def _found(ir: Binding, module: Binding, name: str) -> list[Binding]:
    return [each for each in operations_of(ir, module) if each.name == name]


def _initialize_lapack() -> None:
    try:
        from jaxlib.lapack import prepare_lapack_call

        prepare: Any = prepare_lapack_call
        prepare("potrf_ffi", np.dtype(np.float32))
    # jaxlib's own, and any version may move or change it: then jax has to lower a call.
    except (ImportError, AttributeError, TypeError):
        import jax

        matrix: Any = np.ones((1, 1), np.float32)
        jax.jit(jax.numpy.linalg.cholesky).lower(matrix)


def _registered() -> set[str] | None:
    """Returns the targets registered for CPUs, or None where this version does not tell them.

    XLA refuses the others itself then, with a text of its own.
    """
    try:
        from jaxlib.xla_client import custom_call_targets

        return set(custom_call_targets("Host"))
    except (ImportError, AttributeError, TypeError):
        return None
