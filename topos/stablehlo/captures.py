"""The values that regions use from outside themselves."""

from __future__ import annotations

from collections.abc import Iterable

from topos.stablehlo.ir import Region, result_names

__all__ = ["captured"]


def captured(regions: Iterable[Region]) -> tuple[str, ...]:
    """Returns the names that `regions` use and do not define, each once, in order of use."""
    names: dict[str, None] = {}
    for region in regions:
        names.update(dict.fromkeys(_free(region)))
    return tuple(names)


def _free(region: Region) -> list[str]:
    free: list[str] = []
    for block in region.blocks:
        defined = {argument.name for argument in block.arguments}
        for operation in block.operations:
            used = (*operation.operands, *captured(operation.regions))
            free += [name for name in used if name not in defined]
            for name in operation.results:
                defined.update(result_names(name))
    return free
