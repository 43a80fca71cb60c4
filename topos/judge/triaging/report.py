"""Reports of a triage: its faults as a table for a terminal, as Markdown and as a page of HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from topos.judge.bisection.locations import brief
from topos.judge.pages import page
from topos.judge.triaging.faults import Fault
from topos.judge.triaging.triage import Triage

HEAD: Final = ("modules", "forms", "fault", "verdict", "first module", "got", "oracle", "cured by")
RIGHT: Final = frozenset({0})
# So much of a text goes into a cell, and so many cures.
LONGEST, CURES = 160, 3


def rows_of(triage: Triage) -> list[tuple[str, ...]]:
    """Returns the table of faults, its head first, without columns that nothing stands in."""
    rows = [*map(_row, triage.faults)]
    shown = [place for place, column in enumerate(zip(*rows, strict=True)) if any(column)]
    return [tuple([row[place] for place in shown]) for row in (HEAD, *rows)]


def summary(triage: Triage) -> str:
    """Returns in one line what became of the modules."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in triage.counts.items() if count)
    faults = len(triage.faults)
    told = "1 fault" if faults == 1 else f"{faults or 'no'} faults"
    return f"{len(triage.found)} modules on {triage.runtime}: {counts}; {told}"


def markdown(triage: Triage) -> str:
    """Returns the triage as a page of Markdown."""
    return "\n".join(_markdown(triage)) + "\n"


def html(triage: Triage) -> str:
    """Returns the triage as a page of HTML that needs no other file."""
    return page.page(f"Triage of {triage.folder}", _html(triage))


def _row(fault: Fault) -> tuple[str, ...]:
    operation = fault.operation
    cures = ", ".join(map(_short, fault.cures[:CURES]))
    if len(fault.cures) > CURES:
        cures += f" and {len(fault.cures) - CURES} more"
    return (
        str(len(fault.modules)), str(len(fault.forms) or ""), _short(str(fault.kind)),
        ", ".join(sorted(fault.verdicts)), fault.modules[0],
        operation.get("got", ""), operation.get("oracle", ""), cures,
    )  # fmt: skip


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _where(fault: Fault) -> str:
    """Returns where the fault is in the first module, and what its operation was given."""
    operation = fault.operation
    if "operation" not in operation:
        return str(fault.example.get("reason", ""))
    given = f" of {', '.join(operation['operands'])}" if operation["operands"] else ""
    source = f" (from {brief(operation['location'])})" if operation["location"] else ""
    return (
        f"line {operation['line']}: {operation['operation']}{given} is {operation['got']} at"
        f" {operation['index']}, the oracle has {operation['oracle']}{source}"
    )


def _markdown(triage: Triage) -> Iterator[str]:
    yield f"# Triage of {_cell(str(triage.folder))}\n"
    yield f"{_cell(summary(triage))}.\n"
    if triage.faults:
        head, *rows = rows_of(triage)
        yield f"| {' | '.join(head)} |"
        yield f"|{'|'.join(['--:' if each in RIGHT else '---' for each in range(len(head))])}|"
        yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)
    for number, fault in enumerate(triage.faults, start=1):
        yield f"\n## {number}. {_cell(_short(str(fault.kind)))}\n"
        yield _fenced(f"{fault.modules[0]}: {_where(fault)}")
        yield _fenced(triage.command(fault.modules[0]))
        yield from (f"- {_cell(each)}" for each in fault.modules)
    if triage.refused:
        yield "\n## Refused\n\nThe oracle runs none of these, so nothing is said of them.\n"
        yield "| module | reason |\n|---|---|"
        for name, reason in triage.refused.items():
            yield f"| {_cell(name)} | {_cell(_short(reason))} |"


def _cell(text: str) -> str:
    """Returns a text as Markdown that shows it in one line."""
    text = " ".join(text.split())
    for mark in "\\`*_|<>[]":
        text = text.replace(mark, f"\\{mark}")
    return text


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}\n"


def _html(triage: Triage) -> Iterator[str]:
    yield page.paragraph(summary(triage), kind="good" if triage.passed else "bad")
    if triage.faults:
        yield page.table(rows_of(triage), right=RIGHT)
    for number, fault in enumerate(triage.faults, start=1):
        yield page.paragraph(f"{number}. {_short(str(fault.kind))}", "h2")
        yield page.paragraph(f"{fault.modules[0]}: {_where(fault)}", "pre")
        yield page.paragraph(triage.command(fault.modules[0]), "pre")
        names = [page.paragraph(each, "li") for each in fault.modules]
        yield page.folded(f"its modules: {len(names)}", ["<ul>", *names, "</ul>"])
    if triage.refused:
        yield page.paragraph("Refused", "h2")
        yield page.paragraph("The oracle runs none of these, so nothing is said of them.")
        yield page.table([("module", "reason"), *triage.refused.items()])
