"""Executables of XLA made: compiled, or restored from what an earlier process kept."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from topos.errors import CompileError
from topos.runtimes import _packing
from topos.runtimes._compile_cache import CompileCache, entry_key, processor_label
from topos.runtimes._packing import Packed, packed, unpacked
from topos.runtimes._signature import ModuleSignature
from topos.runtimes.xla.custom_calls import LAPACK, prepare_kernels
from topos.runtimes.xla.device import require_own
from topos.runtimes.xla.dispatch import Run, dispatched
from topos.runtimes.xla.module import brief, program, refusal
from topos.runtimes.xla.rewrites import REVISION

NAME: Final = "xla"


class Loaded(NamedTuple):
    """A module on a device: XLA's executable, its call, and what it was made from and for.

    `code` is what it was loaded from: XLA serializes an executable that it loaded without its
    functions.
    """

    signature: ModuleSignature
    executable: Any
    device: Any
    run: Run
    origin: Mapping[str, str]
    code: bytes | None = None


class Recipe(NamedTuple):
    """What a module is compiled from: kept, for a loop compiles it once more to share buffers."""

    text: str
    numerics: str
    flags: Mapping[str, Any]
    device: Any
    cache: CompileCache | None


def built(recipe: Recipe, carried: Mapping[int, int]) -> Loaded:
    """Returns the module of `recipe` from its cache, or compiled and kept there.

    Each carried argument gives its buffer to the result that it maps to. Raises as `compile` does.
    """
    require_own()
    options = _options(recipe)
    origin = _origin(recipe, carried, options)
    if recipe.cache is None:
        return _compiled(recipe, carried, options, origin)
    text = recipe.text.encode(errors="surrogatepass")
    key = entry_key(NAME, text, origin, _versions())
    kept = unpacked(NAME, recipe.cache.get(key) or b"")
    # The key tells the versions and the machine apart; what XLA still cannot load is a miss.
    if kept is not None:
        with suppress(CompileError):
            return _loaded(kept, recipe.device)
    loaded = _compiled(recipe, carried, options, origin)
    # Not every platform can serialize, and none has to.
    with suppress(Exception):
        recipe.cache.put(key, packed_form(loaded))
    return loaded


def packed_form(loaded: Loaded) -> bytes:
    """Returns `loaded` as bytes; raises as XLA does where the platform has no such form."""
    code = loaded.executable.serialize() if loaded.code is None else loaded.code
    return packed(NAME, loaded.signature, loaded.origin, code)


def restored(data: bytes | bytearray | memoryview, device: Any) -> Loaded:
    """Returns what `packed_form` gave here; raises `CompileError` for anything else."""
    require_own()
    return _loaded(_packing.restored(NAME, data, _machine(device)), device)


def rebuilt(recipe: Recipe, data: bytes | bytearray | memoryview) -> Loaded:
    """Returns what `packed_form` gave for `recipe`; raises `CompileError` for anything else."""
    require_own()
    origin = _origin(recipe, {}, _options(recipe))
    return _loaded(_packing.restored(NAME, data, origin), recipe.device)


def _loaded(kept: Packed, device: Any) -> Loaded:
    options = _compile_options(device, {})
    if LAPACK.encode() in kept.code:
        prepare_kernels({LAPACK})
    try:
        executable = device.client.deserialize_executable(kept.code, [device], options)
    except Exception as error:
        raise CompileError(f"xla cannot load the module: {brief(error)}") from error
    run = dispatched(executable, kept.signature, device)
    return Loaded(kept.signature, executable, device, run, kept.origin, kept.code)


def _compiled(
    recipe: Recipe, carried: Mapping[int, int], options: Any, origin: Mapping[str, str]
) -> Loaded:
    device = recipe.device
    code, signature, flags = program(recipe.text, carried, recipe.flags, device.platform)
    # An option that XLA does not know is refused before the text is read.
    if flags != recipe.flags:
        options = _options(recipe._replace(flags=flags))
    try:
        executable = device.client.compile_and_load(code, [device], options)
    except Exception as error:
        raise refusal(error) from error
    return Loaded(signature, executable, device, dispatched(executable, signature, device), origin)


def _options(recipe: Recipe) -> Any:
    try:
        return _compile_options(recipe.device, recipe.flags)
    except Exception as error:
        raise refusal(error) from error


def _compile_options(device: Any, flags: Mapping[str, Any]) -> Any:
    from jax.extend.backend import get_compile_options

    return get_compile_options(1, 1, [[device.id]], env_options_overrides=dict(flags))


def _origin(recipe: Recipe, carried: Mapping[int, int], options: Any) -> dict[str, str]:
    """Returns all that decides what compiling gives, as texts by name."""
    # They hold XLA_FLAGS and jax's own settings too.
    settings = hashlib.sha256(options.SerializeAsString())
    return {
        **_machine(recipe.device),
        # The compiler splits sums by the threads that it counts.
        "threads": os.environ.get("NPROC") or str(_processors()),
        "numerics": recipe.numerics,
        "options": json.dumps(recipe.flags, sort_keys=True, default=repr),
        "settings": settings.hexdigest()[:16],
        "device": str(recipe.device.id),
        "carried": json.dumps(sorted(carried.items())),
        "revision": str(REVISION),
        "module": hashlib.sha256(recipe.text.encode(errors="surrogatepass")).hexdigest(),
    }


def _machine(device: Any) -> dict[str, str]:
    return {
        "versions": _versions(),
        "platform": f"{device.client.platform} {device.client.platform_version}",
        "kind": device.device_kind,
        "processor": processor_label(),
    }


def _versions() -> str:
    import jax
    from jaxlib.version import __version__

    return f"jax {jax.__version__}, jaxlib {__version__}"


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
