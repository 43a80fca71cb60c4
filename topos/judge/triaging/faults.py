"""Faults: modules that a runtime gets wrong in the same way, grouped by what is wrong in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from topos.judge.triaging.examining import FAILED, WRONG, Found

# What differs between two messages of the same failure; the names of operations are kept.
VARYING: Final = (
    (re.compile(r"the module @\S+|a module without a name"), "a module"),
    (re.compile(r"0x[0-9a-fA-F]+"), "ADDRESS"),
    (re.compile(r"(?:/[\w.+-]+){2,}"), "PATH"),
    (re.compile(r"\b(tensor|memref|vector)<(?:[\d?]+x)*([a-z]\w*)[^<>]*>"), r"\1<\2>"),
    (re.compile(r"[@%#](?!main\b)[\w.$-]+"), "NAME"),
    (re.compile(r"\"[^\"]*\"|(?<!\w)'(?![a-z_]+\.[a-z_]+')[^']*'(?!\w)"), "NAME"),
    (re.compile(r"(?<!status )[-+]?\b\d[\d.]*(?:[eE][-+]?\d+)?"), "N"),
)
# What a program printed before it ended, and what MLIR adds to an error.
PRINTED: Final = re.compile(r"(ended with status -?\d+|was ended by (?:SIG\w+|signal \d+)): .*")
NOTE: Final = re.compile(r"\bnote: ")
NOT_REPLAYED: Final = re.compile(r"line \d+: (\S+): ")


class Kind(NamedTuple):
    """What modules with the same fault have alike.

    `what` is "operation" for one that is wrong alone, "together" for a module whose operations are
    wrong only in their company, "attributes", "unexplained" or "failure". `about` names it.
    """

    what: str
    about: tuple[str, ...]

    def __str__(self) -> str:
        if self.what == "failure":
            *operation, message = self.about
            return " at ".join(["the runtime failed", *operation]) + f": {message}"
        return WORDS[self.what].format(" ".join(each for each in self.about if each))


WORDS: Final = {
    "operation": "{} is wrong alone",
    "together": "wrong together: {}",
    "attributes": "wrong with attributes of arguments, results or the module: {}",
    "unexplained": "wrong, and no operation is: {}",
}


@dataclass
class Fault:
    """One kind of fault: the modules that show it, and the first of them as an example.

    `example` is what was found of that module, and `operation` its first operation of this kind, if
    there is one. `forms` are the distinct one-operation modules of it, `cures` the options under
    which a module was better.
    """

    kind: Kind
    example: Found
    operation: Mapping[str, Any]
    modules: list[str] = field(default_factory=list)
    forms: set[str] = field(default_factory=set)
    cures: list[str] = field(default_factory=list)
    verdicts: set[str] = field(default_factory=set)

    def document(self) -> dict[str, Any]:
        """Returns the fault as JSON has it."""
        return {
            "fault": str(self.kind),
            "kind": self.kind.what,
            "about": list(self.kind.about),
            "modules": self.modules,
            "forms": len(self.forms),
            "verdicts": sorted(self.verdicts),
            "cures": self.cures,
            "operation": dict(self.operation) if "operation" in self.operation else None,
            "reason": self.example.get("reason", ""),
        }


def faults_of(found: Sequence[tuple[str, Found]]) -> list[Fault]:
    """Returns the faults that modules show, given by name, those of the most modules first.

    A module with several wrong operations shows several faults.
    """
    faults: dict[Kind, Fault] = {}
    for name, each in found:
        for kind, operation in _kinds(each):
            fault = faults.setdefault(kind, Fault(kind, each, operation))
            if name not in fault.modules:
                fault.modules.append(name)
            fault.verdicts.add(str(operation.get("verdict", each["verdict"])))
            if operation.get("form"):
                fault.forms.add(operation["form"])
            cures = each.get("cures", ())
            fault.cures += [cure for cure in cures if cure not in fault.cures]
    return sorted(faults.values(), key=lambda fault: -len(fault.modules))


def _kinds(found: Found) -> Iterator[tuple[Kind, Mapping[str, Any]]]:
    """Yields the kinds of fault of one module, each with its operation."""
    operations, nothing = found.get("operations", ()), dict[str, Any]()
    if found["outcome"] == FAILED:
        ended = {match[1] for each in found.get("not_replayed", ()) if (match := _ended(each))}
        # Where several operations fail alone, the failure is of none of them.
        about = [*ended] if len(ended) == 1 else []
        yield Kind("failure", (*about, normalised(found["reason"]))), {"verdict": FAILED}
    alone = [each for each in operations if not each["together"]]
    for each in alone:
        yield _alone(each), each
    if alone or found["outcome"] != WRONG:
        return
    # What is cured by the same option is one fault, wherever in a module it first shows.
    together = next(iter(operations), nothing)
    element = found.get("element", "")
    if found.get("right_without_attributes"):
        yield Kind("attributes", (element,)), together
    elif found.get("cures"):
        yield Kind("together", (f"right with {found['cures'][0]}",)), together
    elif together:
        yield Kind("together", (together["operation"], *together["elements"])), together
    else:
        yield Kind("unexplained", (element,)), nothing


def _alone(operation: Mapping[str, Any]) -> Kind:
    body = ", ".join(operation["body"])
    name = operation["operation"] + (f" ({body})" if body else "")
    return Kind("operation", (name, *operation["elements"]))


def _ended(not_replayed: str) -> re.Match[str] | None:
    return NOT_REPLAYED.match(not_replayed)


def normalised(message: str) -> str:
    """Returns the first and the last line of a message, without what differs from run to run."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    lines = [line for line in lines if not NOTE.search(line)]
    # A caret, and the line of the module that it stands below.
    if len(lines) > 2 and not lines[-1].strip("^~ "):
        lines = lines[:-2]
    # What a long print begins with says little, and a short one is its own end.
    first = PRINTED.sub(r"\1", lines[0]) if len(lines) > 1 else "".join(lines)
    text = " ... ".join(dict.fromkeys([first, *lines[-1:]]))
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text
