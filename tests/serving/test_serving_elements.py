"""Elements of every integer width go through the server: images of bytes above all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import tritonclient.http as triton

from tests.bundle.bundled_modules import NAMES, WEIGHTS, WIDTHS, doubled, images, logits, widest
from tests.serving.serving_http import Server, running
from topos.bundle import export_module

DATATYPES = ("BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("elements")
    modules = [images(1), images(4)]
    export_module(folder / "images", modules, WEIGHTS, names=NAMES, batched=True)
    export_module(folder / "doubled", doubled(), samples=[widest()])
    with running([folder / "images", folder / "doubled"]) as server:
        yield server


def tensor(name: str, array: Any, datatype: str, binary: bool) -> Any:
    made = triton.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array, binary_data=binary)
    return made


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "json"])
def test_images_of_bytes_are_classified(server: Server, binary: bool) -> None:
    image = np.random.default_rng(2).integers(0, 256, (3, 8, 8), np.uint8)
    with triton.InferenceServerClient(server.url) as client:
        found = client.get_model_metadata("images")
        assert found["inputs"] == [{"name": "image", "datatype": "UINT8", "shape": [-1, 8, 8]}]
        result = client.infer("images", [tensor("image", image, "UINT8", binary)])
    np.testing.assert_allclose(result.as_numpy("logits"), logits(image), rtol=1e-5)


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "json"])
def test_every_width_comes_back_bit_for_bit(server: Server, binary: bool) -> None:
    given = widest()
    with triton.InferenceServerClient(server.url) as client:
        inputs = [
            tensor(f"x {name}", given[f"x {name}"], datatype, binary)
            for name, datatype in zip(WIDTHS, DATATYPES, strict=True)
        ]
        outputs = [triton.InferRequestedOutput(f"y {name}", binary) for name in WIDTHS]
        result = client.infer("doubled", inputs, outputs=outputs)
        for name in WIDTHS:
            own = given[f"x {name}"]
            assert result.as_numpy(f"y {name}").tobytes() == (own + own).tobytes()


def test_what_an_integer_does_not_hold_is_refused(server: Server) -> None:
    body = {"name": "image", "shape": [1, 8, 8], "datatype": "UINT8", "data": [256, *[0] * 63]}
    url = f"http://{server.url}/v2/models/images/infer"
    reply = httpx.post(url, json={"inputs": [body]})
    assert reply.status_code == 400
    assert "has a number that UINT8 does not have" in reply.json()["error"]


def test_the_page_has_an_example_of_images_to_draw(server: Server) -> None:
    found = httpx.get(f"http://{server.url}/example.json?model=images").json()
    (drawing,) = found["drawings"]
    assert (drawing["low"], drawing["high"], drawing["whole"]) == (0, 255, True)
    url = f"http://{server.url}/v2/models/images/infer"
    (output,) = httpx.post(url, content=found["body"]).json()["outputs"]
    np.testing.assert_allclose(output["data"], found["results"][0]["data"], rtol=1e-5)
