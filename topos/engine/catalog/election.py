"""Discovery pools what every pattern offers, once; a consumer elects what it supports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from topos.engine.catalog.elementwise import elementwise, is_wide
from topos.engine.catalog.pattern import Match, Pattern
from topos.engine.catalog.view import View
from topos.graph import Columns, Form


class Offers(NamedTuple):
    """The closed candidates of one order of nodes, those of higher priority first.

    `wide` are the elementwise nodes over large arrays, from which `elect` makes matches of what no
    candidate takes.
    """

    view: View
    matches: tuple[Match, ...]
    wide: tuple[int, ...] = ()


def pooled(view: View, catalog: Sequence[Pattern]) -> Offers:
    """Returns what `catalog` offers: its order is priority, then more nodes before fewer.

    A candidate is closed: nothing outside reads a number computed inside, other than a result. A
    covered node that only moves data may have readers outside, and `elect` decides about those.
    """
    by_root: dict[type, list[tuple[int, Pattern]]] = {}
    for priority, pattern in enumerate(catalog):
        for root in pattern.roots:
            by_root.setdefault(root, []).append((priority, pattern))
    found: list[tuple[int, int, int, Match]] = []
    forms = view.columns.forms
    # A recording has few forms, and many nodes of each.
    ending: dict[Form, Sequence[tuple[int, Pattern]]] = {}
    for node in view.order:
        form = forms[node]
        patterns = ending.get(form)
        if patterns is None:
            patterns = ending[form] = by_root.get(type(form.operation), ())
        for priority, pattern in patterns:
            for match in pattern.match(view, node):
                if _is_closed(view, match):
                    found.append((priority, -len(match.claimed), len(found), match))
    found.sort(key=lambda entry: entry[:3])
    wide = set(filter(is_wide, ending))
    nodes = tuple(node for node in view.order if forms[node] in wide) if wide else ()
    return Offers(view, tuple(match for *_, match in found), nodes)


def elect(
    offers: Offers, supports: Callable[[Match], bool], barriers: Iterable[int]
) -> tuple[Match, ...]:
    """Returns the offers that a consumer takes, ascending by root: the first offer wins.

    `supports` answers whether the consumer can express a match. `barriers` are the nodes that the
    plan must produce: none of them may be interior to a match. A match whose interior is still
    needed by a node outside is withdrawn, for then it would compute that twice. What is left of the
    elementwise nodes over large arrays is matched last, between the barriers.
    """
    held = tuple(barriers)
    chosen = _from_pool(offers, supports, held)
    if offers.wide:
        chosen += filter(supports, _left(offers, chosen, held))
    return tuple(sorted(chosen, key=lambda match: match.root))


def demanded(columns: Columns, results: Iterable[int], chosen: Iterable[Match]) -> set[int]:
    """Returns the nodes that are evaluated for `results`, `chosen` standing for what it claims."""
    operands = {node: match.operands for match in chosen for node in match.results}
    pending = list(results)
    found = set(pending)
    while pending:
        node = pending.pop()
        for operand in operands.get(node) or columns.operands[node]:
            if operand not in found:
                found.add(operand)
                pending.append(operand)
    return found


def _from_pool(
    offers: Offers, supports: Callable[[Match], bool], held: Sequence[int]
) -> list[Match]:
    """Returns the candidates that win, in the order of the pool."""
    pool = list(filter(supports, offers.matches))
    while pool:
        chosen = _first_wins(offers.view, pool)
        evaluated = demanded(offers.view.columns, held, chosen)
        strays = [match for match in chosen if not evaluated.isdisjoint(match.interior)]
        if not strays:
            return [match for match in chosen if not evaluated.isdisjoint(match.results)]
        pool = [match for match in pool if match not in strays]
    return []


def _left(offers: Offers, chosen: Sequence[Match], held: Sequence[int]) -> Iterable[Match]:
    """Returns the matches of the elementwise nodes that are evaluated, and by none of `chosen`."""
    evaluated = demanded(offers.view.columns, held, chosen)
    evaluated.difference_update(*(match.claimed for match in chosen))
    return elementwise(offers.view, filter(evaluated.__contains__, offers.wide), set(held))


def _is_closed(view: View, match: Match) -> bool:
    """Returns whether only results and moved data of `match` are read outside of it.

    A named result is computed at the match's place, so that its readers outside come after that.
    """
    inside = set(match.claimed)
    for node in match.claimed:
        if node == match.root or (view.moves(node) and node not in match.results):
            continue
        for use in view.uses(node):
            if use not in inside and (node not in match.results or use < match.place):
                return False
    return True


def _first_wins(view: View, pool: Iterable[Match]) -> list[Match]:
    chosen, taken = [], set[int]()
    for match in pool:
        if taken.isdisjoint(match.claimed):
            chosen.append(match)
            taken.update(match.results)
            taken.update(node for node in match.claimed if not view.moves(node))
    return chosen
