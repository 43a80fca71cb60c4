"""Documents: what the protocol and Triton's extensions tell of a server and its models."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from topos.serving.counters import Counters
from topos.serving.http.numbers import datatype
from topos.serving.status import ModelPort, ModelStatus

_EXTENSIONS = ("binary_tensor_data", "model_configuration", "model_repository", "statistics")


@cache
def package_version() -> str:
    """Returns the version of the package; a folder that was never installed has none."""
    try:
        return version("topos-compiler")
    except PackageNotFoundError:
        return "unknown"


def server_metadata() -> dict[str, Any]:
    """Returns the server's metadata."""
    return {"name": "topos", "version": package_version(), "extensions": _EXTENSIONS}


def metadata(model: ModelStatus) -> dict[str, Any]:
    """Returns a model's metadata; an extent of -1 is that of the rows."""
    return {
        "name": model.name,
        "versions": [model.version],
        "platform": f"topos_{model.runtime}",
        "inputs": [port_metadata(port, model.batched) for port in model.inputs],
        "outputs": [port_metadata(port, model.batched) for port in model.results],
    }


def port_metadata(port: ModelPort, batched: bool) -> dict[str, Any]:
    """Returns what a model's metadata tell of an input or an output."""
    shape = [-1, *port.shape] if batched else list(port.shape)
    return {"name": port.name, "datatype": datatype(port.dtype), "shape": shape}


def configuration(model: ModelStatus, rows: int) -> dict[str, Any]:
    """Returns a model's configuration in the form of Triton's `ModelConfig`.

    `rows` is the most that a request may have; a model without rows has a batch size of zero.
    """
    answer: dict[str, Any] = {
        "name": model.name,
        "platform": f"topos_{model.runtime}",
        "backend": "topos",
        "version_policy": {"latest": {"num_versions": 1}},
        "max_batch_size": rows if model.batched else 0,
        "input": [_configured(port) for port in model.inputs],
        "output": [_configured(port) for port in model.results],
    }
    if model.batched:
        answer["dynamic_batching"] = {"preferred_batch_size": list(model.rows)}
    return answer


def _configured(port: ModelPort) -> dict[str, Any]:
    name = f"TYPE_{datatype(port.dtype)}"
    return {"name": port.name, "data_type": name, "dims": list(port.shape)}


def index(models: Iterable[ModelStatus], ready_only: bool) -> list[dict[str, str]]:
    """Returns the index of the repository, which is what the server was started with."""
    return [
        {
            "name": model.name,
            "version": model.version,
            "state": "READY" if model.ready else "UNAVAILABLE",
            "reason": model.reason,
        }
        for model in models
        if model.ready or not ready_only
    ]


def statistics(model: ModelStatus, counters: Counters, last_call: float) -> dict[str, Any]:
    """Returns a model's statistics since the start; an inference is a row, an execution a call.

    The time of a request is part of `success` whether it failed or not, and the queue's time is
    part of it too; `last_call` is in seconds since 1970, zero before the first. What is not
    measured is left out.
    """
    succeeded = counters.outcomes.get("ok", 0)
    failed = sum(counters.outcomes.values()) - succeeded
    calls = sum(counters.calls.values())
    known = {"last_inference": int(last_call * 1e3)} if last_call else {}
    return {
        "name": model.name,
        "version": model.version,
        **known,
        "inference_count": counters.rows,
        "execution_count": calls,
        "inference_stats": {
            "success": _duration(succeeded, counters.request_seconds),
            "fail": {"count": failed},
            "compute_infer": _duration(calls, counters.call_seconds),
        },
        "batch_stats": [
            {"batch_size": rows, "compute_infer": {"count": count}}
            for rows, count in sorted(counters.calls.items())
        ],
    }


def _duration(count: int, seconds: float) -> dict[str, int]:
    return {"count": count, "ns": int(seconds * 1e9)}
