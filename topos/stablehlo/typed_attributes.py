"""Typed attributes: how an operation's attribute is decoded, checked, spelled and made.

An attribute is declared in the body of a definition: `permutation = Axes()`. Read from an instance
it is the decoded value, checked on first use; its key is the name that it is assigned to.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from operator import index
from typing import Any, ClassVar, TypeVar

from topos.stablehlo.attribute_text import spelled
from topos.stablehlo.equality import same
from topos.stablehlo.ir import OtherType as Scalar
from topos.stablehlo.ir import Packed, Record, Symbol, Typed, Word
from topos.stablehlo.opview import Declared, OpView

T = TypeVar("T")


class Attribute(Declared[T]):
    """An attribute of a definition; a subclass says what it holds.

    `key` is the attribute's name where that is no name of Python's or another one reads better.
    """

    # What Python gives for it, in words and as Python spells one; an instance may have its own.
    takes = "a value"
    example = "..."
    # The class of the values that a custom assembly can state, if it can state any.
    stated: ClassVar[type | None] = None
    # Whether it may be left out though nothing stands for it then.
    optional = False

    def __init__(self, key: str = "") -> None:
        self.key = key

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name
        self.name = name

    def spelled(self, value: Any) -> Any:
        """Returns the attribute that a custom assembly's `key = value` means, or `None`."""
        return self.made(value) if type(value) is self.stated else None

    def text(self, value: Any) -> str:
        """Returns what a custom assembly says of it, `""` where that would be read as another."""
        match value:
            case Packed():
                plain: Any = tuple(value)
            case Word():
                plain = Word(value)
            case tuple():
                plain = tuple([Word(part) if isinstance(part, Word) else part for part in value])
            case Record():
                plain = dict(value)
            case _:
                plain = value
        if not same(self.spelled(plain), value):
            return ""
        if isinstance(plain, dict):
            return f"<{', '.join(f'{key} = {spelled(part)}' for key, part in plain.items())}>"
        return spelled(plain)

    def made(self, value: Any) -> Any:
        """Returns the attribute that a Python value stands for, in the tree's own classes.

        Raises any error that Python has for a value of a wrong form: whoever gave it is told what
        the attribute `takes`, with an `example`.
        """
        return value


class Axes(Attribute[tuple[int, ...]]):
    """A list of integers: `array<i64: ...>`, or in older texts a dense constant or a list.

    `strict` takes the array alone. Without a `default` the attribute must be there.
    """

    takes = "a list of integers"
    example = "(0, 1)"

    def __init__(
        self, key: str = "", *, default: tuple[int, ...] | None = None, strict: bool = False
    ) -> None:
        super().__init__(key)
        self._default, self._strict = default, strict

    def read(self, view: OpView) -> tuple[int, ...]:
        value = view.operation.attributes.get(self.key)
        if isinstance(value, Packed) and value.element == "i64":
            return tuple(value)
        if value is None and self._default is not None:
            return self._default
        if self._strict:
            view.refuse(f"needs an array<i64: ...> as {self.key}, got {view.optional(self.key)}")
        return view.integers(self.key)

    def spelled(self, value: Any) -> Any:
        if type(value) is tuple and all(type(part) is int for part in value):
            return Packed(value)
        return None

    def made(self, value: Any) -> Any:
        return Packed(integers_given(value))


class Truths(Attribute[tuple[bool, ...] | None]):
    """A list of truth values, `array<i1: ...>`; `None` where it is absent."""

    takes = "a list of truth values"
    example = "(True, False)"

    def read(self, view: OpView) -> tuple[bool, ...] | None:
        value = view.optional(self.key)
        if value is not None and not (isinstance(value, Packed) and value.element == "i1"):
            view.refuse(f"needs an array<i1: ...> as {self.key}, got {value}")
        return None if value is None else tuple(value)

    def made(self, value: Any) -> Any:
        return Packed(map(truth_given, value), "i1")


class Integer(Attribute[int]):
    """An integer of the type `width`, of at least `least` where that is given."""

    stated = int
    example = "1"

    def __init__(
        self,
        *,
        width: str = "i64",
        least: int | None = None,
        default: int | None = None,
        optional: bool = False,
    ) -> None:
        super().__init__()
        self.optional = optional
        self._width, self._least, self._default = width, least, default
        self.takes = f"an integer of {width}"

    def read(self, view: OpView) -> int:
        stated = view.operation.attributes.get(self.key)
        if stated is not None:
            # A number without a type is an i64.
            width = str(stated.type) if isinstance(stated, Typed) else "i64"
            if width != self._width:
                view.refuse(f"needs {self.key} as a number of {self._width}, got {width}")
        value = view.integer(self.key, self._default)
        # A signless number may be written by the other reading of its bits, which is below zero.
        if value >> (int(self._width[1:]) - 1) > 0:
            view.refuse(f"needs {self.key} below 2**{int(self._width[1:]) - 1}, got {value}")
        if self._least is not None and value < self._least:
            bound = f"of {self._least} or more" if self._least == 0 else f"above {self._least - 1}"
            view.refuse(f"needs {self.key} {bound}, got {value}")
        return value

    def made(self, value: Any) -> Any:
        return index(value) if self._width == "i64" else Typed(index(value), Scalar(self._width))


class Truth(Attribute[bool]):
    """A truth value; `default` where it is absent, which must be there if that is `None`."""

    stated = bool
    takes = "True or False"
    example = "True"

    def __init__(self, *, default: bool | None = False) -> None:
        super().__init__()
        self._default = default

    def read(self, view: OpView) -> bool:
        if self._default is None:
            view.attribute(self.key)
        return view.truth(self.key, bool(self._default))

    def made(self, value: Any) -> Any:
        return truth_given(value)


class String(Attribute[str]):
    """A string in quotes, which must be there unless it has a `default`."""

    stated = str
    takes = "a string"
    example = "'name'"

    def __init__(self, key: str = "", *, default: str | None = None) -> None:
        super().__init__(key)
        self._default = default

    def read(self, view: OpView) -> str:
        value = view.word(self.key, self._default)
        if isinstance(value, (Symbol, Word)):
            view.refuse(f"needs a string as {self.key}, got {value}")
        return value

    def made(self, value: Any) -> Any:
        return text_given(value)


class Name(Attribute[Symbol]):
    """The name of a function, `@name`."""

    stated = Symbol
    takes = "the name of a function"
    example = "'name'"

    def read(self, view: OpView) -> Symbol:
        """Returns the name; `OpView.functions` may have no such function."""
        value = view.attribute(self.key)
        if not isinstance(value, Symbol):
            view.refuse(f"needs a function, got @{value}")
        return value

    def made(self, value: Any) -> Any:
        return Symbol(text_given(value))


class Choice(Attribute[str]):
    """A word of `words`, written as `#opening word>`; `default` where it is absent.

    One that `may_be_bare` may also stand without its opening.
    """

    stated = Word

    def __init__(
        self,
        opening: str,
        words: Collection[str],
        *,
        default: str | None = None,
        may_be_bare: bool = False,
    ) -> None:
        super().__init__()
        self.opening, self.words, self._default = opening, words, default
        self._may_be_bare = may_be_bare
        self.takes = f"one of {', '.join(words)}"
        self.example = repr(next(iter(words)))

    def read(self, view: OpView) -> str:
        if self._default is not None and self.key not in view.operation.attributes:
            return self._default
        value = view.attribute(self.key)
        opened = isinstance(value, Word) and value.opening.strip() == self.opening
        if value not in self.words or not (opened or self._may_be_bare):
            view.refuse(f"needs {self.takes} as {self.key}, got {value}")
        return str(value)

    def spelled(self, value: Any) -> Any:
        return self._worded(value) if type(value) is self.stated else None

    def made(self, value: Any) -> Any:
        if value not in self.words:
            raise ValueError(f"{value} is no choice")
        return self._worded(value)

    def _worded(self, value: str) -> Word:
        return Word(str(value), f"{self.opening} ")


class Fields(Attribute[Mapping[str, Any]]):
    """Named fields written as `#opening<key = value, ...>`, such as dimension numbers.

    There are none where they are absent and `optional`.
    """

    def __init__(
        self, opening: str, names: Collection[str] = (), *, key: str = "", optional: bool = False
    ) -> None:
        super().__init__(key)
        self.opening, self._names, self.optional = opening, names, optional
        # All but one are the channels of a transfer or a collective.
        self.takes = f"a dictionary of {', '.join(names or ('handle', 'type'))}"
        self.example = f"{{{next(iter(names))!r}: 1, ...}}" if names else "{'handle': 1, 'type': 1}"

    def read(self, view: OpView) -> Mapping[str, Any]:
        if self.optional and self.key not in view.operation.attributes:
            return {}
        demand_fields(view, self.key, self.opening, self._names)
        return view.fields(self.key)

    def spelled(self, value: Any) -> Any:
        return Record(value, self.opening) if isinstance(value, dict) else None

    def made(self, value: Any) -> Any:
        """Returns the fields of a mapping; lists and arrays become tuples of integers."""
        fields = {
            key: integers_given(part) if isinstance(part, (list, tuple)) else part
            for key, part in dict(value).items()
        }
        return Record(fields, self.opening)


def demand_fields(view: OpView, key: str, opening: str, names: Collection[str]) -> None:
    """Refuses what is no `#opening field = value, ...>`, or has others than `names` if any."""
    value = view.operation.attributes.get(key)
    if not isinstance(value, Record) or value.opening.strip() != opening:
        view.refuse(f"needs {opening}...> as {key}, got {value}")
    strange = [name for name in value if name not in names]
    if names and strange:
        view.refuse(f"knows no {strange[0]} in {key}")


def integers_given(value: Any) -> tuple[int, ...]:
    """Returns a list or an array of integers; raises `TypeError` for anything else."""
    if isinstance(value, (str, bytes, Mapping, AbstractSet)):
        raise TypeError(f"{value!r} is no list")
    return tuple(map(index, value))


def truth_given(value: Any) -> bool:
    """Returns a truth value of Python's or numpy's, or 0 or 1; raises `ValueError` for others."""
    plain = getattr(value, "item", lambda: value)()
    if not isinstance(plain, int) or plain not in (0, 1):
        raise ValueError(f"{value!r} is no truth value")
    return bool(plain)


def text_given(value: Any) -> str:
    """Returns a string; raises `TypeError` for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no string")
    return str(value)
