"""Purge of a rule's captures from all indices of an archive and from their files.

Captures are deleted last, because everything else is found through them: running a killed purge
again finishes it.
"""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from nwx.access.restricted_engine import restricted_to
from nwx.bulk.progress import ShowProgress, WorkProgress, batches, no_progress
from nwx.engine.access.access_index import noted_purge, rule_entry
from nwx.engine.access.rules import EVERYBODY, AccessRule, Scope, viewer_named_by
from nwx.engine.base import Engine, open_engine
from nwx.engine.indices.quality_index import review_index
from nwx.keys import capture_key, document_id, document_key
from nwx.links.build import OpenEngine
from nwx.maintenance.takedown_targets import (
    RecordPlace,
    ScopeCaptures,
    keep_places,
    kept_places,
    record_place,
    remove_seeds,
    takedown_rule,
)
from nwx.maintenance.takedown_updates import (
    LedgerCounts,
    PurgedDocuments,
    page_of,
    rebuild,
    remove_graphs,
)
from nwx.model import MAIN_DATES, Capture, Dates, IndexName, NamedDates
from nwx.settings import Settings

_T = TypeVar("_T")

_AT_ONCE = 500
_DATES_AT_ONCE = 5_000
ERASE_SECONDS = 90.0
"""How long to wait for readers of the files, and for a server to drop what it retains."""


@dataclass(slots=True)
class PurgeReport:
    """Results of a purge.

    `documents` were deleted, and `pictures` with the texts of pages about them; `moved` documents
    now belong to another capture with the same text. `rebuilt` are the rebuilt indices. `records`
    still hold the captures in archive files, including records from earlier purges of the rule.
    `left` are files or indices of the archive with deleted entries that could not be erased yet,
    `away` the indices with copies on unreachable nodes, `naming` the saved crawl specifications
    that name purged URLs elsewhere than in their seeds, and `elsewhere` the dates indices of other
    archives with dates of these captures.
    """

    captures: int = 0
    documents: int = 0
    moved: int = 0
    dates: int = 0
    scores: int = 0
    checks: int = 0
    pictures: int = 0
    graphs: int = 0
    specifications: int = 0
    rebuilt: tuple[str, ...] = ()
    records: tuple[RecordPlace, ...] = ()
    left: tuple[str, ...] = ()
    away: tuple[str, ...] = ()
    naming: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(slots=True)
class _Found:
    """Documents, URLs, pages and record places to remove from indices that are scanned once."""

    documents: set[str] = field(default_factory=set)
    urls: set[str] = field(default_factory=set)
    pages: list[tuple[str, str]] = field(default_factory=list)
    places: list[RecordPlace] = field(default_factory=list)
    digests: set[str] = field(default_factory=set)
    followed: list[Capture] = field(default_factory=list)


class Purge:
    """Purges the captures of a stored rule; for one run."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        open_engine: OpenEngine,
        rule: AccessRule,
        progress: ShowProgress = no_progress,
        erase_seconds: float = ERASE_SECONDS,
    ) -> None:
        self._engine, self._settings, self._rule = engine, settings, rule
        self._open_engine, self._progress = open_engine, progress
        self._erase_seconds = erase_seconds
        self._scope = ScopeCaptures(engine, rule)
        self._documents = PurgedDocuments(engine, self._scope)
        self._purger = engine.purger()
        self._found = _Found()
        self._report = PurgeReport()

    def run(self) -> PurgeReport:
        """Purge the captures and return the report.

        Raises EngineBusyError if another process writes.
        """
        began, report = time.monotonic(), self._report
        self._engine.create()
        with noted_purge(self._engine.access_index(), self._rule.id):
            self._run()
        report.seconds = time.monotonic() - began
        return report

    def _run(self) -> None:
        access, report = self._engine.access_index(), self._report
        self._documents.restore()
        self._remove_dates()
        for captures in batches(self._scope.captures(), _AT_ONCE):
            self._take(captures)
        self._remove_scores()
        keep_places(access, self._rule.id, self._found.places)
        counts = LedgerCounts(self._engine, self._rule.id)
        counts.plan(self._found.places)
        self._remove_digests()
        self._remove_captures()
        counts.settle()
        self._engine.refresh()
        report.rebuilt = tuple(rebuild(self._engine, self._open_engine, self._progress))
        self._show("erasing")
        report.left = self._purger.erase(self._erase_seconds)
        report.away = self._purger.copies_away()
        report.records = tuple(kept_places(access, self._rule.id))

    def _show(self, step: str) -> None:
        self._progress(WorkProgress(step, self._report.captures, 0))

    def _remove_dates(self) -> None:
        """Remove the dates known to be in the scope without reading captures."""
        elsewhere = []
        for index in self._engine.dates_indices():
            if index.name != MAIN_DATES and not self._is_own(index):
                if next(self._dates_of(index.name), None):
                    elsewhere.append(index.address)
                continue
            for dates in batches(self._dates_of(index.name), _DATES_AT_ONCE):
                self._report.dates += self._purger.remove_dates(index.name, dates)
                self._found.documents.update(document_id(one.key) for one in dates)
        self._take_documents(list(self._found.documents))
        self._report.elsewhere = tuple(elsewhere)

    def _is_own(self, index: NamedDates) -> bool:
        return index.name in self._purger.own_dates()

    def _dates_of(self, name: str) -> Iterator[Dates]:
        return self._scope.dates(name)

    def _take(self, captures: list[Capture]) -> None:
        self._report.captures += len(captures)
        self._show("purging")
        ids = {one.document_id for one in captures if one.document_id}
        own = {document_id(capture_key(one)) for one in captures if one.document_id}
        self._take_documents([*ids, *own])
        self._remove_dates_of(captures)
        places = [record_place(one) for one in captures]
        self._found.places += places
        self._found.digests |= {one.digest for one in captures if one.digest}
        self._found.followed += self._engine.change_log().followed(captures)
        self._found.documents |= ids | own
        self._found.pages += filter(None, map(page_of, captures))
        self._found.urls |= self._gone_urls(captures)
        checked = [f"{one.collection}/{one.file}@{one.offset}" for one in places]
        self._report.checks += self._engine.quality_index().remove(checked)
        review_index(self._engine).remove(checked)

    def _take_documents(self, ids: list[str]) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            counts = self._documents.take(ids[start : start + _AT_ONCE])
            self._report.documents += counts.removed
            self._report.moved += counts.moved

    def _remove_dates_of(self, captures: list[Capture]) -> None:
        """Remove the dates of captures, except those of other captures of the same document."""
        seen: dict[str, set[tuple[str, str]]] = {}
        for one in captures:
            if one.document_id:
                key = document_key(one.url, one.digest)
                seen.setdefault(key, set()).add((one.timestamp, one.collection))
        for one in self._staying(captures):
            seen.get(document_key(one.url, one.digest), set()).discard(
                (one.timestamp, one.collection)
            )
        dates = [Dates(key, tuple(sorted(pairs))) for key, pairs in seen.items() if pairs]
        for name in (MAIN_DATES, *self._purger.own_dates()):
            self._report.dates += self._purger.remove_dates(name, dates)

    def _staying(self, captures: list[Capture]) -> Iterator[Capture]:
        """Yield the remaining captures of the same urlkeys."""
        if not self._scope.has_whole_documents:
            for urlkey in dict.fromkeys(one.urlkey for one in captures):
                yield from (
                    one for one in self._engine.captures(urlkey) if not self._scope.has(one)
                )

    def _gone_urls(self, captures: list[Capture]) -> set[str]:
        staying = {one.url for one in self._staying(captures)}
        return {one.url for one in captures} - staying

    def _remove_scores(self) -> None:
        found, report = self._found, self._report
        if not found.places and not found.documents:
            return
        crawls = self._engine.crawl_index()
        seeds = remove_seeds(crawls, self._is_gone)
        report.specifications, report.naming = seeds.changed, seeds.naming
        report.scores = crawls.remove_documents(found.documents, found.urls)
        self._engine.crawl_queue().forget_pages(found.urls)
        self._engine.outbox().forget_pages(found.urls)
        pictures = self._engine.picture_index()
        if pictures.is_made():
            report.pictures = pictures.remove(found.documents)
        vectors = self._engine.vector_index()
        if vectors.is_made():
            vectors.remove(found.documents - set(self._engine.known(found.documents)))
        report.graphs = remove_graphs(self._engine, self._settings, found.pages)

    def _is_gone(self, url: str) -> bool:
        return url in self._found.urls or self._scope.has_url(url)

    def _remove_digests(self) -> None:
        """Remove the additional digests of payloads that only captures of the scope have."""
        engine, has = self._engine, self._scope.has
        if engine.digests.is_made():
            digests = self._found.digests
            gone = {one for one in digests if all(map(has, engine.captures_of_digest(one)))}
            engine.digests.remove(gone)

    def _remove_captures(self) -> None:
        places = self._found.places
        ids = [f"{one.collection}/{one.file}@{one.offset}" for one in places]
        # Logged first: followers get the deletions while the captures still exist.
        self._engine.change_log().add_deleted(self._found.followed, self._engine.aliases)
        for start in range(0, len(ids), _AT_ONCE):
            self._engine.delete(IndexName.CAPTURES, ids[start : start + _AT_ONCE])


_COUNTED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class TakenCaptures:
    """Number, dates and places of the captures that a rule excludes.

    `files` are names of archive files. `shown` counts those that a reader still saw when this was
    counted, 0 unless other rules allow them. `named` are the rules that let the viewers they name
    see some.
    """

    captures: int = 0
    first: str = ""
    last: str = ""
    collections: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    shown: int = 0
    named: tuple[str, ...] = ()

    def words(self) -> str:
        """Return number and dates in words; "" without captures."""
        if not self.captures:
            return ""
        first, last = (f"{one[:4]}-{one[4:6]}-{one[6:8]}" for one in (self.first, self.last))
        noun = "capture" if self.captures == 1 else "captures"
        return f"{self.captures:,} {noun}, {first}" + (f" to {last}" if last != first else "")


def taken_captures(engine: Engine, rule: AccessRule, progress: ShowProgress) -> TakenCaptures:
    """Return the captures that a stored rule excludes, and how many readers still see."""
    found, dates, places = 0, ("", ""), set()
    scope, rules = replace(rule, purged=True), engine.access_index().rules()
    viewers = {viewer_named_by(one) for one in rules.rules if one.names_viewers}
    views, named = list(map(rules.for_viewer, viewers)), set[str]()
    for one in ScopeCaptures(engine, scope).captures():
        found += 1
        dates = (min(dates[0] or one.timestamp, one.timestamp), max(dates[1], one.timestamp))
        places.add((one.collection, one.source_file))
        decided = (view.decide(one) for view in views)
        named |= {
            told.rule.id
            for told in decided
            if told.rule and told.rule.names_viewers and not told.is_hidden
        }
        if found % _COUNTED_AT_ONCE == 0:
            progress(WorkProgress("counting", found, 0))
    readers = ScopeCaptures(restricted_to(engine, EVERYBODY), scope)
    shown = sum(1 for _ in readers.captures()) if found else 0
    collections, files = (tuple(sorted({one[n] for one in places})) for n in range(2))
    return TakenCaptures(found, *dates, collections, files, shown, tuple(sorted(named)))


def takedown_sheet(
    rule: AccessRule, taken: TakenCaptures, purge: PurgeReport | None, by: str
) -> str:
    """Return a sheet in Markdown: what was taken down, where, when, by whom, verified how.

    What earlier runs of the purge removed is included.
    """
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    records = purge.records if purge else ()
    earlier = max(len(records) - taken.captures, 0)
    before = f"{earlier:,} purged in an earlier run" if earlier else ""
    collections = {*taken.collections, *(one.collection for one in records)}
    files = {*taken.files, *(one.file for one in records)}
    verified = (
        f"on {now} the archive was asked for these captures as a reader without rights:"
        f" it showed {taken.shown:,} of {taken.captures + earlier:,}"
    )
    if taken.named:
        verified += f"; viewers named by the rules {', '.join(taken.named)} still see some"
    rows = (
        (
            "What",
            f"{rule.scope.url}: "
            + (", and ".join(filter(None, (taken.words(), before))) or "no captures yet"),
        ),
        ("Where", ", ".join(sorted(collections)) or "in no collection yet"),
        ("Files", ", ".join(sorted(files)) or "none"),
        ("When", now),
        ("By", by or "unknown"),
        ("Reason", rule.reason or "none given"),
        (
            "Done",
            f"excluded by rule {rule.id}" + (", and purged from all indices" if purge else ""),
        ),
        ("Verified", verified),
    )
    return "# Takedown\n\n" + "".join(f"- **{name}**: {text}\n" for name, text in rows)


@dataclass(frozen=True, slots=True)
class Takedown:
    """The rule that excludes captures, and what a purge removed."""

    rule: AccessRule
    taken: TakenCaptures
    purge: PurgeReport | None
    by: str = ""

    def values(self) -> dict[str, Any]:
        """Return the takedown as JSON values."""
        rule = rule_entry(self.rule) | {"id": self.rule.id}
        purge = asdict(self.purge) if self.purge else None
        return {"rule": rule, "taken": asdict(self.taken), "purge": purge}

    def sheet(self) -> str:
        """Return a sheet in Markdown for the owner: what, where, when, by whom, verified how."""
        return takedown_sheet(self.rule, self.taken, self.purge, self.by)


def take_down(
    engine: Engine,
    settings: Settings,
    scope: Scope,
    reason: str,
    *,
    by: str,
    purge: bool,
    progress: ShowProgress,
) -> Takedown:
    """Exclude the captures of a scope; with `purge`, also purge them."""
    rule = takedown_rule(engine, scope, reason, purged=purge, by=by)
    taken = taken_captures(engine, rule, progress)
    if not purge:
        return Takedown(rule, taken, None, by)
    opening = partial(open_engine, settings, read_only=True)
    report = Purge(engine, settings, opening, rule, progress).run()
    return Takedown(rule, taken, report, by)
