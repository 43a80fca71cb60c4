"""Histograms of distances: how many elements of a result are how many spreads off, as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from topos.judge.verdicts import BAD, Judgement
from topos.runtimes.interpreter.program import Array

# The edges are even on a logarithmic scale; 5 and 10 are where verdicts change.
EDGES: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 190, 16, 24, 44
# Okabe and Ito (2008): told apart with any colour vision.
SOUND, WRONG, LINE = "#0072b2", "#d55e00", "#999"


def histogram(judgement: Judgement) -> str:
    """Returns a picture of the distances of a result's elements.

    The axis of distances is logarithmic, with bars at its ends for what is equal or within the 2
    units that are always allowed, and for what no number of spreads explains. Heights grow with the
    logarithm of the count. Elements that are suspect or wrong have a colour of their own.
    """
    bad = np.isin(judgement.verdicts, [*BAD])
    every, wrong = _counted(judgement.distances), _counted(judgement.distances[bad])
    parts = [*_bars(every, wrong), *_axis(len(every))]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
        f' height="{HEIGHT}" role="img" font-family="sans-serif" font-size="11">\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def _counted(distances: Array) -> list[int]:
    """Returns counts: of 0, between each two edges, below and beyond them, and of infinity."""
    finite = distances[np.isfinite(distances) & (distances > 0)]
    # A distance at an edge belongs to the bar before it, as 5 spreads are rounding.
    places = np.searchsorted(EDGES, finite, side="left")
    between = np.bincount(places, minlength=len(EDGES) + 1).tolist()
    unbounded = int(distances.size - finite.size - (distances == 0).sum())
    return [int((distances == 0).sum()), *between, unbounded]


def _step(count: int) -> float:
    return (WIDTH - 2 * LEFT) / count


def _bars(every: list[int], wrong: list[int]) -> Iterator[str]:
    step, floor = _step(len(every)), HEIGHT - BOTTOM
    tallest = np.log10(1 + max([1, *every]))
    for counts, colour in ((every, SOUND), (wrong, WRONG)):
        for place, count in enumerate(counts):
            if count:
                height = (floor - TOP) * np.log10(1 + count) / tallest
                yield (
                    f'<rect x="{LEFT + place * step + 2:.1f}" y="{floor - height:.1f}"'
                    f' width="{step - 4:.1f}" height="{height:.1f}" fill="{colour}"/>'
                )
    for place, count in enumerate(every):
        if count:
            height = (floor - TOP) * np.log10(1 + count) / tallest
            told = f"{wrong[place]:,} of {count:,}" if 0 < wrong[place] < count else f"{count:,}"
            yield _text(LEFT + (place + 0.5) * step, floor - height - 4, told)


def _axis(count: int) -> Iterator[str]:
    step, floor = _step(count), HEIGHT - BOTTOM
    yield f'<path d="M{LEFT} {floor}H{WIDTH - LEFT}" stroke="{LINE}"/>'
    yield _text(LEFT + 0.5 * step, floor + 14, "0")
    yield _text(LEFT + (count - 0.5) * step, floor + 14, "∞")
    for place, edge in enumerate(EDGES, start=2):
        across = LEFT + place * step
        yield f'<path d="M{across:.1f} {floor}v4" stroke="{LINE}"/>'
        yield _text(across, floor + 14, f"{edge:g}")
        if edge in (5.0, 10.0):
            yield (
                f'<path d="M{across:.1f} {TOP - 10}V{floor}" stroke="{LINE}"'
                ' stroke-dasharray="3 3"/>'
            )
    legend = "elements by their distance in spreads; "
    yield _text(WIDTH / 2, HEIGHT - 10, f"{legend}up to 5 is rounding, beyond 10 is wrong")


def _text(across: float, down: float, text: str) -> str:
    return f'<text x="{across:.1f}" y="{down:.1f}" text-anchor="middle" fill="#222">{text}</text>'
