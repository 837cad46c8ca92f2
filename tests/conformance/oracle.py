"""Expected search results, computed in plain Python one document at a time."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache

from nwx.model import Collapse, Document, Sort
from nwx.query.fields import DEFAULT_FIELDS
from nwx.query.question import Question
from nwx.query.tree import (
    All,
    Bool,
    Boost,
    DateRange,
    Fuzzy,
    Node,
    Phrase,
    Range,
    Term,
    Wildcard,
    is_below_pages,
)

Pair = tuple[str, str]
_TEXTS = ("title", "headings", "content", "url_text")


@dataclass(frozen=True)
class Shown:
    """A document as seen by searches: tokens of its texts, its values, and its dates."""

    id: str
    document: Document
    pairs: frozenset[Pair]

    def tokens(self, field: str) -> list[str]:
        """Return the tokens of a text field; headings are separate."""
        return [word for text in self.texts(field) for word in words(text)]

    def texts(self, field: str) -> list[str]:
        """Return the texts of a field."""
        extract = self.document.extract
        if field == "headings":
            return list(extract.headings)
        if field == "url_text":
            return [re.sub(r"\W+", " ", self.document.capture.url)]
        return [getattr(extract, field)]

    def value(self, field: str) -> str | int | None:
        """Return the value of any other field, None if missing."""
        capture, extract = self.document.capture, self.document.extract
        held = getattr(capture, field, None)
        found: str | int | None = getattr(extract, field, None) if held is None else held
        return None if found == "" else found


@cache
def words(text: str) -> list[str]:
    """Return the tokens of a text in the small vocabulary of these tests."""
    return re.findall(r"\w+", text.lower().translate(str.maketrans("éèü", "eeu")))


def matching(shown: Iterable[Shown], request: Question) -> list[Shown]:
    """Return the documents that match a question."""
    tree = request.query
    assert not isinstance(tree, str)
    return [one for one in shown if _in_filters(one, request) and _in_query(one, tree)]


def _in_filters(one: Shown, request: Question) -> bool:
    for field, values in request.filters.items():
        if field in ("collection", "year") or not values:
            continue
        if str(one.value(field)) not in values:
            return False
    collections = request.filters.get("collection", ())
    years = request.filters.get("year", ())
    return any(
        (not collections or collection in collections)
        and (not years or timestamp[:4] in years)
        and (request.date_from or "0") <= timestamp <= (request.date_to or "9" * 14)
        for timestamp, collection in one.pairs
    )


def _in_query(one: Shown, node: Node) -> bool:
    match node:
        case All():
            return True
        case Boost():
            return _in_query(one, node.node)
        case DateRange():
            high = node.high or "9" * 14
            return any(node.low <= timestamp <= high for timestamp, _ in one.pairs)
        case Bool():
            must = all(_in_query(one, part) for part in node.must)
            wanted = node.should and not node.must
            should = any(_in_query(one, part) for part in node.should) if wanted else True
            return must and should and not any(_in_query(one, part) for part in node.must_not)
    fields = [node.field] if node.field else list(DEFAULT_FIELDS)
    return any(_in_field(one, node, field) for field in fields)


def _in_field(one: Shown, node: Node, field: str) -> bool:
    text = field in _TEXTS
    match node:
        case Term() | Phrase():
            if not text:
                return one.value(field) is not None and str(one.value(field)) == node.text
            return any(_holds(words(each), words(node.text)) for each in one.texts(field))
        case Wildcard():
            pattern = "".join(words_or_signs(node.pattern)) if text else node.pattern
            return any(fnmatchcase(value, pattern) for value in _values(one, field))
        case Fuzzy():
            word = words(node.text)[0] if text else node.text
            return any(distance(word, value) <= node.distance for value in _values(one, field))
        case Range():
            return any(_between(node, value) for value in _range_values(one, field))
    raise AssertionError(node)


@cache
def words_or_signs(pattern: str) -> list[str]:
    """Split a wildcard pattern into `*`, `?` and indexed words."""
    return [
        piece if piece in "*?" else "".join(words(piece))
        for piece in re.findall(r"[*?]|[^*?]+", pattern)
    ]


def _values(one: Shown, field: str) -> list[str]:
    if field in _TEXTS:
        return one.tokens(field)
    return [] if one.value(field) is None else [str(one.value(field))]


def _range_values(one: Shown, field: str) -> list[str | int]:
    value = one.value(field)
    return [] if value is None else [value]


def _between(node: Range, value: str | int) -> bool:
    convert: Callable[[str], str | int] = int if isinstance(value, int) else str
    for bound, inside, sign in (
        (node.low, node.include_low, 1),
        (node.high, node.include_high, -1),
    ):
        if bound is None:
            continue
        limit = convert(bound)
        if value == limit:
            if not inside:
                return False
        elif (value > limit) != (sign == 1):  # type: ignore[operator]
            return False
    return True


def _holds(tokens: list[str], phrase: list[str]) -> bool:
    width = len(phrase)
    return bool(phrase) and any(
        tokens[n : n + width] == phrase for n in range(len(tokens) - width + 1)
    )


@cache
def distance(a: str, b: str) -> int:
    """Return the edit distance of two words; a transposition of adjacent letters counts as one."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        now = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, now[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]


def fold(one: Shown, collapse: Collapse) -> str:
    """Return the key by which a document is collapsed."""
    if collapse is Collapse.URL:
        return one.document.capture.url
    return (one.document.extract.signature or one.id) if collapse is Collapse.SIMILAR else one.id


def ordered(found: Iterable[Shown], sort: Sort, collapse: Collapse) -> list[Shown]:
    """Return documents by their oldest or newest date, only the first of each collapsed group."""
    newest = sort is not Sort.OLDEST  # also for inlinks, as links are not inverted
    pick = max if newest else min
    by_id = sorted(found, key=lambda one: one.id)
    by_date = sorted(by_id, key=lambda one: pick(date for date, _ in one.pairs), reverse=newest)
    if sort is Sort.RELEVANCE:
        by_date.sort(key=_is_below)
    folds: dict[str, Shown] = {}
    for one in by_date:
        folds.setdefault(fold(one, collapse), one)
    return list(folds.values())


def _is_below(one: Shown) -> bool:
    capture, problems = one.document.capture, one.document.extract.problems
    return is_below_pages(capture.content_type_norm, capture.status_code, problems)


def facets(shown: Iterable[Shown], request: Question) -> Mapping[str, dict[str, int]]:
    """Return the counts of facets; each ignores the filter on its own field."""
    all_of = list(shown)
    return {name: _facet(all_of, request, name) for name in request.facets}


def _facet(shown: Iterable[Shown], request: Question, name: str) -> dict[str, int]:
    filters = {field: values for field, values in request.filters.items() if field != name}
    others = replace(request, filters=filters)
    if name == "year":
        others = replace(others, date_from="", date_to="")
    counts: Counter[str] = Counter()
    for one in matching(shown, others):
        if name == "year":
            counts.update({timestamp[:4] for timestamp, _ in one.pairs})
        elif name == "collection":
            counts.update({collection for _, collection in one.pairs})
        elif one.value(name) is not None:
            counts[str(one.value(name))] += 1
    return dict(counts)
