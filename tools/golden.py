"""Rewrites the golden modules under tests/golden from what emission writes now.

Review the difference as code: it is the contract that tests/emit/test_golden.py checks.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.programs import PROGRAMS  # noqa: E402  # The checkout's root must be on the path first.


def main() -> int:
    """Writes one file a program and returns the exit status."""
    for name, program in PROGRAMS.items():
        path = ROOT / "tests" / "golden" / f"{name}.mlir"
        text = program().emit_stablehlo()
        changed = not path.exists() or path.read_text() != text
        path.write_text(text)
        print(f"{'changed' if changed else 'same':<8}{path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
