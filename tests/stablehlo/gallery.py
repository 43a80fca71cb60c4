"""The gallery: its modules, and the operations that occur in each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from topos.stablehlo.ir import Operation, Region
from topos.stablehlo.parser.parse import parse

__all__ = ["GALLERY", "operations", "text_of"]

FOLDER = Path(__file__).parents[1] / "gallery"
GALLERY = sorted(FOLDER.glob("*.mlir"))
RETURNS = {"func.return", "sdy.return", "stablehlo.return"}


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.mlir").read_text()


def within(region: Region) -> Iterator[str]:
    for block in region.blocks:
        for operation in block.operations:
            yield from of(operation)


def of(operation: Operation) -> Iterator[str]:
    yield operation.name
    for region in operation.regions:
        yield from within(region)


def operations(path: Path) -> set[str]:
    bodies = [function.body for function in parse(path.read_text()).functions]
    return {name for body in bodies if body is not None for name in within(body)} - RETURNS
