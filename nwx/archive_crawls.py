"""Crawls in the Python API: specifications, the queue, analysis, triples."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from nwx.answers.tables import Rows
from nwx.archive_work import ArchiveWork
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.errors import NwxError, UsageError
from nwx.values.arguments import check_limit, chosen
from nwx.values.timestamps import DateOption
from nwx.values.urls import asked_host, host_parts

if TYPE_CHECKING:  # a program loads the areas that it uses
    from pathlib import Path

    from nwx.engine.indices.crawl_index import AnalysedVersion, ScoredLink, StoredSpecification
    from nwx.engine.indices.crawl_queue import PutCounts, QueueCounts, QueuedUrl, UrlUpdate
    from nwx.quality.monitor.report import MonitorReport
    from nwx.steering.adapters.heritrix_feed import FeedCounts, FeedOptions
    from nwx.steering.comparison.comparison import CollectionComparison
    from nwx.steering.comparison.counts import CrawlHarvest
    from nwx.steering.comparison.simulation import SimulationReport
    from nwx.steering.listener import SteeringListener
    from nwx.steering.options import SteeringOptions, SteeringReport
    from nwx.steering.queue.due_urls import DueReport, DueUrl
    from nwx.steering.queue.queue_work import DeliveryReport, QueuedUpdates
    from nwx.steering.triples.archive_triples import TriplesReport
    from nwx.steering.triples.triple_store import TripleStore

Stopping = Callable[[], bool]
_STATES = "monitor:"
"""The prefix of the names of monitors' states (`nwx.quality.monitor.state`)."""


class ArchiveCrawls(ArchiveWork):
    """The crawl specifications, URL queue, crawler steering and triples of an archive."""

    def crawls(self) -> "list[tuple[StoredSpecification, Sequence[AnalysedVersion]]]":
        """Return the crawl specifications, each with the versions used to analyse pages."""
        crawls = self._seen().crawl_index()
        return [(one, crawls.analysed_versions(one.name)) for one in crawls.specifications()]

    def crawl_specification(self, name: str, version: str = "") -> "StoredSpecification":
        """Return a crawl specification: its last version, or one named by number or version."""
        from nwx.steering.specifications.specification_store import stored_specification

        return stored_specification(self._seen().crawl_index(), name, version)

    def crawl_versions(self, name: str) -> "list[tuple[StoredSpecification, int]]":
        """Return the saved versions of a crawl, newest first, each with its analysed documents."""
        self.crawl_specification(name)
        crawls = self._seen().crawl_index()
        documents = {one.version: one.documents for one in crawls.analysed_versions(name)}
        return [(one, documents.get(one.version, 0)) for one in crawls.versions(name)]

    def save_crawl(
        self, text: str, place: str, expected: int | None = None, *, files: bool = False
    ) -> "StoredSpecification":
        """Save a crawl specification under its name; `place` names the text in messages.

        Its examples are URLs or, with `files`, also files. Raises EngineConflictError if the last
        saved version is not number `expected`.
        """
        from nwx.steering.specifications.specification_store import save_text, with_examples

        with self._writable() as engine:
            text = with_examples(self._seen(), text, place, files=files)
            return save_text(engine.crawl_index(), text, place, expected=expected)

    def restore_crawl(
        self, name: str, version: str, expected: int | None = None
    ) -> "StoredSpecification":
        """Save an earlier version of a crawl specification as the newest one."""
        from nwx.steering.specifications.specification_store import restore

        with self._writable() as engine:
            return restore(engine.crawl_index(), name, version, expected)

    def remove_crawl(self, name: str) -> None:
        """Remove a crawl specification with all its versions and scores."""
        with self._writable() as engine:
            if not engine.crawl_index().remove_specification(name):
                raise UsageError(f"there is no crawl specification {name!r}")

    def crawl_links(
        self, name: str, limit: int = 20, offset: int = 0, host: str = "", version: str = ""
    ) -> "tuple[Sequence[ScoredLink], str]":
        """Return the linked URLs with the highest scores of a crawl, or why there are none."""
        from nwx.steering.specifications.specification_store import why_no_links

        crawls = self._seen().crawl_index()
        found = crawls.best_links(name, limit, offset, host_parts(host).host, version)
        needs_reason = not (found or offset or host)
        return found, why_no_links(crawls, name, version) if needs_reason else ""

    def crawl_harvest(self, name: str, version: str = "") -> "CrawlHarvest":
        """Return the number of relevant pages of a crawl, its best hosts, and what was learned."""
        from nwx.steering.comparison.counts import crawl_harvest
        from nwx.steering.specifications.specification_store import specification_at

        engine = self._seen()
        return crawl_harvest(engine.crawl_index(), specification_at(engine, name), version)

    def queued(self, crawl: str = "", host: str = "", state: str = "") -> "Iterator[QueuedUrl]":
        """Stream the URLs of the queue in the order of their arrival."""
        from nwx.engine.indices.crawl_queue import UrlState

        host, wanted = asked_host(host), state and chosen(UrlState, state)
        return (
            one
            for one in self._seen().crawl_queue().scan(crawl)
            if host in ("", one.host) and wanted in ("", one.state)
        )

    def put_urls(self, updates: "Iterable[UrlUpdate]") -> "PutCounts":
        """Apply updates of URLs to the queue; return their counts."""
        from nwx.steering.queue.queue_work import put_checked

        with self._writable() as engine:
            return put_checked(engine, updates)

    def queue_counts(self, crawl: str = "") -> "tuple[QueueCounts, dict[str, int]]":
        """Return the number of queued URLs by state, and of updates waiting for other queues."""
        engine = self._seen()
        return engine.crawl_queue().counts(crawl), engine.outbox().queues()

    def deliver(
        self, addresses: Sequence[str], token: str, tell: Callable[[NwxError], object]
    ) -> "Iterator[tuple[str, DeliveryReport]]":
        """Send the updates in the outbox to their queues, or those named; yield their reports."""
        from nwx.steering.queue.queue_work import deliver_outbox

        with self._writable() as engine:
            yield from deliver_outbox(engine, self.settings, addresses, token, tell)

    def export_queue(
        self, crawl: str, form: str, limit: int | None, least: float, *, take: bool
    ) -> Iterator[str]:
        """Yield waiting URLs as a seed file, best first; with `take`, mark them as fetched."""
        from nwx.steering.queue.queue_work import export_queue

        with self._work(writes=take) as engine:
            yield from export_queue(engine, crawl, form, limit, least, take=take)

    def feed_heritrix(
        self,
        job: "Path",
        crawl: str,
        queue: str,
        options: "FeedOptions",
        *,
        interval: float,
        stopping: Stopping,
        show: "Callable[[FeedCounts], object]",
        tell: Callable[[NwxError, float], object],
    ) -> None:
        """Feed a Heritrix job from the queue, or the queue at an address, until stopped."""
        from nwx.steering.adapters.heritrix_feed import feed_job

        feed_job(job, options, self._urls(crawl, queue), interval, stopping, show, tell)

    @contextmanager
    def _urls(self, crawl: str, queue: str) -> Iterator[Any]:
        from nwx.steering.queue.url_sources import QueueClient, archive_urls

        if queue:
            with QueueClient(queue, self.settings.queue_token, crawl) as client:
                yield client
        else:
            with self._writable() as engine:
                yield archive_urls(engine, crawl)

    def due(
        self,
        *,
        since: DateOption = "",
        spec: str = "",
        collection: str = "",
        at: DateOption = "",
        shortest: float = 1.0,
        longest: float = 365.0,
        limit: int | None = None,
    ) -> "Rows[DueUrl]":
        """Return URLs that are due to be captured again, most overdue first."""
        from nwx.steering.queue.due_urls import DueReport, DueUrl, asked_due, due_urls
        from nwx.steering.specifications.specification_store import specification_at

        check_limit(limit)

        def found() -> Iterator[DueUrl]:
            engine = self._seen()
            specification = specification_at(engine, spec) if spec else None
            asked = asked_due(since, specification, collection, at, shortest, longest, limit)
            return due_urls(engine, asked, DueReport())

        return Rows(DueUrl, found)

    def due_report(
        self, spec: str = "", *, progress: ShowProgress = no_progress, **asked: Any
    ) -> "tuple[Iterator[DueUrl], DueReport]":
        """Return the URLs of `due` as an iterator, with counts complete after the first URL."""
        from nwx.steering.queue.due_urls import DueReport, asked_due, due_urls
        from nwx.steering.specifications.specification_store import specification_at

        engine, report = self._seen(), DueReport()
        specification = specification_at(engine, spec) if spec else None
        question = asked_due(specification=specification, **asked)
        return due_urls(engine, question, report, progress), report

    def queue_due(
        self,
        spec: str = "",
        *,
        progress: ShowProgress = no_progress,
        show: "Callable[[DueUrl], object]" = lambda due: None,
        **asked: Any,
    ) -> "tuple[DueReport, QueuedUpdates]":
        """Put the URLs that are due into the queue, or into the outbox for the crawl's queue."""
        from nwx.steering.queue.due_urls import queue_due

        with self._work(writes=True):
            found, report = self.due_report(spec, progress=progress, **asked)
            return report, queue_due(self._seen(), spec, found, show)

    def compare(
        self, a: str, b: str = "", spec: str = "", progress: ShowProgress = no_progress
    ) -> "CollectionComparison":
        """Compare two collections, or a collection with a crawl specification."""
        from nwx.steering.comparison.relevance import comparison_of

        return comparison_of(self._seen(), a, b, spec, progress)

    def stored_comparison(self, a: str, b: str = "", crawl: str = "") -> "CollectionComparison":
        """Compare two collections, or one with a named crawl, by stored scores only."""
        from nwx.steering.comparison.comparison import compare
        from nwx.steering.comparison.relevance import relevance_question
        from nwx.steering.specifications.specification_store import specification_of

        engine, relevance = self._seen(), None
        if crawl:
            specification = specification_of(self.crawl_specification(crawl))
            relevance = relevance_question(engine, specification, analyse=False)
        return compare(engine, a, b, relevance)

    def analysed_versions(self, name: str) -> "Sequence[AnalysedVersion]":
        """Return the versions of a specification that were used to analyse pages."""
        return self._seen().crawl_index().analysed_versions(name)

    def monitor(self, name: str) -> "MonitorReport | None":
        """Return the last report of a crawl's monitor, None if it was never monitored."""
        from nwx.quality.monitor.state import read_monitor

        return read_monitor(self._seen(), name)

    def monitored(self) -> list[str]:
        """Return the names of the crawls that were monitored."""
        states = self._seen().quality_index().states()
        return [one.removeprefix(_STATES) for one in states if one.startswith(_STATES)]

    def simulate_crawl(
        self,
        spec: str,
        collection: str,
        budget: int | None,
        progress: ShowProgress = no_progress,
        judged: "Path | None" = None,
        spam_hosts: "Path | None" = None,
        like: Sequence[str] = (),
    ) -> "SimulationReport":
        """Simulate crawls of a collection: breadth first, steered, and by an oracle.

        `like` are additional example documents, `judged` is a file of pages judged relevant or not,
        `spam_hosts` a file of hosts that are never followed.
        """
        from nwx.steering.analysis.link_classifier import read_spam_hosts
        from nwx.steering.comparison.relevance import SimulationTruth, read_judged_pages
        from nwx.steering.comparison.simulation import simulate
        from nwx.steering.specifications.specification_store import specification_at

        engine = self._seen()
        chosen = specification_at(engine, spec, like)
        truth = SimulationTruth(
            read_judged_pages(judged) if judged else {},
            read_spam_hosts(spam_hosts) if spam_hosts else frozenset(),
        )
        return simulate(engine, chosen, collection, budget, progress, truth)

    def steer(
        self,
        spec: str,
        options: "SteeringOptions",
        progress: ShowProgress = no_progress,
        stopping: Stopping = lambda: False,
        like: Sequence[str] = (),
    ) -> "SteeringReport":
        """Analyse the pages by a crawl specification, and put links into the crawler's queue.

        `like` are example documents, URLs or files, in addition to those of the specification.
        """
        from nwx.steering.specifications.specification_store import steering_specification
        from nwx.steering.steering_run import steer_archive

        with self._writable(makes=False) as engine:
            chosen = steering_specification(engine, spec, like)
            return steer_archive(engine, self.settings, chosen, options, progress, stopping)

    def steering(
        self, spec: str, options: "SteeringOptions"
    ) -> "AbstractContextManager[SteeringListener]":
        """Return the listener that analyses newly imported pages in a separate process."""
        from nwx.steering.analysis.language_models import chosen_model
        from nwx.steering.listener import SteeringListener
        from nwx.steering.options import SteeringPlan
        from nwx.steering.specifications.specification_store import steering_specification

        if options.nlp:
            chosen_model(options.nlp)  # an unknown model is refused before anything is imported
        with self._writable() as engine:
            chosen = steering_specification(engine, spec)
        return SteeringListener(SteeringPlan(self.settings, chosen, options))

    def build_triples(
        self,
        *,
        progress: ShowProgress = no_progress,
        stopping: Stopping = lambda: False,
        **given: Any,
    ) -> "TriplesReport":
        """Store the statements and entities of pages as triples.

        `given` are the options collection, names, nlp and places of `nwx triples build`.
        """
        from nwx.steering.triples.archive_triples import build_triples

        return build_triples(self._whole(), self.settings, progress, stopping, **given)

    def visible_triples(self) -> "TripleStore":
        """Return the triples that the viewer may see."""
        from nwx.steering.triples.archive_triples import visible_triples

        return visible_triples(self.settings, self._seen())
