"""Reading the tables that examples print."""

from __future__ import annotations

__all__ = ["row"]


def row(output: str, runtime: str) -> list[str]:
    """Returns the cells of a runtime's row after its name, their wrapped lines joined."""
    lines = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in output.splitlines()
        if line.startswith("│")
    ]
    start = next(place for place, cells in enumerate(lines) if cells[0] == runtime)
    cells = lines[start][1:]
    for more in lines[start + 1 :]:
        if more[0]:
            break
        cells = [f"{left} {right}".strip() for left, right in zip(cells, more[1:], strict=True)]
    return cells
