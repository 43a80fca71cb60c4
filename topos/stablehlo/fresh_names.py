"""Fresh names: names for what is new in a module, which nothing in it has yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from topos.stablehlo.ir import Region, result_names


class FreshNames:
    """Names that are not taken; one that was returned is taken from then on.

    `fresh("%half")` returns `%half` where that is free, then `%half_1`, `%half_2` and so on.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken}
        self._counts: dict[str, int] = {}

    def __call__(self, wanted: str) -> str:
        """Returns `wanted` where it is free, or the first name with a number behind that is.

        One of several results, such as `%r#1`, becomes the name of a single value, `%r_1`.
        """
        name = base = wanted.replace("#", "_") if wanted.startswith("%") else wanted
        # In MLIR a name that begins with a digit is a number.
        if base[1:2].isdigit() and (base in self._taken or not base[1:].isdigit()):
            name = base = f"{base[0]}v{base[1:]}"
        count = self._counts.get(base, 0)
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._counts[base] = count
        self._taken.add(name)
        return name

    def results(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """Returns names for the results of one operation, which several share: `%r#0`, `%r#1`."""
        if not any(wanted):
            return wanted
        if len(wanted) == 1:
            return (self(wanted[0]),)
        base = self(wanted[0].partition("#")[0])
        return tuple([f"{base}#{index}" for index in range(len(wanted))])


def names_in(region: Region) -> Iterator[str]:
    """Yields the names that a region and those inside it define, and what several results share."""
    waiting = [region]
    while waiting:
        for block in waiting.pop().blocks:
            yield from (argument.name for argument in block.arguments)
            for operation in block.operations:
                for name in operation.results:
                    yield from result_names(name)
                waiting += operation.regions
