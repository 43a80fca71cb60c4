"""What Shardy's operations say in forms of their own, and how these are read and written."""

from __future__ import annotations

from typing import Any, Final

from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect._shardings import fault_of, faults_of
from topos.stablehlo.ir import Opaque, Operation, OtherType, Typed, Word
from topos.stablehlo.opview import OpView
from topos.stablehlo.parsed import ParsedOperation, Said, TokenError
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Attribute, String, text_given

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
