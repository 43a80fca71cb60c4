"""Discovery pools what every pattern offers, once; a consumer elects what it supports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from topos.engine.catalog.pattern import Match, Pattern
from topos.engine.catalog.view import View
from topos.graph import Columns

__all__ = ["Offers", "demanded", "elect", "pooled"]


class Offers(NamedTuple):
    """The closed candidates of one order of nodes, those of higher priority first."""

    view: View
    matches: tuple[Match, ...]


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
    for node in view.order:
        for priority, pattern in by_root.get(type(forms[node].operation), ()):
            for match in pattern.match(view, node):
                if _is_closed(view, match):
                    found.append((priority, -len(match.claimed), len(found), match))
    found.sort(key=lambda entry: entry[:3])
    return Offers(view, tuple(match for *_, match in found))


def elect(
    offers: Offers, supports: Callable[[Match], bool], barriers: Iterable[int]
) -> tuple[Match, ...]:
    """Returns the offers that a consumer takes, ascending by root: the first offer wins.

    `supports` answers whether the consumer can express a match. `barriers` are the nodes that the
    plan must produce: none of them may be interior to a match. A match whose interior is still
    needed by a node outside is withdrawn, for then it would compute that twice.
    """
    held = tuple(barriers)
    pool = list(filter(supports, offers.matches))
    while pool:
        chosen = _first_wins(offers.view, pool)
        evaluated = demanded(offers.view.columns, held, chosen)
        strays = [match for match in chosen if not evaluated.isdisjoint(match.interior)]
        if not strays:
            needed = (match for match in chosen if not evaluated.isdisjoint(match.results))
            return tuple(sorted(needed, key=lambda match: match.root))
        pool = [match for match in pool if match not in strays]
    return ()


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
