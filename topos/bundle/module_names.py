"""Names of a module's arguments and results: those that are given, or that the module carries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from topos.bundle.portable import argument_locations
from topos.errors import ArgumentError, FeedError
from topos.stablehlo import Module
from topos.stablehlo.ir import Parameter

Names = Sequence[str] | Mapping[str, str]
"""Names of the arguments and then of the results, in order, or new names by those carried."""

# What jax calls a leaf of nested containers: params['dense'][0].kernel.
KEYS: Final = re.compile(r"""\w+(?:\[(?:'[^']*'|"[^"]*"|[0-9]+)\]|\.\w+)*""")
KEY: Final = re.compile(r"""\[(?:'([^']*)'|"([^"]*)"|([0-9]+))\]""")
# How jax starts the names of the results of a function.
RESULT: Final = re.compile(r"^result(?:\.|$)")
LISTED: Final = "mhlo.frontend_attributes"


class Named(NamedTuple):
    """The names of a module's arguments and results, in order."""

    arguments: tuple[str, ...]
    results: tuple[str, ...]


def names_in(module: Module, text: str, given: Names | None) -> Named:
    """Returns the names of a module: those of `given`, or else the ones that it carries.

    A module carries names as `topos.name`, as `jax.result_info`, as the locations of its arguments,
    or in its `mhlo.frontend_attributes`; jax's `params['dense'][0]` is `params.dense.0`. One that
    it carries twice is none. What has no name is `arg0`, `result0`, by its place. Raises
    `ArgumentError` for what is no names, and `FeedError` for too many, for equal ones, and for new
    names of what the module has not.
    """
    main, listed = module.function(), module.attributes.get(LISTED, {})
    located = argument_locations(text)
    arguments = [
        _stated(parameter) or (location and _dotted(location)) or _listed(listed, f"arg{place}")
        for place, (parameter, location) in enumerate(zip(main.arguments, located, strict=True))
    ]
    results = [
        _stated(parameter) or _listed(listed, f"result{place}")
        for place, parameter in enumerate(main.results)
    ]
    own = Named(_distinct(arguments, "arg"), _distinct(results, "result"))
    named = own if given is None else _renamed(own, given)
    for kind, names in zip(("arguments", "results"), named, strict=True):
        for name, times in Counter(names).items():
            if times > 1:
                raise FeedError(
                    f"the {kind} of a module need names of their own, got {name!r} twice"
                )
    return named


def _listed(listed: Any, place: str) -> str | None:
    """Returns the name of a place by the list that is an attribute of the module."""
    name = listed.get(place) if isinstance(listed, Mapping) else None
    return str(name) if isinstance(name, str) and name else None


def _dotted(name: str) -> str:
    if not KEYS.fullmatch(name):
        return name
    return KEY.sub(lambda key: f".{key[1] or key[2] or key[3] or ''}", name)


def _own(name: str) -> str:
    """Returns jax's name of a result without the word that all start with, unless it is a place."""
    own = RESULT.sub("", _dotted(name))
    return "" if own.isdigit() else own


# The attributes that name arguments and results, and what a bundle makes of the names.
STATED: Final[Mapping[str, Callable[[str], str]]] = {
    "topos.name": str,
    "jax.arg_info": _dotted,
    "jax.result_info": _own,
    "jax.global_constant": str,
}


def _stated(parameter: Parameter) -> str | None:
    """Returns the name of an argument or a result by its attributes."""
    attributes = parameter.attributes
    for key, named in STATED.items():
        name = attributes.get(key)
        if isinstance(name, str) and name:
            return named(name) or None
    return None


def _distinct(names: Sequence[str | None], kind: str) -> tuple[str, ...]:
    """Returns a name for each; what has none, or that of another, is called by its place."""
    times = Counter(names)
    kept = [None if name is None or times[name] > 1 else name for name in names]
    known, free = {*kept}, []
    for place, name in enumerate(kept):
        numbers = (f"{kind}{number}" for number in count(place))
        free.append(name or next(each for each in numbers if each not in known))
        known.add(free[-1])
    return tuple(free)


def _renamed(own: Named, given: Names) -> Named:
    if isinstance(given, Mapping):
        return _mapped(own, given)
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise ArgumentError(
            "names are a sequence of them, or map those that a module carries to others, got "
            f"{type(given).__name__}"
        )
    _demand_texts(given)
    every, most = (*own.arguments, *own.results), len(own.arguments)
    if len(given) > len(every):
        raise FeedError(f"{len(every)} arguments and results have a name each, got {len(given)}")
    names = (*given, *every[len(given) :])
    return Named(names[:most], names[most:])


def _mapped(own: Named, given: Mapping[str, str]) -> Named:
    _demand_texts([*given, *given.values()])
    known: set[str] = set()
    renamed = []
    for kind, names in zip(("arg", "result"), own, strict=True):
        keys = [(f"{kind}{place}", name) for place, name in enumerate(names)]
        known.update(*keys)
        for place, name in keys:
            if place != name and place in given and name in given:
                raise FeedError(f"new names are given for {place!r} and {name!r}, which are one")
        found = [given.get(place, given.get(name, name)) for place, name in keys]
        renamed.append(tuple(found))
    for name in given:
        if name not in known:
            has = f"arguments {', '.join(own.arguments)} and results {', '.join(own.results)}"
            raise FeedError(f"a new name is given for {name!r}, and the module has {has}")
    return Named(*renamed)


def _demand_texts(names: Iterable[object]) -> None:
    for name in names:
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"names are texts, got {name!r}")
