"""The status page over HTTP: its document, its policy, its status and its examples."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.serving.serving_page import (
    HEIGHT,
    WIDTH,
    exported_images,
    exported_markup,
    served,
    truth,
)
from topos import Tape
from topos.bundle import export
from topos.serving.http.page import page

TOKEN = "letmein.1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles")
    exported_images(path / "images")
    exported_markup(path / "markup")
    tape = Tape()
    total = tape.input(np.zeros((20000,), np.float32), name="x").sum().named("total")
    export(path / "long", tape.into_network().entry([total.symbol]).lower(), name="long")
    tape = Tape()
    factor = tape.input(np.float32(0), name="factor")
    scaled = tape.input(np.zeros(3, np.float32), name="terms").sum() * factor
    root = scaled.named("scaled").symbol
    export(path / "scalar", tape.into_network().entry([root]).lower(), name="scalar")
    return path


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[httpx.Client]:
    paths = [folder / name for name in ("images", "markup", "long", "scalar")]
    with served(paths) as address, httpx.Client(base_url=address) as client:
        yield client


def test_the_policy_allows_the_own_script_and_style_and_nothing_else(client: httpx.Client) -> None:
    response = client.get("/")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(
        part.strip().split(" ", 1)
        for part in response.headers["content-security-policy"].split(";")
    )
    for directive, tag in (("script-src", "script"), ("style-src", "style")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", response.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert policy[directive] == f"'sha256-{digest}'"
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"


def test_the_document_names_no_other_place() -> None:
    text = page().content.decode()
    addresses = set(re.findall(r"""(?:https?:)?//[a-z][^\s"'`)]*""", text))
    # The namespaces of SVG are names, not places.
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert (
        re.findall(r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval)\b", text)
        == []
    )


def test_the_document_is_sent_once(client: httpx.Client) -> None:
    tag = client.get("/").headers["etag"]
    again = client.get("/", headers={"If-None-Match": tag})
    assert again.status_code == 304
    assert again.content == b""
    assert client.get("/", headers={"If-None-Match": '"other"'}).status_code == 200


def test_the_status_tells_of_each_model(client: httpx.Client) -> None:
    models = {each["name"]: each for each in client.get("/status.json").json()["models"]}
    assert list(models) == ["images", "markup", "long", "scalar"]
    images = models["images"]
    assert images["ready"] is True
    assert images["runtime"] == "interpreter"
    assert images["rows"] == [1, 4]
    assert images["weights"] == HEIGHT * WIDTH * 3 * 4
    assert images["inputs"] == [
        {"name": "images", "datatype": "FP32", "shape": [-1, 1, HEIGHT, WIDTH]}
    ]
    assert images["results"] == [{"name": "scores", "datatype": "FP32", "shape": [-1, 3]}]
    assert models["long"]["inputs"][0]["shape"] == [20000]


def test_the_status_counts_and_times_what_was_asked(client: httpx.Client) -> None:
    before = client.get("/status.json").json()
    body = client.get("/example.json", params={"model": "images"}).json()["body"]
    for _ in range(3):
        assert client.post("/v2/models/images/infer", content=body).status_code == 200
    after = client.get("/status.json").json()

    def answered(status: dict[str, dict[str, dict[str, dict[str, list[list[int]]]]]]) -> int:
        series = status["timeline"]["models"].get("images")
        return sum(slot[0] for slot in series["slots"]) if series else 0

    assert answered(after) == answered(before) + 3
    assert sum(after["timeline"]["all"]["histogram"]) >= 3
    assert after["timeline"]["models"]["images"]["percentiles"][0] > 0
    own = next(each for each in after["models"] if each["name"] == "images")
    assert own["counters"]["outcomes"]["ok"] == answered(after)


def test_an_example_sent_as_it_is_gets_the_oracles_answer(client: httpx.Client) -> None:
    bodies = set()
    count = client.get("/example.json", params={"model": "images"}).json()["count"]
    # The sample has six images, and the program of four rows takes some of them twice.
    assert count == 6
    for number in range(count):
        parameters: dict[str, str | int] = {"model": "images", "number": number}
        example = client.get("/example.json", params=parameters).json()
        answer = client.post("/v2/models/images/infer", content=example["body"]).json()
        (expected,) = example["results"]
        (output,) = answer["outputs"]
        assert output["data"] == expected["data"]
        assert output["shape"] == expected["shape"] == [1, 3]
        assert 0 < expected["allowed"] < 1e-2
        bodies.add(example["body"])
    assert len(bodies) == count


def test_an_example_is_the_row_of_the_sample(client: httpx.Client) -> None:
    parameters: dict[str, str | int] = {"model": "images", "number": 2}
    example = client.get("/example.json", params=parameters).json()
    image = (np.arange(6 * HEIGHT * WIDTH, dtype=np.float32) % 17).reshape(6, HEIGHT, WIDTH)[2]
    lines = "".join(
        f"      {', '.join(str(float(number)) for number in line)},\n" for line in image
    )
    assert lines[:-2] in example["body"]
    assert example["results"][0]["data"] == truth(image[None]).ravel().tolist()
    drawing = {"name": "images", "rows": HEIGHT, "columns": WIDTH, "low": 0.0, "high": 16.0}
    assert example["drawings"] == [{**drawing, "whole": True}]


def test_an_example_of_rank_zero_is_the_whole_call(client: httpx.Client) -> None:
    response = client.get("/example.json", params={"model": "scalar"})
    assert response.status_code == 200
    example = response.json()
    shapes = {each["name"]: each["shape"] for each in json.loads(example["body"])["inputs"]}
    assert shapes == {"factor": [], "terms": [3]}
    assert example["count"] == 2
    answer = client.post("/v2/models/scalar/infer", content=example["body"]).json()
    (output,), (expected,) = answer["outputs"], example["results"]
    assert output["shape"] == expected["shape"] == []
    assert output["data"] == pytest.approx(expected["data"], abs=expected["allowed"])


def test_an_example_keeps_integers_that_no_double_holds(client: httpx.Client) -> None:
    example = client.get("/example.json", params={"model": "markup"}).json()
    assert f'"data": [1, 2, {2**53 + 1}]' in example["body"]
    assert example["drawings"] == []
    answer = client.post("/v2/models/markup/infer", content=example["body"]).json()
    assert answer["outputs"][1]["data"] == [2, 4, 2 * (2**53 + 1)]


def test_a_long_input_has_no_form(client: httpx.Client) -> None:
    example = client.get("/example.json", params={"model": "long"}).json()
    assert example["body"] == ""
    assert example["note"] == "a request has 20,000 numbers, too many for a form"


@pytest.mark.parametrize(
    ("parameters", "status", "told"),
    [
        (
            {"model": "images", "number": "6"},
            400,
            "number: needs one of 6 examples, from 0 on, got 6",
        ),
        (
            {"model": "images", "number": "-1"},
            400,
            "number: needs a whole number from 0 on, got '-1'",
        ),
        (
            {"model": "images", "number": "9" * 99},
            400,
            "number: needs a whole number from 0 on, got",
        ),
        ({"model": "../images"}, 404, "no model is called '../images'"),
        ({}, 404, "no model is called ''"),
    ],
)
def test_an_example_that_is_none_is_refused(
    client: httpx.Client, parameters: dict[str, str], status: int, told: str
) -> None:
    response = client.get("/example.json", params=parameters)
    assert response.status_code == status
    assert told in response.json()["error"]


def test_the_document_needs_no_token_and_everything_that_it_asks_for_does(folder: Path) -> None:
    with served([folder / "images"], TOKEN) as address, httpx.Client(base_url=address) as client:
        # What everyone may see is the same for every server.
        assert client.get("/").content == page().content
        for path in ("/status.json", "/example.json?model=images"):
            assert client.get(path).status_code == 401
            headers = {"Authorization": f"Bearer {TOKEN}"}
            assert client.get(path, headers=headers).status_code == 200


def test_an_example_follows_a_reload(tmp_path: Path) -> None:
    exported_images(tmp_path / "images")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with (
        served([tmp_path / "images"], TOKEN) as address,
        httpx.Client(base_url=address, headers=headers) as client,
    ):
        before = client.get("/example.json?model=images").json()
        bundle = exported_images(tmp_path / "images", scale=3)
        assert client.post("/v2/repository/models/images/load").status_code == 200
        after = client.get("/example.json?model=images").json()
        assert after["version"] == bundle.version != before["version"]
        assert after["body"] == before["body"]
        scores = [3 * number for number in before["results"][0]["data"]]
        assert after["results"][0]["data"] == scores


def test_an_example_of_a_folder_that_changed_says_so(tmp_path: Path) -> None:
    exported_images(tmp_path / "images")
    with (
        served([tmp_path / "images"]) as address,
        httpx.Client(base_url=address) as client,
    ):
        (tmp_path / "images" / "manifest.json").unlink()
        example = client.get("/example.json", params={"model": "images"}).json()
        assert example["body"] == ""
        assert "no folder has that now" in example["note"]
        assert client.get("/status.json").json()["models"][0]["weights"] is None
