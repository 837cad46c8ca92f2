"""The cost of a query, estimated before the engine is called.

One unit is about the work for one word in one field. Patterns and misspelt words are compared with
all words of the archive, so that a few of them cost more than a thousand plain words. Queries above
the limit are refused, for every engine and interface.
"""

import re

from nwx.errors import QueryError
from nwx.query.fields import DEFAULT_FIELDS, INLINK_COUNTS, QueryFieldKind, kind
from nwx.query.tree import All, Bool, Boost, DateRange, Fuzzy, Leaf, Node, Phrase, Term, Wildcard

MAX_COST = 4_000
MAX_TREE_DEPTH = 20
"""The deepest nesting of operators; Elasticsearch accepts 30 nested queries."""
MAX_PATTERN_CHARACTERS = 1_000
MAX_WILDCARDS = 32
"""The most `*` and `?` in one pattern."""
MAX_FUZZY_CHARACTERS = 255

WORD_COST = 1
PREFIX_COST = 4
"""A pattern with a single wildcard, a `*` at its end."""
PATTERN_COST = 50
"""Any other pattern, once for each PATTERN_STEP characters, and for each `?` after a `*`, which
doubles the states of its automaton."""
PATTERN_STEP = 50
FUZZY_COSTS = (1, 5, 10)
"""Words within 0, 1 and 2 edits."""
NEAR_COST = 200
"""A proximity query of more than two words: it compares the texts themselves."""
DATES_COST = 40
RANGE_COST = 10
INLINKS_COST = 40
"""A number or range of inlinks: documents are joined with inlinks."""

_PIECE = re.compile(r"\\.|[*?]", re.DOTALL)


def check_cost(node: Node) -> None:
    """Raise QueryError for a query that costs more than MAX_COST or is nested too deep."""
    _check_depth(node)
    total = cost(node)
    if total > MAX_COST:
        raise QueryError.translated(
            "this query takes too much work (cost %(total)s, at most %(most)s); "
            "use fewer patterns (* and ?), misspelt words (~) and dates, begin "
            "patterns with letters, or name a field (title:…)",
            total=total,
            most=MAX_COST,
        )


def _check_depth(node: Node) -> None:
    level: list[Node] = [node]
    for _ in range(MAX_TREE_DEPTH + 1):
        level = [part for one in level for part in _parts(one)]
        if not level:
            return
    raise QueryError.translated("the query is nested too deep")


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Boost():
            return (node.node,)
        case Bool():
            return (*node.must, *node.should, *node.must_not)
    return ()


def cost(node: Node) -> int:
    """Return the cost of a query; raises QueryError for a pattern or word that exceeds a limit."""
    match node:
        case All():
            return 0
        case DateRange():
            return DATES_COST
        case Boost():
            return cost(node.node)
        case Bool():
            return sum(cost(part) for part in (*node.must, *node.should, *node.must_not))
    if node.field in INLINK_COUNTS:
        return INLINKS_COST
    return _leaf_cost(node) * (1 if node.field else len(DEFAULT_FIELDS))


def _leaf_cost(node: Leaf) -> int:
    match node:
        case Term():
            return WORD_COST
        case Phrase():
            return _phrase_cost(node)
        case Wildcard():
            return _pattern_cost(node.pattern)
        case Fuzzy():
            return _fuzzy_cost(node)
    return PATTERN_COST if kind(node.field) is QueryFieldKind.KEYWORD else RANGE_COST


def _phrase_cost(node: Phrase) -> int:
    words = node.text.split()
    # Scripts without spaces have more words than `split` finds.
    few = len(words) <= 2 and node.text.isascii() and len(set(words)) == len(words)
    if node.slop and not few:
        return NEAR_COST
    return WORD_COST * max(len(words), 1)


def _pattern_cost(pattern: str) -> int:
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise QueryError.translated(
            "a pattern has %(count)s characters; at most %(most)s are allowed",
            count=len(pattern),
            most=MAX_PATTERN_CHARACTERS,
        )
    wildcards_used = "".join(piece for piece in _PIECE.findall(pattern) if piece in "*?")
    wildcards = len(wildcards_used)
    if wildcards > MAX_WILDCARDS:
        raise QueryError.translated(
            "the pattern %(pattern)s has %(wildcards)s wildcards (* and ?); "
            "at most %(most)s are allowed",
            pattern=repr(pattern[:40]),
            wildcards=wildcards,
            most=MAX_WILDCARDS,
        )
    if pattern == "*":
        return WORD_COST
    if wildcards == 1 and pattern.endswith("*"):
        return PREFIX_COST
    doubling = wildcards_used.lstrip("?").count("?")
    return PATTERN_COST * (1 + len(pattern) // PATTERN_STEP + doubling)


def _fuzzy_cost(node: Fuzzy) -> int:
    if len(node.text) > MAX_FUZZY_CHARACTERS:
        raise QueryError.translated(
            "a word with ~ has %(count)s characters; at most %(most)s are allowed",
            count=len(node.text),
            most=MAX_FUZZY_CHARACTERS,
        )
    return FUZZY_COSTS[min(node.distance, 2)]
