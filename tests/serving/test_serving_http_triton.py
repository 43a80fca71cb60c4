"""Public clients: what `tritonclient` sends is understood, and what it gets is right."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import tritonclient.http as triton

from tests.serving.serving_bundles import exported_mlp, exported_pair, exported_total, truth
from tests.serving.serving_http import Server, running
from topos import bf16, f32

TOKEN = "correct-horse"
ROWS = (np.arange(30, dtype=np.float32).reshape(5, 6) - 11) / 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("triton")
    exported_mlp(folder / "mlp", rows=(1, 4))
    exported_pair(folder / "pair")
    exported_total(folder / "total")
    exported_pair(folder / "singles", f32, "singles")
    bundles = [folder / name for name in ("mlp", "pair", "total", "singles")]
    with running(bundles, token=TOKEN) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Any]:
    with triton.InferenceServerClient(server.url) as client:
        client.register_plugin(_Bearer())
        yield client


class _Bearer(triton.InferenceServerClientPlugin):  # type: ignore[misc]  # An untyped package.
    def __call__(self, request: Any) -> None:
        request.headers = {**(request.headers or {}), "Authorization": f"Bearer {TOKEN}"}


def tensor(name: str, array: Any, datatype: str, binary: bool = True) -> Any:
    made = triton.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array, binary_data=binary)
    return made


def test_health_and_metadata(client: Any) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("mlp")
    assert not client.is_model_ready("other")
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    found = client.get_model_metadata("mlp")
    assert found["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 6]}]
    assert found["outputs"] == [{"name": "scores", "datatype": "FP32", "shape": [-1, 3]}]
    assert client.get_model_metadata("mlp", found["versions"][0]) == found
    assert client.get_model_metadata("total")["inputs"][0]["shape"] == [3, 2]


def test_configuration_and_index(client: Any) -> None:
    found = client.get_model_config("mlp")
    assert found["max_batch_size"] == 4096
    assert found["input"] == [{"name": "x", "data_type": "TYPE_FP32", "dims": [6]}]
    assert client.get_model_config("total")["max_batch_size"] == 0
    index = client.get_model_repository_index()
    assert [(each["name"], each["state"]) for each in index] == [
        ("mlp", "READY"),
        ("pair", "READY"),
        ("total", "READY"),
        ("singles", "READY"),
    ]


@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize("got", [True, False, None])
def test_an_inference_in_each_form(client: Any, sent: bool, got: bool | None) -> None:
    outputs = None if got is None else [triton.InferRequestedOutput("scores", binary_data=got)]
    inputs = [tensor("x", ROWS, "FP32", sent)]
    answer = client.infer("mlp", inputs, outputs=outputs, request_id="mine")
    assert answer.as_numpy("scores").tobytes() == truth(ROWS).tobytes()
    assert answer.get_response()["id"] == "mine"
    assert ("parameters" in answer.get_output("scores")) is (got is not False)


def test_numbers_that_json_lacks_go_both_ways(client: Any, server: Server, tmp_path: Path) -> None:
    nan, infinity = float("nan"), float("inf")
    x = np.array([[[nan, 1, 2], [infinity, -infinity, -0.0]]], np.float32).reshape(2, 3)
    y = np.ones((2, 3), np.float32)
    outputs = [triton.InferRequestedOutput("product", binary_data=False)]
    inputs = [tensor(name, array, "FP32", False) for name, array in (("x", x), ("y", y))]
    answer = client.infer("singles", inputs, outputs=outputs)
    assert answer.as_numpy("product").tobytes() == x.tobytes()
    # What httpx refuses to write, the json of Python does, and other clients of it.
    texts = [
        {"name": name, "shape": [2, 3], "datatype": "FP32", "data": array.tolist()}
        for name, array in (("x", x), ("y", y))
    ]
    text = json.dumps({"inputs": texts, "outputs": [{"name": "product"}], "id": None})
    assert "[[NaN, 1.0" in text
    url, headers = (
        f"http://{server.url}/v2/models/singles/infer",
        {"Authorization": f"Bearer {TOKEN}"},
    )
    posted = httpx.post(url, content=text, headers=headers).json()
    curl = ["curl", "-s", "-H", f"Authorization: Bearer {TOKEN}", url, "-d", "@-"]
    curled = subprocess.run(curl, input=text, capture_output=True, text=True, check=True)
    for found in (posted, json.loads(curled.stdout)):
        (output,) = found["outputs"]
        assert output["data"] == ["NaN", 1, 2, "Infinity", "-Infinity", 0]
        assert np.array(output["data"], np.float32).reshape(2, 3).tobytes() == x.tobytes()


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_compression_both_ways(client: Any, coding: str) -> None:
    answer = client.infer(
        "mlp",
        [tensor("x", ROWS, "FP32")],
        request_compression_algorithm=coding,
        response_compression_algorithm=coding,
    )
    assert answer.as_numpy("scores").tobytes() == truth(ROWS).tobytes()


def test_two_inputs_and_outputs_of_bfloat16(client: Any) -> None:
    x = np.array([[1, 2, 3], [0.5, -4, 8], [0, 1, 2]], bf16.dtype)
    inputs = [tensor("y", x[::-1].copy(), "BF16"), tensor("x", x, "BF16")]
    answer = client.infer("pair", inputs)
    assert answer.as_numpy("product").tobytes() == (x * x[::-1]).tobytes()
    assert answer.as_numpy("total").tobytes() == (x + x[::-1]).tobytes()


@pytest.mark.parametrize("names", [["total", "product"], ["product", "total"], ["product"]])
def test_outputs_come_in_the_order_asked_for(client: Any, names: list[str]) -> None:
    x = np.array([[1, 2, 3]], bf16.dtype)
    inputs = [tensor("x", x, "BF16"), tensor("y", x, "BF16")]
    answer = client.infer("pair", inputs, outputs=[triton.InferRequestedOutput(n) for n in names])
    assert [each["name"] for each in answer.get_response()["outputs"]] == names
    truths = {"total": x + x, "product": x * x}
    assert all(answer.as_numpy(name).tobytes() == truths[name].tobytes() for name in names)


def test_a_model_without_rows(client: Any) -> None:
    answer = client.infer("total", [tensor("x", np.ones((3, 2), np.float32), "FP32", False)])
    assert answer.as_numpy("total").shape == ()
    assert answer.as_numpy("total") == 6


def test_many_requests_at_once(client: Any) -> None:
    pending = [
        client.async_infer("mlp", [tensor("x", ROWS[row : row + 1], "FP32")]) for row in range(5)
    ]
    for row, each in enumerate(pending):
        scores = each.get_result().as_numpy("scores")
        assert scores.tobytes() == truth(ROWS[row : row + 1]).tobytes()


def test_statistics_count_rows_and_calls(client: Any) -> None:
    (before,) = client.get_inference_statistics("pair")["model_stats"]
    x = np.ones((2, 3), bf16.dtype)
    client.infer("pair", [tensor("x", x, "BF16"), tensor("y", x, "BF16")])
    (after,) = client.get_inference_statistics("pair")["model_stats"]
    assert after["inference_count"] == before["inference_count"] + 2
    assert after["execution_count"] == before["execution_count"] + 1
    assert (
        after["inference_stats"]["success"]["count"]
        == 1 + (before["inference_stats"]["success"]["count"])
    )
    assert after["last_inference"] > 0
    assert len(client.get_inference_statistics()["model_stats"]) == 4


def test_a_model_is_loaded_again(client: Any, server: Server) -> None:
    client.load_model("mlp")
    answer = client.infer("mlp", [tensor("x", ROWS, "FP32")])
    assert answer.as_numpy("scores").tobytes() == truth(ROWS).tobytes()


@pytest.mark.parametrize(
    ("call", "status", "reason"),
    [
        (lambda it: it.load_model("other"), "404", "no model is called 'other'"),
        (lambda it: it.load_model("mlp", config="{}"), "400", "parameters.config: a model is"),
        (lambda it: it.unload_model("mlp"), "403", "unload: "),
        (lambda it: it.get_model_metadata("mlp", "7"), "404", "version: mlp has version"),
        (lambda it: it.infer("mlp", [tensor("x", ROWS[0], "FP32")]), "400", "inputs[0].shape: "),
        (lambda it: it.infer("mlp", [tensor("k", ROWS, "FP32")]), "400", "inputs[0].name: "),
        (
            lambda it: it.infer("mlp", [tensor("x", ROWS.astype(np.float64), "FP64")]),
            "400",
            "inputs[0].datatype: ",
        ),
        (
            lambda it: it.infer(
                "mlp", [tensor("x", ROWS, "FP32")], outputs=[triton.InferRequestedOutput("k")]
            ),
            "400",
            "outputs[0].name: ",
        ),
        (lambda it: it.get_trace_settings(), "404", "path: "),
    ],
)
def test_refusals_reach_the_client(client: Any, call: Any, status: str, reason: str) -> None:
    with pytest.raises(triton.InferenceServerException) as caught:
        call(client)
    assert caught.value.status() == status
    assert caught.value.message().startswith(reason)


def test_without_the_token_nothing_but_health_is_told(server: Server, tmp_path: Path) -> None:
    with triton.InferenceServerClient(server.url) as stranger:
        assert stranger.is_server_live()
        assert stranger.is_server_ready()
        for call in (
            stranger.get_server_metadata,
            stranger.get_model_repository_index,
            lambda: stranger.load_model("mlp"),
            lambda: stranger.infer("mlp", [tensor("x", ROWS, "FP32")]),
        ):
            with pytest.raises(triton.InferenceServerException, match=r"^\[401\] Authorization: "):
                call()
