"""IREE without topos: a script that compiles and runs a StableHLO module by IREE's own packages.

usage: python SCRIPT [--IREE-FLAG=VALUE ...] MODULE ARGS.npz RESULTS.npz
"""

import sys
from collections.abc import Sequence
from typing import Any

FLAGS = ("--iree-input-demote-f64-to-f32=false", "--iree-llvmcpu-target-cpu=host")


def main() -> None:
    """Compiles the module as it is, runs it once, and writes its results."""
    import numpy as np

    *flags, module, given, written = sys.argv[1:]
    with open(module) as file:
        text = file.read()
    archive = np.load(given)
    arguments = [archive[f"arg{place}"] for place in range(len(archive.files))]
    results = run(text, arguments, flags)
    named: dict[str, Any] = {f"result{place}": each for place, each in enumerate(results)}
    np.savez(written, **named)


def run(text: str, arguments: Sequence[Any], flags: Sequence[str]) -> list[Any]:
    """Returns the results of a module's text, which IREE gets as it is, on local-sync."""
    from iree import compiler, runtime

    binary = compiler.compile_str(
        text,
        input_type="stablehlo",
        target_backends=["llvm-cpu"],
        extra_args=[*FLAGS, *flags],
    )
    config = runtime.Config("local-sync")
    context = runtime.SystemContext(config=config)
    loaded = runtime.VmModule.copy_buffer(config.vm_instance, binary)
    context.add_vm_module(loaded)
    results = context.modules[loaded.name].main(*arguments)
    every = results if isinstance(results, list | tuple) else [results]
    return [each.to_host() for each in every]


if __name__ == "__main__":
    main()
