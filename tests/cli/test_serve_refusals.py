"""`topos serve` that does not start: one line that says why, and an exit status."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path

import pytest

from tests.bundle.bundled_models import rewritten
from tests.serving.serving_bundles import exported_mlp
from tests.serving.serving_http import SECONDS
from topos.cli import main
from topos.cli._limits import LIMITS, SETTINGS, add_limits, limits_of, settings_of
from topos.serving import Settings
from topos.serving.http import Limits

Captured = pytest.CaptureFixture[str]


def refused(captured: Captured, *arguments: object) -> tuple[int, str]:
    """The exit status of a server that does not start, and its only line."""
    status = main(["serve", "--runtime", "interpreter", "--port", "0", *map(str, arguments)])
    told = captured.readouterr()
    assert told.out == ""
    return status, told.err


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve") / "mlp"
    exported_mlp(folder, rows=(1,))
    return folder


@pytest.fixture
def bundle(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "mlp"))


def test_an_address_in_use_is_one_line(bundle: Path, capsys: Captured) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = refused(capsys, bundle, "--port", port)
    assert found == (2, f"cannot listen on 127.0.0.1, port {port}: Address already in use\n")


def test_a_damaged_bundle_is_one_line(bundle: Path, capsys: Captured) -> None:
    (bundle / "weights.safetensors").write_bytes(b"no weights")
    status, line = refused(capsys, bundle)
    assert (status, line.count("\n")) == (1, 1)
    assert "weights.safetensors" in line


def test_a_folder_that_is_no_bundle_is_one_line(tmp_path: Path, capsys: Captured) -> None:
    status, line = refused(capsys, tmp_path)
    assert (status, line.count("\n")) == (1, 1)
    assert str(tmp_path) in line


def test_two_bundles_of_one_name_are_refused(bundle: Path, capsys: Captured) -> None:
    status, line = refused(capsys, bundle, bundle)
    both = f"{bundle} and {bundle}"
    assert (status, line) == (2, f"a server needs each model once, got mlp as {both}\n")


def test_a_cache_that_cannot_be_a_folder_is_one_line(bundle: Path, capsys: Captured) -> None:
    file = bundle / "manifest.json"
    for path, reason in ((file, "File exists"), (file / "below", "Not a directory")):
        status, line = refused(capsys, bundle, "--cache", path)
        needs = f"cache needs a folder, and {str(path)!r} cannot be one: {reason}\n"
        assert (status, line) == (2, needs)


@pytest.mark.parametrize("text", [None, "", "two words"])
def test_a_token_that_cannot_be_one_is_one_line(
    bundle: Path, text: str | None, capsys: Captured
) -> None:
    file = bundle.with_name("token")
    if text is not None:
        file.write_text(text)
    status, line = refused(capsys, bundle, "--token-file", file)
    assert (status, line.count("\n")) == (2, 1)
    starts = {
        None: f"{file}: ",
        "": f"{file}: a token needs one character or more, and the file is empty\n",
        "two words": "the token needs letters, digits",
    }
    assert line.startswith(starts[text])


def test_an_empty_token_of_the_environment_is_told(
    bundle: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPOS_TOKEN", "")
    status, line = refused(capsys, bundle)
    assert (status, line.endswith("then any =, got an empty one\n")) == (2, True)


def test_the_bundle_that_is_refused_is_named_with_what_to_do(
    bundle: Path, capsys: Captured
) -> None:
    other = Path(shutil.copytree(bundle, bundle.with_name("second one")))
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps({**manifest, "name": "second"}))
    path = other / "rows1.mlir"
    path.write_text(path.read_text().replace("stablehlo.maximum", "stablehlo.minimum", 1))
    rewritten(other)
    status, line = refused(capsys, bundle, other)
    assert status == 1
    assert line.startswith(f"{other}: rows1 needs its scores within ")
    assert line.endswith(f"; topos check '{other}' shows all\n")
    path.write_text(path.read_text().replace("stablehlo.minimum", "stablehlo.nothing", 1))
    rewritten(other)
    status, line = refused(capsys, bundle, other)
    assert status == 1
    assert line.startswith(f"{other}: rows1 is no module to run: ")
    assert line.splitlines()[-1] == f"topos check '{other}' shows all"


def test_a_log_that_cannot_be_written_is_one_line(bundle: Path, capsys: Captured) -> None:
    status, line = refused(capsys, bundle, "--access-log", bundle)
    assert (status, line) == (2, f"--access-log {bundle}: Is a directory\n")


def test_a_missing_package_is_one_line(bundle: Path) -> None:
    program = (
        "import sys; sys.modules['uvicorn'] = None; from topos.cli import main; "
        f"sys.exit(main(['serve', {str(bundle)!r}]))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS
    )
    reason = "serving needs uvicorn: pip install 'topos-compiler[serve]'\n"
    assert (found.returncode, found.stderr) == (2, reason)


def test_a_name_that_is_another_path_is_refused(bundle: Path, capsys: Captured) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    (bundle / "manifest.json").write_text(json.dumps({**manifest, "name": "stats"}))
    status, line = refused(capsys, bundle)
    assert status == 1
    assert "letters, digits, dots, dashes and underscores" in line


def test_every_limit_has_a_flag_whose_default_is_its_own() -> None:
    parser = ArgumentParser()
    add_limits(parser)
    chosen = parser.parse_args([])
    assert settings_of(chosen) == Settings(isolation="process")
    assert limits_of(chosen) == Limits()
    numbers = {limit.flag: n for n, limit in enumerate((*SETTINGS, *LIMITS), start=900)}
    texts = [str(each) for pair in numbers.items() for each in pair]
    assert limits_of(parser.parse_args(["--head-time", "1e8"])).head_seconds == 1e8
    chosen = parser.parse_args([*texts, "--max-buffered", "2000", "--isolation", "thread"])
    for limits, table in ((settings_of(chosen), SETTINGS), (limits_of(chosen), LIMITS)):
        for limit in table:
            assert getattr(limits, limit.field) == numbers[limit.flag]
    unset = {field.name for field in fields(Settings)} - {limit.field for limit in SETTINGS}
    assert unset == {"isolation", "batching", "backoff", "max_backoff"}
    unset = {field.name for field in fields(Limits)} - {limit.field for limit in LIMITS}
    assert unset == {"body_bytes", "buffered_bytes"}


def test_the_longest_body_can_be_held(bundle: Path, capsys: Captured) -> None:
    parser = ArgumentParser()
    add_limits(parser)
    for size in (2**20, 2**30):
        limits = limits_of(parser.parse_args(["--max-body", str(size)]))
        assert limits.buffered_bytes == max(2**29, 2 * size)
    status, line = refused(capsys, bundle, "--max-body", 2**20, "--max-buffered", 2**20)
    needs = f"--max-buffered needs {2**21} or more, twice --max-body, got {2**20}\n"
    assert (status, line) == (2, needs)


def test_help_tells_what_there_is(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "/v2/models/M" in told
    assert "--token-file" in told
    assert "SIGHUP" in told


@pytest.mark.parametrize(
    "wrong",
    [
        ["--port", "65536"],
        ["--port", "-1"],
        ["--deadline", "nan"],
        ["--max-body", "0"],
        *([flag, "0"] for flag in ("--call-time", "--start-time", "--keep-alive", "--drain")),
        *([flag, "100000001"] for flag in ("--head-time", "--linger", "--max-deadline")),
        ["--attempts", "0"],
        ["--max-head", "-1"],
        ["--queue", "1.5"],
        ["--token", "on.the.command.line"],
        ["--runtime", "none"],
        ["--host", ""],
        ["--host", "\udcff"],
        ["--host", "a b"],
        [""],
        ["\udcff"],
    ],
)
def test_wrong_usage_is_told(wrong: list[str], capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "bundle", *wrong])
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err
