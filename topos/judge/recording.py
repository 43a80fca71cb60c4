"""Recorded cases: folders with a module, its arguments, what the oracle returns, and samples.

A runtime on another machine takes `module.mlir` and `args.npz`, and what it returned is judged here
or wherever the folder is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topos.engine import Plan
from topos.errors import ArgumentError
from topos.judge.case import SAMPLES, Case, argument_types, array_types, cases_of
from topos.judge.grading import Grade, results_of
from topos.judge.manifests import CASE, manifest_of, replacing
from topos.judge.samples.ensemble import Samples
from topos.runtimes._archive import load, save
from topos.runtimes._inputs import EXTENT
from topos.runtimes._signature import require_results
from topos.stablehlo import parse
from topos.stablehlo.forms import ModuleLike

if TYPE_CHECKING:
    from topos.bundle import Bundle

MODULE, ARGUMENTS, EXPECTED, DRAWN = "module.mlir", "args.npz", "expected.npz", "samples.npz"
ELSEWHERE = "elsewhere"


def record(
    subject: ModuleLike | Plan | Bundle,
    folder: str | os.PathLike[str],
    arguments: Sequence[npt.ArrayLike] | None = None,
    *,
    inputs: Sequence[str] = (),
    extent: int = EXTENT,
    seed: int = 0,
    samples: int = SAMPLES,
) -> Case:
    """Writes a case as a folder and returns it.

    The folder holds `module.mlir`, `args.npz`, the oracle's results as `expected.npz`, the first
    samples as `samples.npz`, and a manifest with the digests. Takes and raises what `cases_of`
    does, and `ArgumentError` for a subject of several cases, or where `folder` holds anything else.
    """
    cases = [*cases_of(subject, arguments, inputs, seed=seed, samples=samples, extent=extent)]
    if len(cases) != 1:
        names = ", ".join(each.name for each in cases)
        raise ArgumentError(f"a folder holds one case: choose one of {names}")
    with replacing(folder, CASE, facts_of(cases[0])) as partial:
        write_case(cases[0], partial)
    return cases[0]


def facts_of(case: Case) -> dict[str, Any]:
    """Returns what a manifest says of a case."""
    drawn = case.drawn(case.samples, case.seed)
    return {
        "inputs": case.name,
        "results": [*case.names],
        "seed": case.seed,
        "samples": case.samples,
        "decisions": drawn.decisions,
    }


def write_case(case: Case, folder: Path) -> None:
    """Writes the files of a case into a folder."""
    (folder / MODULE).write_text(str(case.module))
    save(folder / ARGUMENTS, case.arguments, "arg")
    save(folder / EXPECTED, case.results, "result")
    save(folder / DRAWN, case.drawn(case.samples, case.seed).results, "sample")


def recorded(folder: str | os.PathLike[str]) -> Case:
    """Returns the case of a folder, without a run of the oracle.

    Further samples are drawn only for what the recorded ones do not explain. Raises `ArgumentError`
    where the folder is no case, or a file of it is not the one that was recorded.
    """
    manifest, place = manifest_of(folder), Path(folder)
    module = parse((place / MODULE).read_text()).verify()
    arguments = load(place / ARGUMENTS, argument_types(module), "arg")
    types = array_types(module.function().results)
    drawn = [type._replace(shape=(manifest["samples"], *type.shape)) for type in types]
    samples = Samples(tuple(load(place / DRAWN, drawn, "sample")), manifest["decisions"], 0)
    return Case(
        module, arguments, seed=manifest["seed"], samples=manifest["samples"],
        name=manifest["inputs"], names=manifest["results"],
        known=(tuple(load(place / EXPECTED, types, "result")), samples),
    )  # fmt: skip


def grade_results(case: Case, results: Sequence[npt.ArrayLike], runtime: str = ELSEWHERE) -> Grade:
    """Returns the verdicts on results of a case that came from elsewhere.

    Raises `ArgumentError` where they are not of the types of the module's results.
    """
    arrays = tuple([np.asarray(each) for each in results])
    require_results(arrays, case.signature.results)
    return Grade(runtime, case.seed, case.samples, tuple(results_of(case, arrays)), {})
