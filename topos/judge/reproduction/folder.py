"""A reproducer as a folder: a recorded case with the report and the script that runs it."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Final

import numpy as np

from topos.judge.manifests import REPRODUCER, replacing
from topos.judge.recording import facts_of, write_case
from topos.judge.reproduction.direct import SCRIPT, direct_of, input_files
from topos.judge.reproduction.report import report

if TYPE_CHECKING:
    from topos.judge.reproduction.reproducer import Reproducer

REPORT: Final = "report.md"


def save(reproducer: Reproducer, folder: str | os.PathLike[str]) -> None:
    """Writes a reproducer as `Reproducer.save` says."""
    case, direct = reproducer.case, direct_of(reproducer.target)
    with replacing(folder, REPRODUCER, facts_of(case)) as partial:
        write_case(case, partial)
        if direct is not None:
            shutil.copyfile(direct.script, partial / SCRIPT)
        if direct is not None and direct.runtime == "iree":
            for name, array in input_files(case).items():
                np.save(partial / name, array, allow_pickle=False)
        (partial / REPORT).write_text(report(reproducer, case, direct), encoding="utf-8")
