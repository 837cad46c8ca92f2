"""Renders and monitors in the Python API, as commands ask for them."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nwx.archive_work import ArchiveWork
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.errors import EngineError

if TYPE_CHECKING:  # a program loads the areas that it uses
    from nwx.quality.browser.targets import ArchivePlayback, BrowserOptions, RenderTask
    from nwx.quality.playback.check import PlaybackReport
    from nwx.quality.playback.page_choice import PageChoice
    from nwx.steering.queue.queue_work import QueuedUpdates


class ArchiveRenders(ArchiveWork):
    """How pages of an archive play, and what a monitor may tell."""

    def page_tasks(self, query: str, collection: str = "") -> "tuple[Iterator[RenderTask], int]":
        """Return the pages that a query finds, to be rendered, and how many there are."""
        from nwx.quality.renders.page_lists import document_pages, page_question

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
        """Render pages in playback and store their scores; `rules` are those of a check.

        Renders are kept in `out` or a default file; `say` gets notes for the user.
        """
        from nwx.quality.playback.check import check_in_browsers
        from nwx.quality.renders.render_writer import kept_renders

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

    def queue_repairs(
        self, urls: Iterable[str], listed: int, crawl: str, address: str | None
    ) -> "QueuedUpdates":
        """Put missing resources into the queue, the first with the highest priority."""
        from nwx.steering.queue.queue_work import queue_repairs

        with self._work() as engine:
            return queue_repairs(engine, urls, listed, crawl, address)

    def crawl_collection(self, name: str) -> str:
        """Return the collection of a crawl's specification, "" without one or without archive."""
        from nwx.steering.specifications.specification_store import specification_of

        try:
            stored = self._whole().crawl_index().specification(name)
        except EngineError:
            return ""
        return specification_of(stored).collection if stored else ""

    def hidden_urls(self, urls: Collection[str]) -> Collection[str]:
        """Return which URLs access rules hide from the viewer."""
        from nwx.access.restricted.engine import RestrictedEngine

        engine = self._seen()
        return engine.hidden_urls(urls) if isinstance(engine, RestrictedEngine) and urls else ()
