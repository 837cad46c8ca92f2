"""Field values, filters and collapsing of CDX queries, in the grammar of each dialect."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from operator import itemgetter

import re2

from nwx.cdx.layouts import CDX_FIELDS, DIGEST, EXTRA_FIELDS, FIELD_PLACES, MIME, NO_VALUE
from nwx.cdx.rows import REVISIT, CdxRow, extra_fields
from nwx.errors import CdxQueryError, DigestError
from nwx.values.digests import DigestForm, normal_digest, spell


@lru_cache(maxsize=4_096)
def spelled(digest: str, form: DigestForm) -> str:
    """Return a digest in another spelling; an invalid one only loses its algorithm prefix."""
    bare = digest.rpartition(":")[2]
    if form is DigestForm.BARE:
        return bare
    try:
        return spell(normal_digest(digest), form)
    except DigestError:
        return digest if form is DigestForm.NORMAL else bare


@lru_cache(maxsize=4_096)
def normal_or_same(digest: str) -> str:
    """Return the normal form of a digest, an invalid one unchanged."""
    try:
        return normal_digest(digest)
    except DigestError:
        return digest


Value = Callable[[CdxRow], str]


def field_value(name: str, parameter: str, form: DigestForm | None = None) -> Value:
    """Return a function that reads a field of a row, with digests spelled as `form`.

    `name` may be the number of a field of a CDX line, from 0. Raises CdxQueryError on any other
    name.
    """
    place = column_of(name)
    if place == DIGEST and form is not None:
        return lambda row: spelled(row.digest, form)
    if place is not None:
        return lambda row: row[place] or NO_VALUE
    extra = EXTRA_FIELDS.get(name)
    if extra is None:
        known = ", ".join((*FIELD_PLACES, *EXTRA_FIELDS))
        raise CdxQueryError(f"{parameter} has an unknown field {name[:40]!r}; use {known}")
    return lambda row: extra_fields(row).get(extra, NO_VALUE)


def column_of(name: str) -> int | None:
    """Return the column of a field, None if not every row has the field."""
    if name.isascii() and name.isdigit() and len(name) < 3 and int(name) < len(CDX_FIELDS):
        return int(name)
    return FIELD_PLACES.get(name)


def field_values(
    names: Sequence[str], form: DigestForm | None
) -> Callable[[CdxRow], tuple[str, ...]]:
    """Return a function that reads several fields of a row, in the order of `names`."""
    places = [column_of(name) for name in names]
    wanted = list(range(len(places)))
    if form is None and places == wanted:
        end = len(places)
        return lambda row: row[:end]
    if len(places) < 2 or any(place is None for place in places):
        readers = [field_value(name, "fl", form) for name in names]
        return lambda row: tuple([read(row) for read in readers])
    columns = [place for place in places if place is not None]
    digests = [number for number, place in enumerate(columns) if place == DIGEST]
    return _of_columns(itemgetter(*columns), digests if form is not None else (), form)


def _of_columns(
    read: Callable[[CdxRow], tuple[str, ...]], digests: Sequence[int], form: DigestForm | None
) -> Callable[[CdxRow], tuple[str, ...]]:
    """Return a function that reads columns, with the digests among them spelled as `form`."""

    def values(row: CdxRow) -> tuple[str, ...]:
        found = read(row)
        if "" in found:
            found = tuple([value or NO_VALUE for value in found])
        if form is None or not digests:
            return found
        written = list(found)
        for number in digests:
            written[number] = spelled(row.digest, form)
        return tuple(written)

    return values


MOST_FILTER_CHARACTERS = 1_000
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

Test = Callable[[str], bool]


class Grammar(StrEnum):
    """The filter syntax of a dialect.

    IA: `[~][!][field:]expression`; the expression matches the whole value, with `~` it is a text
    contained in it. OUTBACK: the same, but the field is required. PYWB: `[!][=|~][field:]text`; a
    text contained in the value, with `=` equal to it, with `~` an expression matching its start.
    """

    IA = "ia"
    PYWB = "pywb"
    OUTBACK = "outback"


@dataclass(frozen=True, slots=True)
class CdxFilter:
    """A condition on rows; `digest` is the digest it compares with, in normal form, "" if none."""

    keeps: Callable[[CdxRow], bool]
    refuses_revisits: bool
    digest: str = ""
    inverted: bool = False

    def for_digests(self, digests: Sequence[str]) -> "CdxFilter":
        """Return the same condition for all digests of one payload."""
        wanted = frozenset(digests)
        test = lambda row: (normal_or_same(row.digest) in wanted) != self.inverted  # noqa: E731
        return replace(self, keeps=test)


@dataclass(frozen=True, slots=True)
class Collapsing:
    """A rule that reduces consecutive captures with equal values to the first, or the last."""

    value: Callable[[CdxRow], str]
    last: bool = False


def parse_filter(spec: str, grammar: Grammar, form: DigestForm | None) -> CdxFilter:
    """Parse a filter parameter, which applies to digests spelled as `form`.

    A complete digest matches every spelling of it. Raises CdxQueryError on an invalid filter.
    """
    if len(spec) > MOST_FILTER_CHARACTERS:
        raise CdxQueryError(
            f"filter has {len(spec)} characters; at most {MOST_FILTER_CHARACTERS} are allowed"
        )
    inverted, mark, rest = _marks_of(spec, grammar)
    name, colon, text = rest.partition(":")
    if not colon:
        if grammar is Grammar.OUTBACK:
            raise CdxQueryError(f"filter is {spec!r}; write [~][!]FIELD:EXPRESSION")
        name, text = "", rest
    place = column_of(name) if name else None
    value = field_value(name, "filter", form) if name else _line(form)
    digest = _whole_digest(text) if place == DIGEST else ""
    if digest:
        return CdxFilter(lambda _: True, False, digest, inverted).for_digests([digest])
    test = _test(text, _kind(mark, grammar), spec)
    return CdxFilter(_keeping(value, test, inverted), place == MIME and test(REVISIT) == inverted)


def _keeping(value: Value, test: Test, inverted: bool) -> Callable[[CdxRow], bool]:
    if inverted:
        return lambda row: not test(value(row))
    return lambda row: test(value(row))


def _marks_of(spec: str, grammar: Grammar) -> tuple[bool, str, str]:
    """Return whether a filter is inverted, its mark (`=`, `~` or ""), and the rest."""
    if grammar is Grammar.PYWB:
        inverted = spec.startswith("!")
        rest = spec[inverted:]
        mark = rest[:1] if rest.startswith(("=", "~")) else ""
        return inverted, mark, rest[len(mark) :]
    mark = spec[:1] if spec.startswith("~") else ""
    rest = spec[len(mark) :]
    inverted = rest.startswith("!")
    return inverted, mark, rest[inverted:]


def _kind(mark: str, grammar: Grammar) -> str:
    if grammar is Grammar.PYWB:
        return {"": "part", "=": "equal", "~": "start"}[mark]
    return "part" if mark else "whole"


def _test(text: str, kind: str, spec: str) -> Test:
    if kind == "part":
        return lambda value: text in value
    if kind == "equal" or (kind == "whole" and not _SPECIAL.search(text)):
        return lambda value: value == text
    expression = _compiled(text, spec)
    match = expression.fullmatch if kind == "whole" else expression.match
    return lambda value: match(value.encode("utf-8", "surrogateescape")) is not None


def _compiled(text: str, spec: str) -> "re2._Regexp[bytes]":
    try:
        return re2.compile(text.encode("utf-8", "surrogateescape"), _OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise CdxQueryError(
            f"filter {spec[:80]!r} cannot be matched in linear time: {words}"
        ) from error


def _whole_digest(text: str) -> str:
    """Return the normal form of a digest, "" if the text is not a complete digest."""
    try:
        return normal_digest(text)
    except DigestError:
        return ""


def _line(form: DigestForm | None) -> Value:
    values = field_values(CDX_FIELDS, form)
    return lambda row: " ".join(values(row))


def parse_collapse(spec: str, parameter: str, *, last: bool = False) -> Collapsing:
    """Parse `field` or `field:N` (first N characters); raises CdxQueryError on anything else."""
    name, colon, number = spec.partition(":")
    value = field_value(name, parameter, DigestForm.BARE)
    if not colon and column_of(name) == DIGEST:
        return Collapsing(lambda row: normal_or_same(row.digest), last)
    if not colon:
        return Collapsing(value, last)
    if not (number.isascii() and number.isdigit() and len(number) < 6):
        raise CdxQueryError(f"{parameter} is {spec[:80]!r}; write FIELD or FIELD:CHARACTERS")
    length = int(number)
    return Collapsing(lambda row: value(row)[:length], last)


def by_time_and_status(digits: int) -> Collapsing:
    """Return the collapsing of pywb's collapseTime: by `digits` of the timestamp, and status."""
    return Collapsing(lambda row: f"{row.timestamp[:digits]} {row.status}")
