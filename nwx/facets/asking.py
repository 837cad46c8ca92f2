"""Facet questions from the texts that people and programs write."""

import re
from collections.abc import Sequence

from nwx.errors import UsageError
from nwx.facets.criteria import DESCRIPTIONS, UNKNOWN, Criterion
from nwx.facets.question import FEATURES, FacetCondition, FacetQuestion, Feature

MAX_BY = 2
MAX_CONDITIONS = 100
MAX_VALUES = 10_000

_CONDITION = re.compile(r"\s*([a-z_]+)\s*(!?=)(.*)", re.DOTALL | re.IGNORECASE)
_SEPARATOR = re.compile(r"(?<!\\),")
_YEAR = re.compile(r"[0-9]{4}")
_MONTH = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")


def parse_facet_question(
    where: Sequence[str] = (),
    by: str = "",
    sort: str = "",
    features: Sequence[Feature] = (),
    order: str = "",
    limit: int | None = None,
) -> FacetQuestion:
    """Return the question of conditions and the list that is wanted, all as written.

    `sort` is a feature or `value`; without it, lists by what has an order
    of its own are in that order, others in that of the first feature.
    Raises UsageError on what makes no sense.
    """
    if len(where) > MAX_CONDITIONS:
        raise UsageError(f"{len(where)} conditions are given; at most {MAX_CONDITIONS} are taken")
    names = tuple(_criterion(name) for name in by.split(",") if name.strip())
    if len(names) > MAX_BY or len(set(names)) < len(names):
        raise UsageError(f"by is {by!r}; name one criterion or two different ones")
    wanted = _sort(sort, names, features)
    return FacetQuestion(
        where=tuple(map(parse_condition, where)),
        by=names,
        sort=wanted,
        reverse=_is_reverse(order, wanted),
        limit=limit,
    )


def parse_features(text: str) -> tuple[Feature, ...]:
    """Return the features of a list with commas between, all of an empty one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(map(_feature, dict.fromkeys(names))) or tuple(FEATURES)


def parse_condition(text: str) -> FacetCondition:
    """Return a condition: `tld=fr,be`, `month=2013-01..2013-12`, `type!=html`.

    Raises UsageError on what is none.
    """
    parts = _CONDITION.fullmatch(text)
    if not parts:
        raise UsageError(
            f"{text[:200]!r} is no condition; write CRITERION=VALUE or CRITERION!=VALUE"
        )
    criterion, negated, rest = _criterion(parts[1]), parts[2] == "!=", parts[3].strip()
    if DESCRIPTIONS[criterion].spans and ".." in rest:
        low, _, high = rest.partition("..")
        low, high = _end(criterion, low.strip()), _end(criterion, high.strip())
        return FacetCondition(criterion, low=low, high=high, negated=negated)
    found = [value.replace("\\,", ",").strip() for value in _SEPARATOR.split(rest)]
    values = [one for value in found for one in _values(criterion, value)]
    if not all(values):
        raise UsageError(f"{text[:200]!r} has an empty value; write CRITERION=VALUE,VALUE")
    if len(values) > MAX_VALUES:
        raise UsageError(f"{criterion} has {len(values)} values; at most {MAX_VALUES} are taken")
    return FacetCondition(criterion, tuple(dict.fromkeys(values)), negated=negated)


def _criterion(text: str) -> Criterion:
    name = text.strip().lower()
    if name not in set(Criterion):
        raise UsageError(f"there is no criterion {text[:80]!r}; use {', '.join(Criterion)}")
    return Criterion(name)


def _feature(text: str) -> Feature:
    if text not in set(Feature):
        raise UsageError(f"there is no feature {text[:80]!r}; use {', '.join(Feature)}")
    return Feature(text)


def _values(criterion: Criterion, value: str) -> list[str]:
    """Return the values of one that is written; a year stands for its months."""
    known = DESCRIPTIONS[criterion].values
    if criterion is Criterion.MONTH:
        if _YEAR.fullmatch(value):
            return [f"{value}-{month:02}" for month in range(1, 13)]
        if value != UNKNOWN and not _MONTH.fullmatch(value):
            raise UsageError(f"{value[:80]!r} is no month; write 2013-01, or 2013 for the year")
    elif criterion in (Criterion.SITE, Criterion.TLD):
        return [value.lower() if criterion is Criterion.TLD else value]
    elif known:
        value = _known(criterion, value)
    return [value]


def _end(criterion: Criterion, value: str) -> str:
    """Return the end of a span, "" where it is open."""
    if not value:
        return ""
    if criterion is Criterion.MONTH:
        if not (_YEAR.fullmatch(value) or _MONTH.fullmatch(value)):
            raise UsageError(f"{value[:80]!r} is no month; write 2013-01..2013-12")
        return value
    if _known(criterion, value) == UNKNOWN:
        raise UsageError(f"the unknown has no place in a span of {criterion}")
    return _known(criterion, value)


def _known(criterion: Criterion, value: str) -> str:
    values = DESCRIPTIONS[criterion].values
    # FacetRedux writes its sizes with a dash.
    plain = value.replace("–", "-")
    for one in values:
        if one.lower() == plain.lower():
            return one
    if criterion is Criterion.DEPTH and plain.isascii() and plain.isdigit():
        return values[-2]
    raise UsageError(f"{value[:80]!r} is no {criterion}; use {', '.join(values)}")


def _sort(text: str, by: Sequence[Criterion], features: Sequence[Feature]) -> Feature | None:
    if text:
        return None if text == "value" else _feature(text)
    if by and all(DESCRIPTIONS[name].ordinal for name in by):
        return None
    return features[0] if features else Feature.CAPTURES


def _is_reverse(order: str, sort: Feature | None) -> bool:
    if order not in ("", "asc", "desc"):
        raise UsageError(f"order is {order[:80]!r}; write asc or desc")
    return bool(order) and (order == "desc") == (sort is None)
