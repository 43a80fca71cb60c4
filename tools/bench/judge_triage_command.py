"""`topos triage` of 200 modules on a command with four faults: those four are told, and no others.

20 of the modules, in an order of their own, have what one of the faults gets wrong. Two faults are
of the data, a negative base and an index out of range; one is of a long sum, and one of two
operations together. Needs no jax.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.judge_folder import PLANTED, written  # noqa: E402  # The folder must be on the path.

# How long it may take.
MINUTES: Final = 15.0


def main() -> int:
    """Prints the faults that were told; returns 1 where they are not those that were planted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="modules (default: %(default)s)")
    parser.add_argument("--each", type=int, default=5, help="modules with each of the faults")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", metavar="FOLDER", help="where modules and report are to stay")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(chosen.keep or temporary)
        modules, out = folder / "modules", folder / "found"
        modules.mkdir(parents=True)
        planted = written(modules, chosen.count, chosen.each, chosen.seed)
        start = time.perf_counter()
        document = _triaged(modules, out, chosen.jobs)
        seconds = time.perf_counter() - start
    told = {each["about"][0]: each["modules"] for each in document["faults"]}
    for fault in document["faults"]:
        print(f"{fault['fault']}: {len(fault['modules'])} modules, {fault['forms']} forms")
    print(f"{document['counts']}; {seconds / 60:.1f} minutes (at most {MINUTES:g})")
    right = len(document["faults"]) == len(PLANTED) and told == planted
    if not right:
        print(f"planted were {planted}, told are {told}")
    return int(not right or seconds > 60 * MINUTES)


def _triaged(modules: Path, out: Path, jobs: int) -> Any:
    """Returns the document that the command writes."""
    runtime = shlex.join([sys.executable, str(ROOT / "tools" / "judge_broken.py")])
    command = [sys.executable, "-m", "topos", "triage", str(modules), "--runtime", runtime]
    subprocess.run([*command, "--out", str(out), "--jobs", str(jobs)], check=False, cwd=ROOT)
    return json.loads((out / "triage.json").read_text())


if __name__ == "__main__":
    raise SystemExit(main())
