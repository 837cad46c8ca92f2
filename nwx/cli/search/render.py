"""nwx render"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, print_json, warn
from nwx.cli.progress import progress_bar
from nwx.cli.restricted import open_for_reading
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.bulk.progress import ShowProgress
    from nwx.quality.browser.targets import BrowserOptions, PlaybackTarget, RenderTask
    from nwx.quality.renders.page_lists import RenderReport


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    query: str
    urls: str
    collection: str
    out: Path
    live: bool
    proxy: str
    playback: str
    local: tuple[str, ...]
    jobs: int
    limit: int | None
    page_seconds: float
    scroll: bool
    browser: str
    as_json: bool
    quiet: bool


@click.command("render")
@click.argument("query", nargs=-1)
@option.string("--urls", "FILE", "Pages: a URL, or timestamp and URL, a line.")
@option.string("--collection", "NAME", "Pages of this collection.")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The WARC file (.warc.gz) that renders are added to.",
)
@option.flag("--live", "Visit the live web; needs --proxy.")
@option.string("--proxy", "URL", "Live: the WARC-writing proxy, http://host:port.")
@option.repeated(
    "--local", "HOST:PORT", "Live: a private address that pages may use; may be repeated."
)
@option.string("--playback", "URL", "Playback that runs already, as http://localhost:8081/replay.")
@option.value("--jobs", click.IntRange(1, 64), None, "Number of browsers.", default=2)
@option.count("--limit", "N", "Render at most N pages.")
@option.value(
    "--page-seconds", click.FloatRange(1, 3_600), "SECONDS", "Time limit of a page.", default=60.0
)
@click.option("--scroll/--no-scroll", default=True, help="Scroll through each page (default).")
@option.string("--browser", "PATH", "The Chromium to use.  [NWX_BROWSER]")
@option.JSON_REPORT
@click.pass_obj
def command(settings: Settings, /, query: tuple[str, ...], **given: Any) -> None:
    """Write what a browser shows of pages: screenshots, text, DOM, resources.

    QUERY chooses documents as `nwx search` does; without it, --urls and
    --collection, all pages of the archive are rendered. They are played from
    the archive, and no request leaves it. With --live they are visited on the
    web through a proxy that archives them, so that nothing is fetched twice.

    The records are named as Browsertrix names them (urn:view, urn:thumbnail,
    urn:fullPage, urn:text, urn:pageinfo, and onreadydom), and FILE can be
    imported. Run again, the command goes on: pages in FILE are skipped.
    """
    asked = _Options(query=" ".join(query), **given)
    _check(asked)
    # Imported here: whoever asks for help need not wait for it.
    from nwx.quality.browser.pool import browser_path
    from nwx.quality.browser.targets import BrowserOptions

    options = BrowserOptions(
        jobs=asked.jobs,
        browser=browser_path(asked.browser or settings.browser),
        page_seconds=asked.page_seconds,
        scroll=asked.scroll,
    )
    with progress_bar(quiet=asked.quiet or asked.as_json) as show:
        answer = _render(settings, asked, options, show)
    _print(asked, *answer)


def _check(asked: _Options) -> None:
    """Raise UsageError where options do not go together."""
    if asked.urls and (asked.query or asked.collection):
        raise UsageError("--urls names the pages: leave out QUERY and --collection")
    if asked.live and not asked.proxy:
        raise UsageError(
            "--live needs --proxy, a proxy that archives what it fetches, as warcprox does:"
            " without it the pages themselves would be lost"
        )
    if not asked.live and (asked.proxy or asked.local):
        raise UsageError("--proxy and --local are options of --live")
    if asked.live and asked.playback:
        raise UsageError("--live and --playback exclude each other")


def _render(
    settings: Settings, asked: _Options, options: "BrowserOptions", show: "ShowProgress"
) -> tuple["RenderReport", int, int]:
    """Return the report, how many pages were skipped, and how many lines were no URLs."""
    from nwx.quality.browser.pool import NO_SANDBOX, BrowserPool
    from nwx.quality.renders.page_lists import RemainingPages, render_pages
    from nwx.quality.renders.render_writer import RenderWriter
    from nwx.quality.renders.stored_renders import rendered_pages

    with ExitStack() as stack:
        pages = stack.enter_context(_pages(settings, asked))
        writer = stack.enter_context(RenderWriter(asked.out))
        remaining = RemainingPages(pages.tasks, rendered_pages(asked.out), asked.limit)
        target = stack.enter_context(_target(settings, asked))
        pool = stack.enter_context(BrowserPool(options, target))
        if not pool.sandbox and not asked.quiet:
            warn(NO_SANDBOX)
        total = min(pages.total, asked.limit or pages.total)
        report = render_pages(pool, writer, remaining, show, total)
        for problem in pages.problems:
            warn(problem)
        return report, remaining.skipped, pages.wrong


@dataclass(slots=True)
class _Pages:
    """The pages to render; `total` is 0 where nobody knows how many. `problems` grow."""

    tasks: "Iterable[RenderTask]"
    total: int = 0

    @property
    def problems(self) -> list[str]:
        return getattr(self.tasks, "problems", [])

    @property
    def wrong(self) -> int:
        return int(getattr(self.tasks, "wrong", 0))


@contextmanager
def _pages(settings: Settings, asked: _Options) -> Iterator[_Pages]:
    from nwx.quality.renders import page_lists

    if asked.urls == STANDARD_INPUT:
        yield _Pages(page_lists.UrlList(sys.stdin.buffer, "standard input"))
    elif asked.urls:
        with Path(asked.urls).open("rb") as stream:
            yield _Pages(page_lists.UrlList(stream, asked.urls))
    else:
        from nwx.query.question import Question

        filters = dict(page_lists.PAGE_FILTERS)
        if asked.collection:
            filters["collection"] = (asked.collection,)
        question = Question(query=asked.query, filters=filters, limit=0)
        with open_for_reading(settings) as engine:
            total = engine.search(question).documents.value
            yield _Pages(page_lists.document_pages(engine, question), total)


@contextmanager
def _target(settings: Settings, asked: _Options) -> Iterator["PlaybackTarget"]:
    """Give where pages are rendered; playback that is started for this ends with it."""
    if asked.live:
        from nwx.quality.browser.targets import LiveWeb

        web = LiveWeb(asked.proxy, asked.local)
        web.check()
        yield web
    else:
        from nwx.cli.quality.playback_tools import playback_target

        with playback_target(settings, asked.playback) as target:
            yield target


def _print(asked: _Options, report: "RenderReport", skipped: int, wrong: int) -> None:
    if asked.as_json:
        found = report.values() | {"skipped": skipped, "no_urls": wrong, "out": str(asked.out)}
        print_json(found)
        return
    for example in report.examples:
        warn(example)
    if not asked.quiet:
        click.echo(_words(report, skipped, wrong))
        click.echo(f"written to {clean(str(asked.out))}")


def _words(report: "RenderReport", skipped: int, wrong: int) -> str:
    pages = counted(report.written, "page")
    failed = f"{report.resources_failed:,} of {counted(report.resources, 'resource')}"
    words = [f"{pages} rendered in {report.seconds:.1f} s", f"{failed} not had"]
    for count, what in (
        (report.pages - report.written, "not had at all"),
        (report.missing, "not in the archive"),
        (report.problems.total(), "ended early"),
        (report.leaks, "requests out of the archive refused"),
        (skipped, "skipped: rendered before"),
        (wrong, "lines passed over: no URLs"),
    ):
        if count:
            words.append(f"{count:,} {what}")
    return ", ".join(words)
