"""Recorded cases: folders with a module, its arguments, what the oracle returns, and samples.

A runtime on another machine takes `module.mlir` and `args.npz`, and what it returned is judged here
or wherever the folder is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topos.engine import Plan
from topos.errors import ArgumentError, ExecutionError
from topos.judge.case import SAMPLES, Case
from topos.judge.cases import argument_types, array_types, cases_of
from topos.judge.grading import Grade, results_of
from topos.judge.manifests import CASE, MANIFEST, manifest_of, replacing
from topos.judge.samples.ensemble import Samples
from topos.runtimes._archive import load, save
from topos.runtimes._inputs import EXTENT
from topos.runtimes._signature import ArrayType, require_results
from topos.runtimes.interpreter.program import Array
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
        names = ", ".join(f"{each.name!r}" for each in cases)
        raise ArgumentError(
            f"a folder holds one case, got {len(cases)}: {names}; name one set of inputs, and"
            " instead of a bundle the module of one program with its arguments"
        )
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
    (folder / MODULE).write_text(str(case.module), encoding="utf-8")
    save(folder / ARGUMENTS, case.arguments, "arg")
    save(folder / EXPECTED, case.results, "result")
    save(folder / DRAWN, case.drawn(case.samples, case.seed).results, "sample")


def recorded(folder: str | os.PathLike[str]) -> Case:
    """Returns the case of a folder, without a run of the oracle.

    Further samples are drawn only for what the recorded ones do not explain. Raises `ArgumentError`
    where the folder is no case, or a file of it is not the one that was recorded.
    """
    manifest, place = manifest_of(folder), Path(folder)
    try:
        text = (place / MODULE).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{place / MODULE} is no text of a module: record it again") from error
    module = parse(text).verify()
    arguments = load(place / ARGUMENTS, argument_types(module), "arg")
    types = array_types(module.function().results)
    _demand_facts(place, manifest, len(types))
    drawn = [type._replace(shape=(manifest["samples"], *type.shape)) for type in types]
    expected = _loaded(place / EXPECTED, types, "result")
    samples = Samples(_loaded(place / DRAWN, drawn, "sample"), manifest["decisions"], 0)
    return Case(
        module, arguments, seed=manifest["seed"], samples=manifest["samples"],
        name=manifest["inputs"], names=manifest["results"],
        known=(expected, samples),
    )  # fmt: skip


def _demand_facts(folder: Path, manifest: Mapping[str, Any], results: int) -> None:
    """Raises `ArgumentError` for a manifest that does not say what a case needs."""
    names, whole = manifest.get("results"), (manifest.get("seed"), manifest.get("decisions"))
    said = (
        isinstance(manifest.get("inputs"), str)
        and isinstance(names, list)
        and [*map(type, names)] == [str] * results
        and all(type(each) is int and each >= 0 for each in (*whole, manifest.get("samples")))
        and {MODULE, ARGUMENTS, EXPECTED, DRAWN} <= {*manifest["files"]}
    )
    if not said:
        raise ArgumentError(f"{folder / MANIFEST} is not one of a case: record it again")


def _loaded(path: Path, types: Sequence[ArrayType], prefix: str) -> tuple[Array, ...]:
    arrays = tuple(load(path, types, prefix))
    try:
        require_results(arrays, tuple(types))
    except ExecutionError as error:
        raise ArgumentError(f"{path} does not fit the module: {error}; record it again") from error
    return arrays


def grade_results(case: Case, results: Sequence[npt.ArrayLike], runtime: str = ELSEWHERE) -> Grade:
    """Returns the verdicts on results of a case that came from elsewhere.

    Raises `ArgumentError` where they are not of the types of the module's results.
    """
    arrays = tuple([np.asarray(each) for each in results])
    require_results(arrays, case.signature.results)
    return Grade(runtime, case.seed, case.samples, tuple(results_of(case, arrays)), {})
