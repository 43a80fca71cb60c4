"""The picture of `topos bench`: the spread of latencies beside the throughput, a line a case."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle, pairwise
from pathlib import Path
from statistics import median_high
from typing import Any, Final

import numpy as np

from topos.bundle.measurement import Measurement
from topos.cli._figures import digits, unit_of
from topos.cli._shared import naming
from topos.errors import ArgumentError, UnavailableError

# Okabe and Ito (2008): told apart with any colour vision.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
LINES: Final = {"color": "#d9d9d9", "linewidth": 0.6}


def require(path: str) -> None:
    """Raises `ArgumentError` where the file is no PNG by its name.

    Raises `UnavailableError` where matplotlib is missing, or the picture cannot be written there.
    """
    if Path(path).suffix.lower() != ".png":
        raise ArgumentError(f"--png needs a file whose name ends with .png, got {path!r}")
    folder = Path(path).absolute().parent
    if not os.path.isdir(folder):
        raise UnavailableError(f"--png needs a folder for the picture, and {folder} is none")
    if os.path.isdir(path):
        raise UnavailableError(f"--png needs a file for the picture, and {path} is a folder")
    try:
        import matplotlib  # noqa: F401  # only whether it is there
    except ImportError as error:
        needs = "a picture needs matplotlib: pip install 'topos-compiler[serve]'"
        raise UnavailableError(needs) from error
    # Only the system knows where files may be made, and to measure may take an hour.
    with naming(f"--png {path}"), _partial(Path(path)) as partial:
        partial.touch()


def write(path: str, title: str, found: Sequence[Measurement]) -> None:
    """Writes the picture as a PNG, whole or not at all; what failed is not in it.

    Raises `OSError` where the file cannot be written.
    """
    buffer = io.BytesIO()
    # The version of matplotlib is no part of the picture.
    _figure(title, [each for each in found if len(each.latencies)]).savefig(
        buffer, format="png", dpi=144, metadata={"Software": None}
    )
    with _partial(Path(path)) as partial:
        partial.write_bytes(buffer.getvalue())
        partial.replace(path)


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """Gives the place beside a file where it is written first, empty again afterwards."""
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield partial
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _figure(title: str, found: Sequence[Measurement]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 1.9 + 0.42 * max(2, len(found))), layout="constrained")
    figure.suptitle(title)
    latency, throughput = axes = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    colours = dict(zip(dict.fromkeys(each.runtime for each in found), cycle(COLOURS), strict=False))
    # The programs lie together, so that a look compares the runtimes.
    cases = sorted(found, key=lambda each: each.rows or 0)
    if not cases:
        latency.text(0.5, 0.5, "nothing was measured", ha="center", transform=latency.transAxes)
    unit, scale = unit_of(median_high([each.percentile(50) or 0.0 for each in cases] or [0.0]))
    for place, each in enumerate(cases):
        _draw_latency(latency, place, each, colours[each.runtime], scale)
        # A bar has no honest length where the axis has no zero.
        rate = each.rows_per_second or each.calls_per_second or 0.0
        _draw_dot(throughput, place, rate, colours[each.runtime])
    for place, (before, after) in enumerate(pairwise(cases)):
        if _case(before) != _case(after):
            for each in axes:
                each.axhline(place + 0.5, **LINES)
    labels = [f"{_case(each)}  {each.runtime}" for each in cases]
    latency.set_yticks(range(len(cases)), labels)
    latency.set_ylim(len(cases) - 0.4, -0.6)
    _label(latency, f"{unit} a call: line least to most, bar p10 to p90, dot p50, stroke p99")
    has_rows = any(each.rows is not None for each in cases)
    _label(throughput, "rows a second" if has_rows else "calls a second")
    return figure


def _case(found: Measurement) -> str:
    if found.rows is None:
        return found.program
    return "1 row" if found.rows == 1 else f"{found.rows:,} rows"


def _draw_latency(axes: Any, place: int, found: Measurement, colour: str, scale: float) -> None:
    least, low, half, high, tail, most = (
        float(each) * scale
        for each in np.percentile(found.latencies, (0, 10, 50, 90, 99, 100), method="inverted_cdf")
    )
    axes.plot([least, most], [place, place], color=colour, alpha=0.6)
    axes.barh(place, high - low, left=low, height=0.25, color=colour, alpha=0.35)
    axes.plot([tail], [place], color=colour, marker="|", markersize=12)
    _draw_dot(axes, place, half, colour)


def _draw_dot(axes: Any, place: int, value: float, colour: str) -> None:
    axes.plot([value], [place], color=colour, marker="o")
    above = {"xytext": (0, 8), "textcoords": "offset points", "ha": "center"}
    axes.annotate(digits(value), (value, place), **above)


def _label(axes: Any, text: str) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.set_xmargin(0.12)
    axes.set_xlabel(text)
    least, most = axes.get_xlim()
    # Powers of ten are enough of a scale where there are several.
    axes.xaxis.set_major_locator(LogLocator(subs=(1,) if most > 100 * least else (1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:,.9g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", **LINES)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
