"""The judge on the shared StableHLO conformance cases on XLA: what it calls wrong, and how much.

The cases have infinities, NaN and subnormal numbers among their inputs. What is listed are faults
of XLA, such as the sign of a complex function on its branch cut; anything else is a false alarm.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from topos import judge  # noqa: E402  # The folder must be on the path first.

SHARED: Final = ROOT.parent / "shared" / "conformance"
LISTS: Final = ("open.txt", "chlo_open.txt")


def main() -> int:
    """Prints the verdicts; always returns 0, for a fault of XLA is none of the judge."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=SHARED, help="default: %(default)s")
    parser.add_argument("--runtime", default="xla", help="default: %(default)s")
    chosen = parser.parse_args()
    if not chosen.folder.is_dir():
        raise SystemExit(f"{chosen.folder} is not there")
    names = [name for each in LISTS for name in (chosen.folder / each).read_text().split()]
    modules, elements = Counter[str](), Counter[str]()
    with zipfile.ZipFile(chosen.folder / "corpus.zip") as corpus:
        for name in names:
            case = name.removesuffix(".mlir")
            given = json.loads(corpus.read(f"{case}.json"))["args"]
            text = corpus.read(f"{case}.mlir").decode()
            found = judge.grade(text, chosen.runtime, [*map(_array, given)])
            modules["refused" if found.failures else str(found.verdict)] += 1
            for result in found.results:
                elements.update({str(verdict): count for verdict, count in result.counts.items()})
            if not (found.passed or found.failures):
                print(f"{case}: {str(found).splitlines()[0][:200]}", flush=True)
    print(f"{len(names)} cases: {dict(modules)}; elements: {dict(elements)}")
    return 0


def _array(given: Any) -> Any:
    name = given["dtype"]
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    data = zlib.decompress(base64.b64decode(given["data"]))
    return np.frombuffer(data, dtype).reshape(given["shape"])


if __name__ == "__main__":
    raise SystemExit(main())
