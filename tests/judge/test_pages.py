"""Pages of grades and bisections: what they show, and that no text in them is HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from topos import judge
from topos.cli import main
from topos.judge import Judgement, Stage, Verdict
from topos.judge.pages.grades import bisected_page
from topos.judge.pages.histogram import histogram
from topos.stablehlo import Module

TANH = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.tanh %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""


def sine(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
    return [np.sin(*arguments)]


def test_a_page_of_a_grade_escapes_every_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, page = tmp_path / "<b>&.mlir", tmp_path / "page.html"
    module.write_text(TANH)
    assert main(["grade", str(module), "--runtime", "interpreter", "--html", str(page)]) == 0
    text = page.read_text()
    assert "&lt;b&gt;&amp;.mlir" in text
    assert "<b>" not in text
    # Nothing is loaded from elsewhere.
    assert not re.search(r"(src|href)=|url\(|@import", text)
    assert capsys.readouterr().err == ""


def test_a_page_of_a_bisection_has_the_operation_and_the_distances() -> None:
    stages: list[Stage] = []
    found = judge.bisect(TANH, sine, [np.ones(3, np.float32)], watch=stages.append)
    text = bisected_page("a & b", found)
    assert "<h1>a &amp; b</h1>" in text
    assert "<td>stablehlo.tanh</td><td>wrong</td><td>replay</td>" in text
    assert text.count("<svg") == 1
    assert Stage(0, 1, "given inputs: replay from line 3") in stages
    assert Stage(0, None, "given inputs: whole") in stages


def test_a_histogram_counts_every_element_once() -> None:
    distances = np.array([0, 0, 0.05, 0.1, 4.9, 5, 5.1, 11, 1e9, np.inf])
    verdicts = np.where(distances > 5, Verdict.WRONG, Verdict.ROUNDING)
    # A truth value that some sample has is explained, though it is no number of spreads away.
    verdicts[-1] = Verdict.DECISION
    drawn = histogram(Judgement(verdicts, distances, np.zeros(10, bool)))
    root = ElementTree.fromstring(drawn)
    texts = [each.text for each in root if each.tag.endswith("text")]
    bars = [each for each in root if each.tag.endswith("rect")]
    # Equal, below 0.1, 2 to 5, 5 to 10, 10 to 20, beyond, and infinity.
    assert texts[:7] == ["2", "2", "2", "1", "1", "1", "1"]
    assert len(bars) == 7 + 3
