"""Rewrites the kept tables of the grammar of StableHLO's text, where they are not its own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from topos.stablehlo.parser.parse import described, kept  # noqa: E402  # The checkout's own comes first.

FOLDER = ROOT / "topos" / "stablehlo" / "parser"


def main() -> int:
    """Writes the tables, or with `--check` nothing, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if the file would change"
    )
    chosen = parser.parse_args()
    path = FOLDER / "grammar.tables"
    grammar = (FOLDER / "grammar.lark").read_text(encoding="utf-8")
    # Lark numbers the states of one grammar in another order each time.
    line = f"{described(grammar)}\n".encode()
    same = path.exists() and path.read_bytes().startswith(line)
    if not same and not chosen.check:
        path.write_bytes(kept(grammar))
    verdict = "same" if same else "stale" if chosen.check else "changed"
    print(f"{verdict:<8}{path.relative_to(ROOT)}")
    return int(chosen.check and not same)


if __name__ == "__main__":
    sys.exit(main())
