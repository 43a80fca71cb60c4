"""The rival of the server: what a person would write around jax.jit with starlette, served alike.

The handler takes JSON apart with starlette's own means, makes an array of it, calls the classifier
of digits under jax.jit with its weights on the device, and answers JSON. The requests and answers
have the form of the protocol, so that the same clients ask both.
"""

from __future__ import annotations

import socket
import sys
from typing import Any, Final

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from topos.bundle import Bundle

Array = Any

EPSILON: Final = 1e-5
BLOCKS: Final = ((0, 1), (1, 0))


def classifier(weights: dict[str, Array]) -> Any:
    """Returns the classifier as a function under jax.jit, `[rows, 1, 8, 8]` to `[rows, 10]`."""
    import jax

    held = {name: jax.device_put(value) for name, value in weights.items()}

    def scores(parameters: dict[str, Array], images: Array) -> Array:
        value = images
        for place, padding in BLOCKS:
            value = block(parameters, place, padding, value)
        window = (1, 1, 2, 2)
        value = jax.lax.reduce_window(value, -np.inf, jax.lax.max, window, window, "VALID")
        flat = value.reshape(len(value), -1)
        return flat @ parameters["scores.weights"] + parameters["scores.bias"]

    def block(parameters: dict[str, Array], place: int, padding: int, value: Array) -> Array:
        name = f"blocks.{place}"
        pads = [(padding, padding)] * 2
        kernels = parameters[f"{name}.convolution.weights"]
        value = jax.lax.conv_general_dilated(value, kernels, (1, 1), pads)
        deviation = jax.numpy.sqrt(parameters[f"variance {place}"] + EPSILON)
        value = (value - filters(parameters[f"mean {place}"])) / filters(deviation)
        value = value * filters(parameters[f"{name}.norm.scale"])
        return jax.numpy.maximum(value + filters(parameters[f"{name}.norm.shift"]), 0)

    def filters(each: Array) -> Array:
        return each[:, None, None]

    function = jax.jit(scores)
    return lambda images: np.asarray(function(held, images))


def application(bundle: Bundle) -> Starlette:
    """Returns the application, its function compiled for the rows of the bundle."""
    call = classifier(bundle.weights())
    for program in bundle.programs:
        call(program.sample()[0].inputs["images"])

    async def infer(request: Request) -> JSONResponse:
        asked = (await request.json())["inputs"][0]
        images = np.array(asked["data"], np.float32).reshape(asked["shape"])
        scores = call(images)
        output = {
            "name": "scores",
            "datatype": "FP32",
            "shape": list(scores.shape),
            "data": scores.ravel().tolist(),
        }
        return JSONResponse({"outputs": [output]})

    return Starlette(routes=[Route("/infer", infer, methods=["POST"])])


def main() -> None:
    """Serves the bundle until it is told to end."""
    app = application(Bundle.load(sys.argv[1]))
    config = uvicorn.Config(
        app,
        http="httptools",
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
    )
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"serves at http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    main()
