"""Windows: their maxima, their product with weights, and the gradient of those, as operations.

The last two are convolutions. Each sums in the order of the recorded product: the features of the
convolution, slowest, and then the places of its window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from topos.emit.lowering.layout import sliced
from topos.emit.lowering.reduction import lowest
from topos.emit.text import integers, number, shape_text, tensor_type
from topos.emit.writer import Site, Ssa, functional
from topos.engine.catalog.reduce_window import ReduceWindow
from topos.engine.catalog.window_product import WindowProduct
from topos.engine.catalog.window_product_gradient import WeightsGradient
from topos.engine.catalog.windows import Patches
from topos.payload import DIFFERENTIABLE, Shape, TensorType, f32


def maxima_refusal(form: ReduceWindow, types: Sequence[TensorType]) -> str:
    """Returns why truth values have no maxima here."""
    return "reduce_window needs numbers" if types[0].element.dtype.kind == "b" else ""


def maxima(form: ReduceWindow, site: Site) -> Ssa:
    """Writes the maxima, from the number that every other exceeds or equals."""
    (source,) = site.operands
    element = site.type.element
    start = site.constant(number(lowest(element)), TensorType((), element))
    sizes, steps = ([1] * len(source.type.shape) for _ in range(2))
    for axis, size, step in zip(form.axes, form.sizes, form.steps, strict=True):
        sizes[axis], steps[axis] = size, step
    scalar = tensor_type(TensorType((), element))
    value = Ssa(site.fresh(), site.type)
    left, right, larger = site.fresh(), site.fresh(), site.fresh()
    # One line, for a location belongs to the operation and to no part of its region.
    site.lines.append(
        f'{value.name} = "stablehlo.reduce_window"({source.name}, {start.name})'
        f" <{{window_dimensions = {shape_text(tuple(sizes))},"
        f" window_strides = {shape_text(tuple(steps))}}}> ({{\n"
        f"    ^bb0({left}: {scalar}, {right}: {scalar}):\n"
        f"      {larger} = stablehlo.maximum {left}, {right} : {scalar}\n"
        f"      stablehlo.return {larger} : {scalar}\n"
        f"    }}) : {functional((source, start), site.type)}"
    )
    return value


def product_refusal(form: WindowProduct, types: Sequence[TensorType]) -> str:
    """Returns why operands that are not floating have no convolution."""
    element = types[0].element
    return "" if element in DIFFERENTIABLE else f"convolution needs floats, got {element}"


def product(form: WindowProduct, site: Site) -> Ssa:
    """Writes the product, laid out as recorded, and the bias."""
    patches = form.patches
    source, weights = map(site.widened, site.operands[:2])
    channels = source.type.shape[patches.channel]
    kernel_shape = (channels, *patches.sizes)
    lanes = ["i", *_numbered(patches)]
    if form.output_first:
        kernel = _reshaped(site, weights, (form.features, *kernel_shape))
        letters = ["o", *lanes]
    else:
        kernel = _reshaped(site, weights, (*kernel_shape, form.features))
        letters = [*lanes, "o"]
    images = source.type.shape[patches.batch]
    extents = (images, form.features, *patches.counts)
    names = ["b", "f", *_numbered(patches)]
    maps = _convolution(
        site,
        (source, kernel),
        (_placed(patches, "b", "f"), letters, [names[axis] for axis in form.order]),
        f"stride = {integers(patches.steps)}, pad = {_pad(patches.low, patches.high, patches)}",
        tuple(extents[axis] for axis in form.order),
    )
    laid = _reshaped(site, site.convert(maps, site.type.element), site.type.shape)
    if not form.has_bias:
        return laid
    feature = form.order.index(1)
    if form.is_flat:
        feature = 1 if feature else 0
    spread = site.broadcast(site.operands[2], [feature], site.type.shape)
    return site.elementwise("stablehlo.add", laid, spread)


def gradient_refusal(form: WeightsGradient, types: Sequence[TensorType]) -> str:
    """Returns why operands that are empty, not floating, or read nowhere have no convolution."""
    if any(0 in type.shape for type in types):
        return "convolution needs operands that are not empty"
    shape, spatial = types[0].shape, form.patches.spatial
    pairs = zip(spatial, _beyond(form, shape), strict=True)
    is_read = all(shape[axis] + beyond > 0 for axis, beyond in pairs)
    if not is_read:
        return "the windows read nothing of an axis"
    element = types[0].element
    return "" if element in DIFFERENTIABLE else f"convolution needs floats, got {element}"


def weights_gradient(form: WeightsGradient, site: Site) -> Ssa:
    """Writes the patches, turned, by the cotangents: images are features, and channels a batch."""
    patches = form.patches
    source, cotangents = map(site.widened, site.operands)
    shape = source.type.shape
    rows = ["i", *_numbered(patches)]
    letters = ["o", *rows] if form.output_first else [*rows, "o"]
    kernel = cotangents
    if form.axes is None:
        laid = (shape[patches.batch], *patches.counts)
        features = math.prod(cotangents.type.shape) // math.prod(laid)
        kernel_shape = (features, *laid) if form.output_first else (*laid, features)
        kernel = _reshaped(site, cotangents, kernel_shape)
    else:
        # Axis i of what becomes the matrix is axis `axes[i]` of the cotangents.
        letters = [letters[form.axes.index(axis)] for axis in range(len(letters))]
    features = kernel.type.shape[letters.index("o")]
    extents = (shape[patches.channel], *patches.sizes)
    names = ["b", *_numbered(patches)]
    high, ranges = [0] * len(shape), [(0, extent, 1) for extent in shape]
    for axis, beyond in zip(patches.spatial, _beyond(form, shape), strict=True):
        high[axis] = max(beyond, 0)
        ranges[axis] = (0, shape[axis] + min(beyond, 0), 1)
    if min(_beyond(form, shape)) < 0:
        # What no window reads would be padding below zero.
        source = sliced(site, source, ranges)
    result = _convolution(
        site,
        (source, kernel),
        (
            _placed(patches, "f", "b"),
            letters,
            ["f", *names] if form.output_first else [*names, "f"],
        ),
        f"pad = {_pad(patches.low, high, patches)}, rhs_dilate = {integers(patches.steps)}",
        (features, *extents) if form.output_first else (*extents, features),
    )
    return _reshaped(site, site.convert(result, site.type.element), site.type.shape)


def _beyond(form: WeightsGradient, shape: Shape) -> list[int]:
    """Returns the zeros after the source that give a kernel of cotangents the sizes' places.

    They are below zero where the last elements of the source are in no window.
    """
    patches = form.patches
    return [
        (count - 1) * step + size - shape[axis] - patches.low[axis]
        for axis, count, step, size in zip(
            patches.spatial, patches.counts, patches.steps, patches.sizes, strict=True
        )
    ]


def _convolution(
    site: Site,
    operands: tuple[Ssa, Ssa],
    letters: tuple[Sequence[str], Sequence[str], Sequence[str]],
    window: str,
    shape: Shape,
) -> Ssa:
    source, kernel = operands
    first, second, third = (f"[{', '.join(row)}]" for row in letters)
    attributes = "batch_group_count = 1 : i64, feature_group_count = 1 : i64"
    if site.exact and source.type.element is f32:
        # A runtime may otherwise round the operands of an f32 product to fewer bits.
        highest = "#stablehlo<precision HIGHEST>"
        attributes += f", precision_config = [{highest}, {highest}]"
    type = TensorType(shape, source.type.element)
    return site.write(
        f"stablehlo.convolution({source.name}, {kernel.name})"
        f" dim_numbers = {first}x{second}->{third}, window = {{{window}}} {{{attributes}}}",
        functional(operands, type),
        type,
    )


def _reshaped(site: Site, value: Ssa, shape: Shape) -> Ssa:
    if value.type.shape == shape:
        return value
    return site.apply("stablehlo.reshape", (value,), TensorType(shape, value.type.element))


def _placed(patches: Patches, batch: str, channel: str) -> list[str]:
    """Returns a letter for each axis of the source."""
    names: Mapping[int, str] = {
        patches.batch: batch,
        patches.channel: channel,
        **dict(zip(patches.spatial, _numbered(patches), strict=True)),
    }
    return [names[axis] for axis in range(len(names))]


def _numbered(patches: Patches) -> list[str]:
    return [str(place) for place in range(len(patches.spatial))]


def _pad(low: Sequence[int], high: Sequence[int], patches: Patches) -> str:
    pairs = (integers([low[axis], high[axis]]) for axis in patches.spatial)
    return f"[{', '.join(pairs)}]"
