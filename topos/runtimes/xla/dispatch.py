"""Calls of an executable of XLA at the speed of jax.jit.

jax dispatches a jitted function in C++, by parts that it does not publish. Given a loaded
executable and its types they serve it as well, which spares a call the tracing, and lets code from
a cache run without ever being lowered. Where a version of jax lacks one of the parts, calls go
through its public functions, which takes some ten microseconds more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from topos.errors import ExecutionError
from topos.runtimes._signature import ArrayType, ModuleSignature

Run = Callable[..., Any]
"""Takes device or numpy arrays; returns the only result, or a sequence of several.

jax's own functions do so too: a tuple around one result takes a microsecond to make and undo.
"""


class Unusual(Exception):
    """Arguments that are no arrays of the module's own count, shapes and elements."""


def plain(loaded: Any, signature: ModuleSignature, device: Any) -> Run:
    """Returns the call of `loaded` by public functions, which looks at all types.

    It raises `Unusual` for arguments of others than the signature's.
    """
    import jax

    def run(*arguments: Any) -> Any:
        if not all(map(_is_concrete, arguments)):
            raise Unusual
        if tuple((each.shape, each.dtype) for each in arguments) != signature.arguments:
            raise Unusual
        # Otherwise jax cuts 64-bit elements to 32 bits; the context is the thread's own.
        with jax.enable_x64(True):
            placed = [
                each if isinstance(each, jax.Array) else jax.device_put(each, device)
                for each in arguments
            ]
            results = tuple(loaded.execute(placed))
        got = tuple(ArrayType(each.shape, np.dtype(each.dtype)) for each in results)
        if got != signature.results:
            raise ExecutionError(f"the module has results {signature}, and others came: {got}")
        return results[0] if len(results) == 1 else results

    return run


def _is_concrete(argument: Any) -> bool:
    """Returns whether jax takes `argument` for the elements that it holds."""
    import jax

    # What stands for an array while jax traces a function counts as one of jax's arrays.
    is_traced = isinstance(argument, jax.core.Tracer)
    return type(argument) is np.ndarray or (isinstance(argument, jax.Array) and not is_traced)


def dispatched(loaded: Any, signature: ModuleSignature, device: Any) -> Run:
    """Returns the call of `loaded` by jax's dispatch in C++, or else the plain one."""
    run = plain(loaded, signature, device)
    try:
        return _in_cpp(run, loaded, signature, device)
    # These are jax's own, and any version may move or change them.
    except (ImportError, AttributeError, TypeError):
        return run


def _in_cpp(run: Run, loaded: Any, signature: ModuleSignature, device: Any) -> Run:
    import jax
    from jax._src.interpreters.pxla import (
        JitGlobalCppCacheKeys,
        MeshExecutableFastpathData,
        cc_shard_arg,
    )
    from jax._src.lib import _jax  # type: ignore[attr-defined]
    from jax._src.tree_util import dispatch_registry

    count = len(signature.arguments)
    sharding = jax.sharding.SingleDeviceSharding(device)
    results = tuple(jax.core.ShapedArray(*each) for each in signature.results)
    fast = MeshExecutableFastpathData(
        xla_executable=loaded,
        out_pytree_def=jax.tree_util.tree_structure(0 if len(results) == 1 else results),
        in_shardings=[sharding] * count,
        out_shardings=[sharding] * len(results),
        out_avals=[*results],
        out_committed=[True] * len(results),
        kept_var_bitvec=[True] * count,
        in_device_local_layouts=[None] * count,
        const_args=[],
    )

    def first(*arguments: Any) -> tuple[Any, Any, bool]:
        # Called where C++ meets types of arguments or settings of jax for the first time; where
        # this raises, it will be called for them again.
        return run(*arguments), fast, False

    # `run` is what is called while jax.disable_jit holds.
    call: Run = _jax.pjit(
        "topos_module", run, first, [], [], JitGlobalCppCacheKeys(), dispatch_registry, cc_shard_arg
    )
    return call
