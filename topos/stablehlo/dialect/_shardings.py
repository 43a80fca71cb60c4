"""Shardings held to their mesh and value, and how Shardy's operations are read and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from topos.errors import VerifyError
from topos.stablehlo.definition import Definition
from topos.stablehlo.ir import Opaque, Operation, OtherType, TupleType, Type, Typed, Unranked, Word
from topos.stablehlo.meshes import Axis, Mesh, Sharding, mesh_of, sharding_of, shardings_of
from topos.stablehlo.opview import OpView
from topos.stablehlo.parsed import ParsedOperation, Said, TokenError
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Attribute, String, text_given

# The attribute that says how the value of an argument, or those of an operation, are divided.
KEY = "sdy.sharding"
# How the kinds of attributes are spelled in short.
_EXAMPLES: Final = {
    "all_to_all_param_list": '[{"a"}: 0->1]',
    "axis_ref_list": '{"a"}',
    "list_of_axis_ref_lists": '[{"a"}]',
    "manual_axes": '{"a"}',
    "mesh": '<["a"=2]>',
    "sharding": '<@mesh, [{"a"}]>',
    "sharding_per_value": '[<@mesh, [{"a"}]>]',
}


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


class Spelling(Attribute[Any]):
    """An attribute of Shardy, kept as it is spelled; a custom form leaves its `kind` unsaid.

    One whose `place` is `before` or `after` stands there beside the operand, without its key.
    """

    def __init__(
        self, kind: str, key: str = "", *, optional: bool = False, place: str = ""
    ) -> None:
        super().__init__(key)
        self.optional, self.place = optional, place
        self.takes, self.example = f"the text of a {kind} of Shardy", repr(_EXAMPLES[kind])
        match kind:
            case "mesh" | "sharding":
                self._around = (f"#sdy.{kind}", "")
            case "sharding_per_value":
                self._around = (f"#sdy.{kind}<", ">")
            case _:
                self._around = (f"#sdy<{kind}", ">")

    def read(self, view: OpView) -> Any:
        """Returns the attribute in full, or `None` where it is absent and may be."""
        value = view.optional(self.key) if self.optional else view.attribute(self.key)
        fault = "" if value is None else self.fault(value, view)
        if fault:
            view.refuse(fault)
        return value

    def fault(self, value: Any, view: OpView) -> str:
        """Returns what is wrong with the attribute, or `""`."""
        return "" if isinstance(value, Opaque) else f"needs axes as {self.key}, got {value}"

    def spelled(self, value: Any) -> Any:
        before, after = self._around
        return Opaque(f"{before}{value}{after}") if type(value) is str else None

    def text(self, value: Any) -> str:
        """Returns what a custom form says of the attribute, `""` where it cannot say it."""
        before, after = self._around
        if not isinstance(value, Opaque):
            return ""
        whole = value.text.startswith(before) and value.text.endswith(after)
        return value.text[len(before) : len(value.text) - len(after)] if whole else ""

    def made(self, value: Any) -> Any:
        """Returns the attribute of a short spelling or a full one."""
        text = text_given(value)
        return Opaque(text) if text.startswith("#") else self.spelled(text)


class One(Spelling):
    """The sharding of the one operand."""

    def __init__(self, *, optional: bool = False, place: str = "") -> None:
        super().__init__("sharding", optional=optional, place=place)

    def fault(self, value: Any, view: OpView) -> str:
        return fault_of(value, view.operands[0], view.meshes)


class Each(Spelling):
    """The sharding of each of the operands or the results, which `of` names."""

    def __init__(self, of: str, *, optional: bool = False) -> None:
        super().__init__("sharding_per_value", optional=optional)
        self._of = of

    def fault(self, value: Any, view: OpView) -> str:
        types = view.operands if self._of == "operands" else view.results
        return faults_of(value, types, view.meshes)


class Direction(Attribute[str]):
    """A direction that shardings are propagated in, kept as its number."""

    words: Final = ("NONE", "FORWARD", "BACKWARD")
    takes = f"one of {', '.join(words)}"
    example = repr(words[0])

    def read(self, view: OpView) -> str:
        number = view.integer(self.key)
        if not 0 <= number < len(self.words):
            view.refuse(f"needs {self.takes} as {self.key}, got {number}")
        return self.words[number]

    def spelled(self, value: Any) -> Any:
        return self.made(value) if isinstance(value, Word) and value in self.words else None

    def text(self, value: Any) -> str:
        match value:
            case Typed(int(number), OtherType("i32")) if 0 <= number < len(self.words):
                return self.words[number]
        return ""

    def made(self, value: Any) -> Any:
        return Typed(self.words.index(value), OtherType("i32"))


class Stated(Definition):
    """An operation of Shardy: attributes by their place, or as `key=value`."""

    traits = Trait.MOVES

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        """Returns what stands around the operands as attributes."""
        spelled: dict[str, Any] = {}
        for word in parsed.words:
            if not isinstance(word, Said):
                raise TokenError(f"{parsed.name.value} is not written with {word}", parsed.name)
            attribute = cls._said(word)
            value = word.value
            full = value if isinstance(value, Opaque) else attribute and attribute.spelled(value)
            if attribute is None or full is None:
                told = word.shown if attribute is None else f"{word.key}={value}"
                raise TokenError(f"{parsed.name.value} is not written with {told}", parsed.name)
            spelled[attribute.key] = full
        return parsed.spelled(spelled)

    @classmethod
    def _said(cls, said: Said) -> Attribute[Any] | None:
        """Returns the attribute that is said at its place, if there is one."""
        if said.key:
            return cls.assigned().get(said.key)
        return cls.placed().get("before" if said.leads else "after")

    @classmethod
    def placed(cls) -> dict[str, Spelling]:
        """Returns the attributes that are written without a key, by their place."""
        spellings = [each for each in cls.declared_attributes if isinstance(each, Spelling)]
        return {each.place: each for each in spellings if each.place}

    @classmethod
    def assigned(cls) -> dict[str, Attribute[Any]]:
        """Returns the attributes that are written as `key=value`, in their order."""
        declared = [each for each in cls.declared_attributes if not isinstance(each, String)]
        return {each.key: each for each in declared if each not in cls.placed().values()}

    @classmethod
    def stated(cls, operation: Operation) -> list[str]:
        """Returns each `key=value` that is there, `""` where only a dictionary can say it."""
        given = operation.attributes
        texts = {key: each.text(given[key]) for key, each in cls.assigned().items() if key in given}
        return [f"{key}={text}" if text else "" for key, text in texts.items()]

    def demand_attributes(self) -> None:
        """Refuses an attribute that is not what is declared."""
        for each in self.declared_attributes:
            getattr(self, each.name)
