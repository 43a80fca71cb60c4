"""Shardings held to their mesh and to the value that they are of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from topos.errors import VerifyError
from topos.stablehlo.ir import Opaque, Operation, TupleType, Type, Unranked
from topos.stablehlo.meshes import Axis, Mesh, Sharding, mesh_of, sharding_of, shardings_of

# The attribute that says how the value of an argument, or those of an operation, are divided.
KEY = "sdy.sharding"


def meshes_of(others: Iterable[Operation]) -> dict[str, Mesh]:
    """Returns the meshes beside the functions of a module by their names.

    Raises `VerifyError` for one that is none or is there twice.
    """
    meshes: dict[str, Mesh] = {}
    for operation in others:
        place = operation.place
        name, value = operation.attributes.get("sym_name"), operation.attributes.get("mesh")
        mesh = mesh_of(value.text) if isinstance(value, Opaque) else None
        if mesh is None:
            raise VerifyError(f'{operation.name} needs a mesh such as <["x"=2]>', *place)
        if mesh.fault():
            raise VerifyError(f"{operation.name} {mesh.fault()}", *place)
        if str(name) in meshes:
            raise VerifyError(f"@{name} is defined twice", *place)
        meshes[str(name)] = mesh
    return meshes


def faults_of(value: Any, types: Sequence[Type | None], meshes: Mapping[str, Mesh]) -> str:
    """Returns what is wrong with the shardings of several values, or `""`."""
    shardings = shardings_of(value.text) if isinstance(value, Opaque) else None
    if shardings is None:
        return f"needs shardings such as #sdy.sharding_per_value<[<@mesh, [{{}}]>]>, got {value}"
    if len(shardings) != len(types):
        return f"needs {len(types)} shardings, got {len(shardings)}"
    pairs = zip(shardings, types, strict=True)
    faults = (_fault(sharding, type, meshes) for sharding, type in pairs)
    return next(filter(None, faults), "")


def fault_of(value: Any, type: Type | None, meshes: Mapping[str, Mesh]) -> str:
    """Returns what is wrong with the sharding of one value, or `""`; nothing has no type."""
    sharding = sharding_of(value.text) if isinstance(value, Opaque) else None
    if sharding is None:
        return f"needs a sharding such as #sdy.sharding<@mesh, [{{}}]>, got {value}"
    return _fault(sharding, type, meshes)


def _fault(sharding: Sharding, type: Type | None, meshes: Mapping[str, Mesh]) -> str:
    mesh = sharding.mesh if isinstance(sharding.mesh, Mesh) else meshes.get(sharding.mesh)
    if mesh is None:
        return f"needs a mesh @{sharding.mesh} for its sharding, which is not defined"
    if mesh.fault():
        return f"needs a mesh for its sharding, which {mesh.fault()}"
    if isinstance(type, TupleType) and len(type.parts) == 1:
        (type,) = type.parts
    if isinstance(type, Unranked | TupleType):
        return f"takes no sharding of a value of {type}"
    # What lies on one device whole is not divided, and neither is a token.
    rank = 0 if mesh.single else len(getattr(type, "shape", ()))
    if len(sharding.dimensions) != rank:
        return f"needs a sharding of {rank} dimensions, got {len(sharding.dimensions)}"
    if sharding.idle:
        return "needs an axis in a dimension of its sharding that has a priority"
    return _axes_fault(sharding, mesh)


def _axes_fault(sharding: Sharding, mesh: Mesh) -> str:
    sizes = dict(mesh.axes)
    groups = [*sharding.dimensions, sharding.replicated, sharding.unreduced]
    used = [axis for group in groups for axis in group]
    for axis in used:
        if axis.name not in sizes:
            known = ", ".join(sizes) or "none"
            return f"needs axes of its mesh, {known}, in its sharding, got {axis}"
        size = sizes[axis.name]
        if axis != Axis(axis.name) and not _divides(axis, size):
            return f"needs parts that divide the axis {axis.name} of {size}, got {axis}"
    order = list(sizes)
    for group in (sharding.replicated, sharding.unreduced):
        if group != tuple(sorted(group, key=lambda axis: (order.index(axis.name), axis.before))):
            return f"needs axes in the order of its mesh, got {', '.join(map(str, group))}"
    for group in groups:
        for left, right in pairwise(group):
            if left.name == right.name and left.size and left.before * left.size == right.before:
                return f"needs {left} and {right} as one axis"
    return _overlap(used, sizes)


def _divides(axis: Axis, whole: int) -> bool:
    if axis.before < 1 or axis.size <= 1 or axis.size == whole:
        return False
    return whole % (axis.before * axis.size) == 0


def _overlap(used: Sequence[Axis], sizes: Mapping[str, int]) -> str:
    """Returns where two of the axes share devices, or `""`."""
    reached: dict[str, int] = {}
    for axis in sorted(used):
        start = axis.before or 1
        if start < reached.get(axis.name, 1) or (axis.name in reached and not axis.size):
            return f"needs each axis of its mesh once in its sharding, got {axis} again"
        reached[axis.name] = start * (axis.size or sizes[axis.name])
    return ""
