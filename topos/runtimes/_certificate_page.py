"""Certificates as pages: the Markdown of docs/certificates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from topos.runtimes._certificate import Certificate, Fault, Outcome
from topos.runtimes._certificate_files import REFUSED, ordered, told

OUTCOMES: Final[Mapping[str, str]] = {
    "bits": "has the oracle's bits for all inputs",
    "rounded": "differs by rounding, or takes subnormal numbers for zero",
    "ranged": "keeps or loses what the range of the format ends",
    "unspecified": "depends on what the specification leaves open",
    "imprecise": "is farther off than the operation's rounding allows, and within a thousandth",
    "wrong": "is wrong",
    "died": "fails or ends the process for some inputs",
    "refused": "is refused with a reason",
}
LEGEND: Final = """\
A number is the largest distance from the oracle in units in the last place, by the class of
inputs; a class that is not named has the oracle's bits. *Flushed* says that subnormal operands (in)
or results (out) are zero. The classes are those of `topos/judge/certification/inputs.py`.
"""


def page(certificate: Certificate) -> str:
    """Returns a certificate as a Markdown page."""
    return "\n".join(_lines(certificate))


def _lines(certificate: Certificate) -> Iterator[str]:
    command = f"topos certify --runtime {certificate.runtime} --numerics {certificate.numerics}"
    yield f"# {certificate.runtime}, {certificate.numerics}\n"
    yield f"Measured by `{command} --seed {certificate.seed}` on {certificate.processor}: "
    yield f"{certificate.versions or 'versions unknown'}.\n"
    yield "| an operation in a form and an element | how many |\n|---|---|"
    for name, count in certificate.counts().items():
        yield f"| {OUTCOMES[name]} | {count} |"
    yield "\n## Across operations\n\n| does it | |\n|---|---|"
    for question, answer in certificate.probes.items():
        yield f"| {question} | {_cell(answer)} |"
    yield "\n## Operations\n"
    yield LEGEND
    yield from _operations(certificate)
    yield "\n## What is refused\n\n| reason | operations |\n|---|---|"
    yield from _refusals(certificate)
    if certificate.faults:
        yield "\n## What is wrong\n"
        yield "Each module has no arguments, and shows the first of its elements and inputs.\n"
        for fault in certificate.faults:
            yield from _fault(fault)
    yield "\n## What did not run\n\n| operation | why |\n|---|---|"
    for operation, reason in sorted(certificate.left_out.items()):
        yield f"| `{operation}` | {_cell(reason)} |"
    yield ""


def _operations(certificate: Certificate) -> Iterator[str]:
    exact, rows = list[str](), list[str]()
    for operation, forms in told(certificate).items():
        words = {word for groups in forms.values() for word in groups if not _is_refusal(word)}
        if words == {str(Outcome.BITS)}:
            exact.append(f"`{operation}`")
            continue
        for variant, groups in forms.items():
            for word, elements in groups.items():
                if not _is_refusal(word):
                    form = f"`{operation}`" + (f", {variant}" if variant else "")
                    rows.append(f"| {form} | {' '.join(elements)} | {_cell(word)} |")
    yield f"The oracle's bits, for every element that runs and all inputs: {', '.join(exact)}.\n"
    yield "| operation | elements | found |\n|---|---|---|"
    yield from rows


def _refusals(certificate: Certificate) -> Iterator[str]:
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key in ordered(certificate.refusals):
        (operation, variant, element), reason = key, certificate.refusals[key]
        form = f"`{operation}`" + (f" ({variant})" if variant else "")
        found[reason][form].append(element)
    for reason, operations in sorted(found.items()):
        yield f"| {_cell(reason)} | {_listed(operations)} |"


def _listed(operations: Mapping[str, Sequence[str]]) -> str:
    """Returns forms with the elements of each, those of the same elements together."""
    together: dict[str, list[str]] = defaultdict(list)
    for form, elements in operations.items():
        together[" ".join(elements)].append(form)
    return "; ".join(f"{elements}: {', '.join(forms)}" for elements, forms in together.items())


def _fault(fault: Fault) -> Iterator[str]:
    form = f"`{fault.operation}`" + (f", {fault.variant}" if fault.variant else "")
    yield f"### {form}\n"
    reproduced = "" if fault.is_reproduced else "; with these constants it is right"
    beside = f", where the oracle has {fault.oracle}" if fault.oracle else ""
    yield f"{fault.elements}; {fault.inputs}: {fault.got or 'wrong'}{beside}{reproduced}.\n"
    yield f"```mlir\n{fault.module.strip()}\n```\n"


def _is_refusal(words: str) -> bool:
    return words.startswith(REFUSED)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
