"""What a session answers, and what it refuses before anything runs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.serving.serving_bundles import (
    FEATURES,
    exported_mlp,
    exported_pair,
    exported_total,
    truth,
)
from topos.errors import ArgumentError, BundleError, UnavailableError
from topos.serving import (
    DrainingError,
    RequestError,
    Session,
    Settings,
    TooLargeError,
    UnknownModelError,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles")
    exported_mlp(path / "mlp")
    exported_pair(path / "pair")
    exported_total(path / "total")
    return path


@pytest.fixture(scope="module", params=["thread", "process"])
def session(folder: Path, request: pytest.FixtureRequest) -> Iterator[Session]:
    settings = Settings(isolation=request.param, max_rows=40)
    bundles = [folder / "mlp", folder / "pair", folder / "total"]
    with Session(bundles, runtime="interpreter", settings=settings) as session:
        yield session


def drawn(rows: int) -> Any:
    return np.random.default_rng(rows).integers(-4, 5, (rows, FEATURES)).astype(np.float32)


@pytest.mark.parametrize("rows", [1, 2, 4, 5, 8, 9, 27])
def test_any_number_of_rows_is_answered_exactly(session: Session, rows: int) -> None:
    answer = session.infer("mlp", {"x": drawn(rows)})
    assert list(answer) == ["scores"]
    assert answer["scores"].tobytes() == truth(drawn(rows)).tobytes()
    assert answer["scores"].shape == (rows, 3)


def test_answers_belong_to_the_caller(session: Session) -> None:
    first = session.infer("mlp", {"x": drawn(3)})["scores"]
    kept = first.copy()
    session.infer("mlp", {"x": -drawn(8)})
    assert first.flags.writeable
    assert first.tobytes() == kept.tobytes()


def test_an_element_that_numpy_lacks_and_several_names(session: Session) -> None:
    x = drawn(3)[:, :3].astype(ml_dtypes.bfloat16)
    y = (drawn(4)[:3, 3:]).astype(ml_dtypes.bfloat16)
    answer = session.infer("pair", {"y": y, "x": x})
    assert answer["total"].tobytes() == (x + y).tobytes()
    assert answer["product"].tobytes() == (x * y).tobytes()
    assert answer["product"].dtype == ml_dtypes.bfloat16


def test_a_bundle_without_rows_takes_its_shapes_alone(session: Session) -> None:
    x = drawn(3)[:, :2]
    assert session.infer("total", {"x": x})["total"] == x.sum()
    with pytest.raises(RequestError, match=r"^x: needs the shape \(3, 2\), got \(4, 2\)$"):
        session.infer("total", {"x": drawn(4)[:, :2]})


def test_views_and_foreign_strides_are_read_as_they_are(session: Session) -> None:
    wide = np.repeat(drawn(10), 2, axis=1)
    answer = session.infer("mlp", {"x": wide[::2, ::2]})
    assert answer["scores"].tobytes() == truth(drawn(10)[::2]).tobytes()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "x: is missing; the model takes x"),
        ({"x": drawn(1), "z": 1}, "z: is no input; the model takes x"),
        ({"z": drawn(1)}, "x: is missing; the model takes x"),
        ({"x": drawn(1).astype(np.float64)}, "x: needs elements of float32, got float64"),
        ({"x": drawn(1).astype(">f4")}, "x: needs elements of float32, got >f4"),
        ({"x": [[object()] * FEATURES]}, "x: needs elements of float32, got object"),
        ({"x": [[1.0], [1.0, 2.0]]}, "x: needs an array, got list"),
        ({"x": np.float32(1)}, r"x: needs the shape (rows, 6), got ()"),
        ({"x": drawn(1)[0]}, r"x: needs the shape (rows, 6), got (6,)"),
        ({"x": drawn(2)[:, :5]}, r"x: needs the shape (rows, 6), got (2, 5)"),
        ({"x": drawn(0)}, "x: needs one row at least, got none"),
        ([drawn(1)], "inputs: needs names mapped to arrays, got list"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(
    session: Session, inputs: Any, message: str
) -> None:
    with pytest.raises(RequestError) as caught:
        session.infer("mlp", inputs)
    assert str(caught.value) == message
    assert caught.value.field == message.split(":")[0]
    assert caught.value.status == 400


def test_inputs_of_one_request_have_the_same_rows(session: Session) -> None:
    x = np.zeros((3, 3), ml_dtypes.bfloat16)
    with pytest.raises(RequestError, match=r"^y: needs as many rows as x has, which are 3, got 2$"):
        session.infer("pair", {"x": x, "y": x[:2]})


def test_too_many_rows_are_refused(session: Session) -> None:
    with pytest.raises(TooLargeError, match=r"^x: needs 40 rows at most, got 41$") as caught:
        session.infer("mlp", {"x": drawn(41)})
    assert caught.value.status == 413


@pytest.mark.parametrize("deadline", [0.0, -1.0, np.nan, np.inf])
def test_a_deadline_is_in_the_future(session: Session, deadline: float) -> None:
    with pytest.raises(RequestError, match=r"^deadline: needs seconds above zero"):
        session.infer("mlp", {"x": drawn(1)}, deadline=deadline)


@pytest.mark.parametrize("name", ["", "MLP", "../mlp", "mlp/../mlp", "mlp\0"])
def test_a_model_goes_by_its_exact_name(session: Session, name: str) -> None:
    with pytest.raises(UnknownModelError, match="there are mlp, pair, total") as caught:
        session.infer(name, {"x": drawn(1)})
    assert caught.value.status == 404


def test_a_status_tells_what_a_model_takes(session: Session) -> None:
    assert [model.name for model in session.models()] == ["mlp", "pair", "total"]
    status = session.model("mlp")
    assert (status.ready, status.reason, status.batched, status.rows) == (True, "", True, (1, 4, 8))
    (port,) = status.inputs
    assert (port.name, port.shape, port.dtype) == ("x", (FEATURES,), np.dtype(np.float32))
    assert [port.shape for port in session.model("total").inputs] == [(3, 2)]
    assert session.model("total").rows == ()


def test_many_threads_get_their_own_answers(session: Session) -> None:
    wrong = list[int]()

    def ask(seed: int) -> None:
        for rows in range(1, 12):
            x = drawn(rows) + np.float32(seed)
            if session.infer("mlp", {"x": x})["scores"].tobytes() != truth(x).tobytes():
                wrong.append(seed)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_foreign_loop_may_ask(session: Session) -> None:
    answer = asyncio.run(session.infer_async("mlp", {"x": drawn(2)}))
    assert answer["scores"].tobytes() == truth(drawn(2)).tobytes()


def test_a_loop_of_its_own_cannot_wait_for_itself(folder: Path) -> None:
    async def wait() -> None:
        async with Session(folder / "total", runtime="interpreter") as session:
            with pytest.raises(ArgumentError, match="await infer_async"):
                session.infer("total", {"x": drawn(3)[:, :2]})

    asyncio.run(wait())


def test_a_session_answers_only_while_it_is_open(folder: Path) -> None:
    session = Session(folder / "total", runtime="interpreter")
    with pytest.raises(DrainingError, match="the session is not open"):
        session.infer("total", {})
    with session, pytest.raises(ArgumentError, match="opens once"):
        session.open()
    session.close()
    with pytest.raises(DrainingError, match="the session is not open"):
        session.infer("total", {})


@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_a_refused_bundle_keeps_the_session_closed(
    tmp_path: Path, folder: Path, isolation: Any
) -> None:
    exported_mlp(tmp_path / "mlp", rows=(2,))
    module = next((tmp_path / "mlp").glob("*.mlir"))
    module.write_bytes(module.read_bytes() + b"\n")
    session = Session(
        [folder / "total", tmp_path / "mlp"],
        runtime="interpreter",
        settings=Settings(isolation=isolation),
    )
    with pytest.raises(BundleError, match=r"mlir"):
        session.open()
    assert session.models() == ()


def test_names_and_runtimes_are_checked(folder: Path) -> None:
    with pytest.raises(BundleError, match="got total twice"):
        Session([folder / "total"] * 2, runtime="interpreter").open()
    with pytest.raises(UnavailableError, match="no runtime is called 'abacus'"):
        Session(folder / "total", runtime="abacus").open()
    with pytest.raises(ArgumentError, match="one bundle or more"):
        Session([])
    with pytest.raises(ArgumentError, match=r"^options need numbers and texts, got \{'a': "):
        Session(folder / "total", options={"a": object()})
    with pytest.raises(BundleError, match=r"there is no .*nothing$"):
        Session(folder / "nothing").open()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("isolation", "fiber", "isolation needs thread or process, got 'fiber'"),
        ("max_delay", -0.1, "max_delay needs a number from zero on, got -0.1"),
        ("deadline", 0.0, "deadline needs a number above zero, got 0.0"),
        ("attempts", True, "attempts needs a number above zero, got True"),
        ("queue_bytes", "1", "queue_bytes needs a number above zero, got '1'"),
    ],
)
def test_settings_say_what_they_need(name: str, value: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Settings(**{name: value})
    assert str(caught.value) == message


def test_a_missing_package_is_named_where_a_session_is_wanted() -> None:
    code = """
import sys
sys.modules["msgspec"] = None
import topos.serving
assert topos.serving.Settings().isolation == "thread"
topos.serving.Session
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    needs = "a session needs msgspec: pip install 'topos-compiler[serve]'"
    assert done.stderr.splitlines()[-1] == f"topos.errors.UnavailableError: {needs}"
