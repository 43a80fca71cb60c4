"""Pages: HTML files that need no other file, with every text in them escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

STYLE: Final = """\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; \
color: #222; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; \
border-bottom: 1px solid #ddd; }
th { font-weight: 600; } .right { text-align: right; }
code, pre { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: #f5f5f5; padding: .5rem .75rem; overflow-x: auto; white-space: pre-wrap; }
.bad { color: #b3261e; font-weight: 600; } .good { color: #1b6e3c; font-weight: 600; }
summary { cursor: pointer; margin: .5rem 0; } svg { max-width: 100%; height: auto; }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Returns a page; `title` is plain text, `parts` are HTML."""
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def paragraph(text: str, tag: str = "p", kind: str = "") -> str:
    """Returns a text in an element, by default a paragraph."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<{tag}{attribute}>{escape(text)}</{tag}>"


def table(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> str:
    """Returns a table of plain texts whose first row is its head; `right` end flush."""
    lines = []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        cells = [
            paragraph(cell, tag, "right" if place in right else "")
            for place, cell in enumerate(row)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def folded(title: str, parts: Iterable[str], *, unfolded: bool = False) -> str:
    """Returns HTML that a reader opens at its title, which is plain text."""
    state = " open" if unfolded else ""
    body = "\n".join(parts)
    return f"<details{state}>\n<summary>{escape(title)}</summary>\n{body}\n</details>"
