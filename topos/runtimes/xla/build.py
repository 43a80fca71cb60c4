"""Executables of XLA made: compiled, or restored from what an earlier process kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from topos.errors import CompileError
from topos.runtimes import _packing
from topos.runtimes._compile_cache import CompileCache, entry_key, processor_digest
from topos.runtimes._packing import Packed, packed, unpacked
from topos.runtimes._signature import ModuleSignature
from topos.runtimes.xla.custom_calls import LAPACK, prepare_kernels
from topos.runtimes.xla.device import require_own
from topos.runtimes.xla.dispatch import Run, dispatched
from topos.runtimes.xla.module import brief, program, refusal
from topos.runtimes.xla.rewrites import REVISION

NAME: Final = "xla"


class Loaded(NamedTuple):
    """A module on a device: XLA's executable, and its call."""

    signature: ModuleSignature
    executable: Any
    device: Any
    run: Run


class Recipe(NamedTuple):
    """What a module is compiled from: kept, for a loop compiles it once more to share buffers."""

    text: str
    flags: Mapping[str, Any]
    device: Any
    cache: CompileCache | None


def built(recipe: Recipe, carried: Mapping[int, int]) -> Loaded:
    """Returns the module of `recipe` from its cache, or compiled and kept there.

    Each carried argument gives its buffer to the result that it maps to. Raises as `compile` does.
    """
    require_own()
    options = _options(recipe)
    if recipe.cache is None:
        return _compiled(recipe, carried, options)
    key = _key(recipe, carried, options)
    kept = unpacked(NAME, recipe.cache.get(key) or b"")
    # The key tells the versions and the machine apart; what XLA still cannot load is a miss.
    if kept is not None:
        with suppress(CompileError):
            return _loaded(kept, recipe.device)
    loaded = _compiled(recipe, carried, options)
    # Not every platform can serialize, and none has to.
    with suppress(Exception):
        recipe.cache.put(key, packed_form(loaded))
    return loaded


def packed_form(loaded: Loaded) -> bytes:
    """Returns `loaded` as bytes; raises as XLA does where the platform has no such form."""
    code = loaded.executable.serialize()
    return packed(NAME, loaded.signature, _origin(loaded.device), code)


def restored(data: bytes | bytearray | memoryview, device: Any) -> Loaded:
    """Returns what `packed_form` gave here; raises `CompileError` for anything else."""
    require_own()
    return _loaded(_packing.restored(NAME, data, _origin(device)), device)


def _loaded(kept: Packed, device: Any) -> Loaded:
    options = _compile_options(device, {})
    if LAPACK.encode() in kept.code:
        prepare_kernels({LAPACK})
    try:
        executable = device.client.deserialize_executable(kept.code, [device], options)
    except Exception as error:
        raise CompileError(f"xla cannot load the module: {brief(error)}") from error
    run = dispatched(executable, kept.signature, device)
    return Loaded(kept.signature, executable, device, run)


def _compiled(recipe: Recipe, carried: Mapping[int, int], options: Any) -> Loaded:
    device = recipe.device
    code, signature, flags = program(recipe.text, carried, recipe.flags, device.platform)
    # An option that XLA does not know is refused before the text is read.
    if flags != recipe.flags:
        options = _options(recipe._replace(flags=flags))
    try:
        executable = device.client.compile_and_load(code, [device], options)
    except Exception as error:
        raise refusal(error) from error
    return Loaded(signature, executable, device, dispatched(executable, signature, device))


def _options(recipe: Recipe) -> Any:
    try:
        return _compile_options(recipe.device, recipe.flags)
    except Exception as error:
        raise refusal(error) from error


def _compile_options(device: Any, flags: Mapping[str, Any]) -> Any:
    from jax.extend.backend import get_compile_options

    return get_compile_options(1, 1, [[device.id]], env_options_overrides=dict(flags))


def _key(recipe: Recipe, carried: Mapping[int, int], options: Any) -> str:
    settings = {
        **_origin(recipe.device),
        "carried": sorted(carried.items()),
        "device": recipe.device.id,
        # They hold XLA_FLAGS and jax's own settings too.
        "options": options.SerializeAsString(),
        "revision": REVISION,
        # The compiler splits sums by the threads that it counts.
        "threads": (os.environ.get("NPROC"), _processors()),
    }
    text = recipe.text.encode(errors="surrogatepass")
    return entry_key(NAME, text, settings, _versions())


def _origin(device: Any) -> dict[str, str]:
    return {
        "versions": _versions(),
        "platform": f"{device.client.platform} {device.client.platform_version}",
        "kind": device.device_kind,
        "processor": processor_digest(),
    }


def _versions() -> str:
    import jax
    from jaxlib.version import __version__

    return f"jax {jax.__version__}, jaxlib {__version__}"


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
