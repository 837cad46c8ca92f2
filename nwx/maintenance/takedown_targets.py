"""Captures, documents and files of a takedown: by URL, digest or archive file."""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace

from nwx.engine.access.access_index import AccessIndex, purged_seen
from nwx.engine.access.aclj import between, scope_of
from nwx.engine.access.decisions import AccessRules, AskedCapture
from nwx.engine.access.matches import SUBJECT_STARTS, reached_keys
from nwx.engine.access.rules import AccessRule, Action, Scope, checked_rule
from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import CrawlIndex, StoredSpecification
from nwx.engine.indices.digest_index import held_digest
from nwx.errors import SpecificationError, UrlError, UsageError
from nwx.model import MAIN_DATES, Capture, Dates
from nwx.steering.specifications.specification_files import read_specification, write_specification
from nwx.values.urlkeys import urlkey
from nwx.values.urls import url_parts

_BEHIND = chr(0x10FFFF)


def takedown_scope(engine: Engine, target: str) -> Scope:
    """Return the scope that a text names: an archive file, else as `scope_of` reads it.

    Raises UsageError if it is neither, or the whole archive, or of a scheme that is neither usual
    nor in the archive.
    """
    text = target.strip()
    is_file = "://" not in text and "*" not in text and _is_file(engine, text)
    scope = Scope(url=text, source_file=text) if is_file else scope_of(text)
    if scope.is_everything:
        raise UsageError("all captures cannot be taken down at once; name a URL, digest or file")
    if "://" in text and not url_parts(text).host and not _has_captures(engine, scope.prefix):
        scheme = text.partition(":")[0]
        raise UsageError(f"no capture has the scheme {scheme!r}; write http://HOST/PATH")
    return replace(scope, digest=held_digest(engine, scope.digest))


def asked_takedown(engine: Engine, target: str, collection: str, since: str, to: str) -> Scope:
    """Return the scope that a text names, limited to a collection and dates."""
    scope = between(takedown_scope(engine, target), since, to)
    return replace(scope, collection=collection)


def _has_captures(engine: Engine, prefix: str) -> bool:
    return any(True for _ in engine.captures(prefix, f"{prefix}{_BEHIND}"))


def _is_file(engine: Engine, name: str) -> bool:
    return any(name in (file.name, file.name.partition("#")[0]) for file in engine.files())


def takedown_rule(
    engine: Engine, scope: Scope, reason: str, *, purged: bool, by: str = ""
) -> AccessRule:
    """Exclude the captures of a scope from now on; return the stored rule.

    With `purged`, imports leave them out too. An existing rule of the same scope is changed; a
    purging rule stays one, and the old reason is kept if `reason` is empty.
    """
    access = engine.access_index()
    wanted = checked_rule(AccessRule("", Action.EXCLUDE, scope, reason=reason, purged=purged))
    for known in access.rules().rules:
        if known.id == wanted.id:
            wanted = replace(wanted, reason=reason or known.reason)
    return access.put([wanted], by)[0]


class ScopeCaptures:
    """The captures in a rule's scope, regardless of other rules."""

    def __init__(self, engine: Engine, rule: AccessRule) -> None:
        self._engine, self._scope = engine, rule.scope
        self._rules = AccessRules((rule,))
        self._host = _host_of(rule.scope)

    @property
    def has_whole_documents(self) -> bool:
        """Whether all captures of a document are in the scope if one is."""
        scope = self._scope
        return not (scope.collection or scope.source_file or scope.date_from or scope.date_to)

    def has(self, capture: Capture) -> bool:
        """Return whether a capture is in the scope."""
        return self._rules.purges(capture)

    def has_url(self, url: str) -> bool:
        """Return whether the scope covers all captures of a URL, existing or not."""
        if self._scope.digest or not self.has_whole_documents:
            return False
        try:
            return self._rules.purges(AskedCapture(urlkey(url), url))
        except UrlError:
            return False

    def captures(self) -> Iterator[Capture]:
        """Yield the captures of the scope, each once."""
        return filter(self.has, self._candidates())

    def _candidates(self) -> Iterator[Capture]:
        """Yield a superset of the captures of the scope."""
        if not self._scope.prefix or self._scope.digest:
            yield from (capture for capture, _ in self._engine.captures_since(""))
            return
        for start, end in _apart(self._spans()):
            yield from self._engine.captures(start, end)

    def _spans(self) -> Iterator[tuple[str, str]]:
        keys, starts = reached_keys(self._scope)
        for key in keys:
            yield key, f"{key}\0"
            bodies = f"{key.partition('?')[0]}?"
            yield bodies, f"{bodies}{_BEHIND}"
        for start in (*starts, *SUBJECT_STARTS):
            yield start, f"{start}{_BEHIND}"

    def dates(self, place: str = MAIN_DATES) -> Iterator[Dates]:
        """Yield the dates of the scope in an index; none for a scope with a file."""
        if self._scope.source_file:
            return
        for dates in self._engine.scan_dates(place):
            if self._host in dates.key.lower() or not dates.key.isascii() or "%" in dates.key:
                seen = purged_seen(self._rules, dates)
                if seen:
                    yield Dates(dates.key, seen)


def _host_of(scope: Scope) -> str:
    """Return the host that all URLs of a scope contain, "" if unknown."""
    labels = scope.prefix.partition(")")[0].partition(":")[0].strip(",").split(",")
    return ".".join(reversed(labels))


def _apart(spans: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield non-overlapping spans of urlkeys that cover all of these."""
    reached = ""
    for start, end in sorted(spans):
        if end > reached:
            yield max(start, reached), end
            reached = end


_STATE = "purged-records-{}"


@dataclass(frozen=True, slots=True, order=True)
class RecordPlace:
    """A record in an archive file that still holds purged data; `length` as stored."""

    collection: str
    file: str
    offset: int
    length: int | None
    record_type: str


def record_place(capture: Capture) -> RecordPlace:
    """Return the location of a capture's record."""
    file, offset, length = capture.source_file, capture.source_file_offset, capture.record_length
    return RecordPlace(capture.collection, file, offset, length, capture.record_type)


def kept_places(access: AccessIndex, rule_id: str) -> list[RecordPlace]:
    """Return the records that purges of a rule have found, in the order of files."""
    state = access.state(_STATE.format(rule_id))
    return [RecordPlace(**one) for one in json.loads(zlib.decompress(state))] if state else []


def keep_places(access: AccessIndex, rule_id: str, places: Iterable[RecordPlace]) -> None:
    """Add records to the stored places of a rule's purges."""
    known = kept_places(access, rule_id)
    every = sorted({*known, *places}, key=lambda one: (one.collection, one.file, one.offset))
    if len(every) > len(known):
        text = json.dumps([asdict(one) for one in every])
        access.put_state(_STATE.format(rule_id), zlib.compress(text.encode()))


IsGone = Callable[[str], bool]
"""Returns whether a URL was purged."""

_URL = re.compile(r"https?://[^\s\"'<>\\]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpecificationCounts:
    """How many saved specifications lost seeds, and which still name purged URLs."""

    changed: int = 0
    naming: tuple[str, ...] = ()


def remove_seeds(crawls: CrawlIndex, is_gone: IsGone) -> SpecificationCounts:
    """Remove purged seeds from all saved specifications, earlier versions included.

    A changed text is rewritten, without its comments. A purged URL named elsewhere, or in an
    unreadable text, is kept and reported: people wrote these texts about a crawl.
    """
    changed, naming = 0, []
    for crawl in crawls.specifications():
        for stored in crawls.versions(crawl.name):
            if not _names(stored.text, is_gone):
                continue
            text = _without_seeds(stored, is_gone)
            if text != stored.text:
                crawls.replace_specification(replace(stored, text=text))
                changed += 1
            if _names(text, is_gone):
                naming.append(f"{stored.name} (number {stored.number})")
    return SpecificationCounts(changed, tuple(naming))


def _names(text: str, is_gone: IsGone) -> bool:
    return any(is_gone(found[0]) for found in _URL.finditer(text))


def _without_seeds(stored: StoredSpecification, is_gone: IsGone) -> str:
    try:
        read = read_specification(stored.text, stored.name)
    except SpecificationError:
        return stored.text  # saved by a release that accepted more
    seeds = tuple(seed for seed in read.seeds if not is_gone(seed))
    like = tuple(example for example in read.like if not ("//" in example and is_gone(example)))
    if (seeds, like) == (read.seeds, read.like):
        return stored.text
    kept = replace(read, seeds=seeds, like=like)
    return write_specification(kept, "json" if stored.text.lstrip().startswith("{") else "toml")
