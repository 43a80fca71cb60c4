"""StableHLO modules that the tests export, written by hand."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

# Of a bundle's arguments and results, by the names in StableHLO.
WIDTHS: Final = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
}

IMAGES: Final = """
func.func public @main(%w: tensor<64x3xf32>, %b: tensor<3xf32>, %image: tensor<ROWSx8x8xui8>)
    -> tensor<ROWSx3xf32> {
  %largest = stablehlo.constant dense<255.0> : tensor<ROWSx64xf32>
  %pixels = stablehlo.convert %image : (tensor<ROWSx8x8xui8>) -> tensor<ROWSx8x8xf32>
  %rows = stablehlo.reshape %pixels : (tensor<ROWSx8x8xf32>) -> tensor<ROWSx64xf32>
  %shares = stablehlo.divide %rows, %largest : tensor<ROWSx64xf32>
  %product = stablehlo.dot_general %shares, %w, contracting_dims = [1] x [0]
      : (tensor<ROWSx64xf32>, tensor<64x3xf32>) -> tensor<ROWSx3xf32>
  %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf32>) -> tensor<ROWSx3xf32>
  %logits = stablehlo.add %product, %bias : tensor<ROWSx3xf32>
  return %logits : tensor<ROWSx3xf32>
}
"""
NAMES: Final = ("w", "b", "image", "logits")
WEIGHTS: Final[dict[str, npt.NDArray[Any]]] = {
    "w": np.random.default_rng(1).standard_normal((64, 3)).astype(np.float32),
    "b": np.array([0.5, -1.0, 2.0], np.float32),
}


def images(rows: int = 2) -> str:
    """Returns a layer over images of bytes, whose arguments and results are called `NAMES`."""
    return IMAGES.replace("ROWS", str(rows))


def logits(image: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Returns what numpy makes of images."""
    pixels = image.reshape(len(image), -1).astype(np.float32) / np.float32(255)
    result: npt.NDArray[Any] = pixels @ WEIGHTS["w"] + WEIGHTS["b"]
    return result


def doubled() -> str:
    """Returns a module that takes and returns every width, `x` of it twice as large as `y`."""
    types = [f"tensor<2x3x{name}>" for name in WIDTHS]
    arguments = [
        f'%{name}: {type} loc("x {name}")' for name, type in zip(WIDTHS, types, strict=True)
    ]
    results = [
        f'{type} {{topos.name = "y {name}"}}' for name, type in zip(WIDTHS, types, strict=True)
    ]
    lines = [
        f"%y{name} = stablehlo.add %{name}, %{name} : {type}"
        for name, type in zip(WIDTHS, types, strict=True)
    ]
    ends = f"return {', '.join(f'%y{name}' for name in WIDTHS)} : {', '.join(types)}"
    head = f"func.func public @main({', '.join(arguments)}) -> ({', '.join(results)})"
    return "\n".join([f"{head} {{", *lines, ends, "}"])


def widest() -> dict[str, npt.NDArray[Any]]:
    """Returns inputs of `doubled`, with the ends of every range among them."""
    found: dict[str, npt.NDArray[Any]] = {}
    for name, dtype in WIDTHS.items():
        least, most = (0, 1) if name == "i1" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        found[f"x {name}"] = np.array([[least, most, 0], [1, 1, most]], dtype)
    return found
