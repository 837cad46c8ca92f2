"""Renders, reviews, changes and monitors in the Python API."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nwx.answers.tables import Rows
from nwx.archive_work import ArchiveWork
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.errors import EngineError
from nwx.values.arguments import chosen, first_of
from nwx.values.timestamps import DateOption, date_bounds

if TYPE_CHECKING:  # a program loads the areas that it uses
    from nwx.engine.indices.quality_index import PlaybackScore, Review, ReviewCounts, ReviewIndex
    from nwx.quality.browser.targets import ArchivePlayback, BrowserOptions, RenderTask
    from nwx.quality.page_choice import PageChoice
    from nwx.quality.playback_check import PlaybackReport
    from nwx.searching.page_changes import SiteChange, SiteChanges, WatchedSite
    from nwx.steering.queue.queue_work import QueuedUpdates


class ArchiveRenders(ArchiveWork):
    """Playback checks, page changes and reviews of an archive."""

    def page_tasks(self, query: str, collection: str = "") -> "tuple[Iterator[RenderTask], int]":
        """Return render tasks for the pages that a query finds, and their number."""
        from nwx.quality.page_choice import document_pages, page_question

        engine, question = self._seen(), page_question(query, collection)
        return document_pages(engine, question), engine.search(question).documents.value

    def check_playback(
        self,
        choice: "PageChoice",
        browsers: "BrowserOptions",
        playback: "AbstractContextManager[ArchivePlayback]",
        *,
        say: Callable[[str], object],
        quiet: bool = False,
        out: Path | None = None,
        comparison: bool = False,
        renders: bool = True,
        progress: ShowProgress = no_progress,
        stopping: Callable[[], bool] = lambda: False,
        **rules: Any,
    ) -> "PlaybackReport":
        """Render pages in playback and store their scores; `rules` are passed to the check.

        Renders are written to `out` or a default file; `say` receives notes for the user.
        """
        from nwx.quality.playback_check import check_in_browsers
        from nwx.quality.render_writer import kept_renders

        self._whole()  # no archive is made here
        keep = kept_renders(self.settings, out, comparison, kept=renders, say=say)
        with self._writable() as engine:
            return check_in_browsers(
                engine,
                choice,
                browsers,
                playback,
                keep,
                None if quiet else say,
                progress,
                stopping,
                **rules,
            )

    def changes(
        self,
        site: str,
        *,
        since: DateOption = "",
        to: DateOption = "",
        latest: bool = False,
        limit: int | None = None,
    ) -> "Rows[SiteChange]":
        """Return the pages of a site that are gone, new or changed since a date.

        With `latest`, the last version of each page is compared with the previous one.
        """
        from nwx.searching.page_changes import SiteChange

        def found() -> "Iterator[SiteChange]":
            return first_of(self.site_changes(site, since=since, to=to, latest=latest).pages, limit)

        return Rows(SiteChange, found)

    def site_changes(
        self, site: str, *, since: DateOption = "", to: DateOption = "", latest: bool = False
    ) -> "SiteChanges":
        """Return the changes of a site since a date: its pages, and words added and removed."""
        from nwx.searching.page_changes import site_changes

        dates = date_bounds(since, to)
        return site_changes(self._seen(), site, *dates, latest=latest)

    def watched_sites(self) -> "Rows[WatchedSite]":
        """Return the watched sites and URLs, by name."""
        from nwx.searching.page_changes import WatchedSite, watch_index

        return Rows(WatchedSite, watch_index(self._seen()).sites)

    def watch_site(self, site: str, *, webhook: str = "", by: str = "") -> "WatchedSite":
        """Watch a site, URL or URL prefix: report its changes from now on."""
        from nwx.searching.page_changes import new_watch, watch_index

        watched = new_watch(self._seen(), site, webhook, by)
        with self._writable() as engine:
            watch_index(engine).put(watched)
        return watched

    def unwatch_site(self, site: str) -> bool:
        """Stop watching a site; return whether it was watched."""
        from nwx.searching.page_changes import watch_index

        with self._writable() as engine:
            return watch_index(engine).remove(site)

    def report_changes(
        self, tell: "Callable[[WatchedSite, Sequence[SiteChange]], bool]"
    ) -> "Rows[SiteChange]":
        """Return the changes of watched sites that were not reported yet.

        `tell` is called with each changed site and its changes; unless it returns True, they are
        reported again by the next call.
        """
        from nwx.searching.page_changes import SiteChange, newest_change, watch_index

        shown = {one.site for one in self.watched_sites()}
        sites = watch_index(self._whole()).sites() if shown else []
        found: list[SiteChange] = []
        for one in (site for site in sites if site.site in shown):
            pages = self.site_changes(one.site, latest=True).pages
            changes = [page for page in pages if page.after > one.told]
            if changes and tell(one, changes):
                with self._writable() as engine:
                    watch_index(engine).set_told(one.site, newest_change(changes))
            found += changes
        return Rows(SiteChange, lambda: found)

    def _reviews(self) -> "ReviewIndex":
        from nwx.engine.indices.quality_index import review_index

        return review_index(self._seen())

    def review(
        self,
        capture: str,
        verdict: str,
        *,
        note: str = "",
        marked: str = "",
        reviewer: str = "",
        at: str = "",
    ) -> "Review":
        """Store a person's verdict on the capture of a page: good, usable or bad.

        `capture` is the id of a checked capture, or the URL of a page as captured nearest to `at`.
        Raises UsageError on any other verdict, a malformed mark or an unknown capture.
        """
        from nwx.engine.indices.quality_index import review_index
        from nwx.quality.scores import made_review

        review = made_review(self._seen(), capture, at, verdict, note, marked, reviewer)
        with self._writable() as engine:
            review_index(engine).put(review)
        return review

    def reviews(
        self, *, collection: str = "", reviewer: str = "", verdict: str = ""
    ) -> "Rows[Review]":
        """Return the reviews of captures, worst first."""
        from nwx.engine.indices.quality_index import Review, ReviewVerdict

        index, wanted = self._reviews(), verdict and chosen(ReviewVerdict, verdict)
        return Rows(Review, lambda: index.reviews(collection, reviewer, wanted))

    def reviews_of(self, capture: str) -> "list[Review]":
        """Return the reviews of a capture by its id, worst first."""
        return self._reviews().of_captures([capture]).get(capture, [])

    def repair_reviews(self, collection: str = "") -> "list[Review]":
        """Return the reviews with the verdict bad or usable, worst first."""
        found = self._reviews().reviews(collection)
        return [one for one in found if one.verdict != "good"]

    def review_counts(self) -> "list[ReviewCounts]":
        """Return the number of reviews by collection and verdict, with the crawls of each."""
        from nwx.steering.specifications.specification_store import crawls_by_collection

        counts = self._reviews().counts()
        crawls = crawls_by_collection(self._seen().crawl_index()) if counts else {}
        return [replace(one, crawls=crawls.get(one.collection, ())) for one in counts]

    def review_queue(self, reviewer: str, collection: str = "") -> "Iterator[PlaybackScore]":
        """Stream the checked pages that a reviewer has not judged, lowest score first."""
        from nwx.quality.scores import review_queue

        return review_queue(self._seen(), reviewer, collection)

    def queue_repairs(
        self, urls: Iterable[str], listed: int, crawl: str, address: str | None
    ) -> "QueuedUpdates":
        """Put missing resources into the queue, the first URL with the highest priority."""
        from nwx.steering.queue.queue_work import queue_repairs

        with self._work() as engine:
            return queue_repairs(engine, urls, listed, crawl, address)

    def crawl_collection(self, name: str) -> str:
        """Return the collection in a crawl's specification, "" without one or without archive."""
        from nwx.steering.specifications.specification_store import specification_of

        try:
            stored = self._whole().crawl_index().specification(name)
        except EngineError:
            return ""
        return specification_of(stored).collection if stored else ""

    def hidden_urls(self, urls: Collection[str]) -> Collection[str]:
        """Return the URLs that access rules hide from the viewer."""
        from nwx.access.restricted_engine import RestrictedEngine

        engine = self._seen()
        return engine.hidden_urls(urls) if isinstance(engine, RestrictedEngine) and urls else ()
