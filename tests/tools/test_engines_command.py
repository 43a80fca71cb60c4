"""The command that measures every engine beside numpy by hand, and the guide's table of it."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import Any

import pytest

from tests.project.paths import ROOT
from topos import runtimes
from topos.runtimes import Status

GUIDE = ROOT / "docs" / "guides" / "runtimes.md"
BENCH = ROOT / "tools" / "bench"


@pytest.fixture(scope="module")
def tool() -> Any:
    """The command as a module; its siblings are found as they are when it runs."""
    specification = importlib.util.spec_from_file_location("engines", BENCH / "engines.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    before = [*sys.path]
    sys.path.insert(0, str(BENCH))
    specification.loader.exec_module(module)
    sys.path[:] = before
    return module


def test_every_engine_is_held_to_numpy_and_timed(
    tool: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The peer under jax.jit takes seconds to import and to compile.
    monkeypatch.setattr(tool, "jit_is_ready", lambda: False)
    for name, engines in (("decode", ["plan, fast"]), ("cnn", ["interpreter"])):
        told = ["--workloads", name, "--engines", *engines, "--rounds", "1", "--json"]
        assert tool.main(told) == 0
        (found,) = json.loads(capsys.readouterr().out)["workloads"]
        assert found["unit"] == ("tokens" if name == "decode" else "calls")
        assert [*found["seconds"]] == [tool.PEER, *engines]
        assert all(0 < seconds < 60 for seconds in found["seconds"].values())
    told = ["--workloads", "attention", "--engines", "plan, fast", "--rounds", "1", "--markdown"]
    assert tool.main(told) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == "| engine | attention, 256 tokens | calls a second |"
    assert rows[2].startswith("| numpy by hand | 1.00x | ")
    # An engine whose numbers differ is not timed.
    monkeypatch.setattr(tool.np, "allclose", lambda *arrays, **bounds: False)
    with pytest.raises(SystemExit, match="plan, fast has other results than numpy by hand"):
        tool.main(told)


def test_the_guide_has_a_row_for_every_engine(tool: Any) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    _, table = text.split("<!-- The table of tools/bench/engines.py starts here. -->\n\n")
    head, _, *rows = table.split("\n\n")[0].splitlines()
    assert [row.split(" | ")[0] for row in rows] == [
        f"| {name}" for name in (tool.PEER, tool.JITTED, *tool.ENGINES)
    ]
    titles = [make().title for make in tool.WORKLOADS.values()]
    assert head.split(" | ")[1::2] == titles


def test_an_engine_that_is_not_installed_is_skipped_by_name(
    tool: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "jit_is_ready", lambda: False)
    away = Status(False, "iree is away")
    monkeypatch.setattr(type(runtimes.load("iree")), "status", lambda self: away)
    chosen = ["--workloads", "attention", "--engines", "iree", "--rounds", "1"]
    assert tool.main(chosen) == 0
    out = capsys.readouterr().out
    assert "numpy by hand" in out
    assert "\nskipped: iree, iree is away" in out
