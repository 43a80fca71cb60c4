"""Rewrites the golden modules under tests/golden from what emission writes now.

Review the difference as code: it is the contract that tests/emit/test_golden.py checks.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.programs import PROGRAMS  # noqa: E402  # The checkout's root must be on the path first.


def main() -> int:
    """Writes one file a program, or with `--check` none, and returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a file would change"
    )
    chosen = parser.parse_args()
    stale = False
    for name, program in PROGRAMS.items():
        path = ROOT / "tests" / "golden" / f"{name}.mlir"
        text = program().emit_stablehlo()
        same = path.exists() and path.read_text(encoding="utf-8") == text
        if not same and not chosen.check:
            path.write_text(text, encoding="utf-8")
        stale |= not same
        verdict = "same" if same else "stale" if chosen.check else "changed"
        print(f"{verdict:<8}{path.relative_to(ROOT)}")
    return int(stale and chosen.check)


if __name__ == "__main__":
    sys.exit(main())
