"""nwx check-playback, also during nwx watch"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

import click

from nwx.captures import PagePlace
from nwx.cli import option
from nwx.cli.output import (
    clean,
    counted,
    json_text,
    opened_archive,
    progress_bar,
    stop_signals,
    warn,
)
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from nwx.bulk.child_processes import ChildFunction
    from nwx.quality.arrivals import ArrivalEvent, ArrivalSample
    from nwx.quality.browser.targets import ArchivePlayback, BrowserOptions
    from nwx.quality.playback_check import PlaybackReport
    from nwx.quality.scores import PlaybackScore
    from nwx.warc.sources import ArchiveSource
    from nwx.watching import PageListener


@contextmanager
def playback_target(settings: Settings, playback: str) -> "Iterator[ArchivePlayback]":
    """Yield the playback at an address, or a local one started for the duration.

    Raises UsageError for an address that cannot be a playback's, and SourceError if it does not
    answer.
    """
    from nwx.quality.browser.targets import ArchivePlayback

    if playback:
        ArchivePlayback(playback).check()
        yield ArchivePlayback(_own_address(playback))
        return
    from webapp.server.small_servers import local_playback

    with local_playback(settings) as prefix:
        yield ArchivePlayback(prefix)


def _own_address(playback: str) -> str:
    """Return the address to which playback redirects, as it may answer at one host name only."""
    from urllib.request import ProxyHandler, build_opener

    opener, path = build_opener(ProxyHandler({})), f"{urlsplit(playback).path.rstrip('/')}/"
    with suppress(OSError), opener.open(f"{playback.rstrip('/')}/", timeout=30) as answer:
        if urlsplit(answer.url).path == path:
            return str(answer.url)
    return playback


def browser_options(settings: Settings, given: dict[str, Any], **more: Any) -> "BrowserOptions":
    """Remove the browser options from the arguments of a command, and return them."""
    from nwx.quality.browser.pool import browser_path
    from nwx.quality.browser.targets import BrowserOptions

    return BrowserOptions(
        jobs=given.pop("jobs"),
        browser=browser_path(given.pop("browser") or settings.browser),
        page_seconds=given.pop("page_seconds"),
        **more,
    )


jobs_option = option.value("--jobs", click.IntRange(1, 64), None, "Number of browsers.", default=2)
page_seconds_option = option.value(
    "--page-seconds", option.Number(1, 3_600), "SECONDS", "Time limit per page.", default=60.0
)
browser_option = option.string("--browser", "PATH", "Path of the Chromium to use.  [NWX_BROWSER]")
playback_option = option.string(
    "--playback", "URL", "Address of a running playback, such as http://localhost:8081/replay."
)


def check_arriving_pages(connection: "Connection[ArrivalEvent, Any]") -> None:
    """Check the pages received over a connection, in a local playback."""
    from nwx.quality.arrivals import run_arrival_checks

    run_arrival_checks(connection, lambda settings: playback_target(settings, ""))


class PlaybackListener:
    """Checks a sample of new pages in another process, and prints the results; never stops a watch.

    `inner` receives pages first. `function` runs in the other process.
    """

    def __init__(
        self,
        settings: Settings,
        sample: "ArrivalSample",
        inner: "PageListener | None" = None,
        *,
        as_json: bool = False,
        function: "ChildFunction" = check_arriving_pages,
    ) -> None:
        from nwx.quality.arrivals import ArrivalChecks

        self._checks = ArrivalChecks(settings, sample, function, self._print)
        self._inner, self._as_json = inner, as_json

    def on_documents(self, source: "ArchiveSource", pages: Sequence[PagePlace]) -> None:
        """Pass the new pages of a file to the inner listener and to the checks."""
        if self._inner is not None:
            self._inner.on_documents(source, pages)
        self._checks.add([page for page in pages if not page.is_list])

    def idle(self) -> None:
        """Print the results since the last call."""
        if self._inner is not None:
            self._inner.idle()
        self._checks.tell_news()

    def finish(self, stopping: Callable[[], bool]) -> None:
        """Wait until all pages are checked or `stopping` returns true, and print the rest."""
        left = self._checks.finish(stopping)
        if left:
            words = f"{counted(left, 'page')} not checked; `nwx check-playback` checks them"
            warn(f"{words}")

    def close(self) -> None:
        """End the checking process."""
        self._checks.close()

    def _print(self, event: "ArrivalEvent") -> None:
        if event.kind == "error":
            warn(f"playback checks ended: {clean(event.text)}")
        elif event.score is None:
            warn(event.text)
        elif self._as_json:
            click.echo(json_text({"event": "checked"} | event.score))
        else:
            click.echo(_words(event.score))
        sys.stdout.flush()


def _words(found: dict[str, Any]) -> str:
    kinds = dict.fromkeys(fault["kind"].replace("_", " ") for fault in found["faults"])
    faults = f", {counted(found['faults_total'], 'fault')} ({', '.join(kinds)})" if kinds else ""
    return clean(f"{found['url']}: plays with score {found['score']:.3f}{faults}")


@contextmanager
def playback_listener(
    settings: Settings, sample: str | None, inner: "PageListener | None", *, as_json: bool
) -> "Iterator[PlaybackListener | None]":
    """Yield the listener that checks a sample of new pages, None without `sample`."""
    if sample is None:
        yield None
        return
    from nwx.quality.arrivals import ArrivalSample
    from nwx.quality.browser.pool import browser_path

    wanted = ArrivalSample.parse(sample)
    browser_path(settings.browser)  # raises an error if there is none
    listener = PlaybackListener(settings, wanted, inner, as_json=as_json)
    try:
        yield listener
    finally:
        listener.close()


_PROBLEMS_SHOWN, _WORST_SHOWN = 5, 20
_MOST_URLS = 1_000_000


@click.command("check-playback")
@click.argument("query", nargs=-1)
@option.string("--urls", "FILE", "Check the pages in FILE: one URL per line.")
@option.string("--collection", "NAME", "Captures of this collection.")
@option.flag("--all", "All captures, not only the newest.", into="every_capture")
@option.count("--sample", "N", "N pages at random.")
@option.count("--limit", "N", "The first N pages.")
@option.flag("--force", "Also check pages that were checked before.")
@option.value(
    "--far",
    option.Number(0),
    "DAYS",
    "Report resources captured further than this from their page as faults.",
    default=30.0,
)
@jobs_option
@page_seconds_option
@browser_option
@playback_option
@option.file_path(
    "--out", "WARC file for the renders.  [default: in ARCHIVE/renders, or ./nwx-renders]"
)
@option.flag(
    "--comparison", "Write Browsertrix's `comparison` into the page information of the renders."
)
@click.option("--renders/--no-renders", default=True, help="Store what the browser showed.")
@option.flag("--json", "Print faults and scores as JSON.", into="as_json")
@option.QUIET
@click.pass_obj
def command(
    settings: Settings,
    /,
    query: tuple[str, ...],
    urls: str,
    far: float,
    playback: str,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Render pages in playback, and compare them with their crawl.

    QUERY selects pages as in `nwx search`; without it and --urls, all pages of the archive
    are checked, the newest capture of each. If the crawl stored a screenshot, the text or
    the list of resources, these are compared; otherwise only missing resources and errors
    count. Scores are stored in the index quality; `nwx quality` and the page /quality show
    them.

    A page is checked once; again with --force, or when one of its missing resources has
    been captured. Run again to resume an interrupted run. The exit code is 0 even if faults
    are found.
    """
    if urls and query:
        raise UsageError("--urls and QUERY are mutually exclusive")
    if not given["renders"] and (given["out"] or given["comparison"]):
        raise UsageError("--no-renders cannot be combined with --out or --comparison")
    from nwx.quality.page_choice import PageChoice

    browsers = browser_options(settings, given, full_page=given["out"] is not None)
    with (
        _results() as results,
        stop_signals() as received,
        opened_archive(settings) as archive,
    ):
        choice = PageChoice(
            query=" ".join(query),
            urls=_urls(urls) if urls else None,
            collection=given.pop("collection"),
            every_capture=given.pop("every_capture"),
            sample=given.pop("sample") or 0,
            limit=given.pop("limit") or 0,
        )
        with progress_bar(quiet=quiet or as_json) as show:
            report = archive.check_playback(
                choice,
                browsers,
                playback_target(settings, playback),
                far_seconds=far * 86_400,
                on_score=results.add,
                say=warn,
                quiet=quiet,
                progress=show,
                stopping=lambda: bool(received),
                **given,
            )
        _print(results, report, as_json=as_json, quiet=quiet)
    return 128 + received[0] if received else 0


def _urls(name: str) -> tuple[str, ...]:
    """Return the URLs in a file or standard input, and print the lines that are not URLs."""
    from nwx.bulk.whole_files import standard_input

    if name == STANDARD_INPUT:
        return _listed(standard_input(), "standard input")
    with Path(name).open("rb") as stream:
        return _listed(stream, name)


def _listed(stream: BinaryIO, name: str) -> tuple[str, ...]:
    from nwx.quality.page_choice import UrlList

    pages = UrlList(stream, name)
    urls = tuple(page.url for page in islice(pages, _MOST_URLS + 1))
    if len(urls) > _MOST_URLS:
        raise UsageError(f"more than {_MOST_URLS:,} URLs; check them in parts")
    for problem in pages.problems:
        warn(problem)
    if pages.wrong > len(pages.problems):
        more = counted(pages.wrong - len(pages.problems), "more line")
        warn(f"{more} without a URL")
    return urls


class _Results:
    """Collects faults and scores as JSON, in files until all are known, and the worst pages."""

    def __init__(self, faults: IO[str], scores: IO[str]) -> None:
        self._files = {"faults": faults, "scores": scores}
        self._worst: list[PlaybackScore] = []

    def add(self, score: "PlaybackScore") -> None:
        from nwx.quality.playback_check import fault_json, score_json

        for fault in score.faults:
            self._files["faults"].write(json_text(fault_json(score, fault)) + "\n")
        self._files["scores"].write(json_text(score_json(score)) + "\n")
        self._worst.append(score)
        if len(self._worst) >= 2 * _WORST_SHOWN:
            self._worst = self.worst()

    def worst(self) -> "list[PlaybackScore]":
        return sorted(self._worst, key=lambda score: (score.score, score.id))[:_WORST_SHOWN]

    def print_json(self, report: "PlaybackReport") -> None:
        """Print all faults and scores as JSON, one per line."""
        click.echo(f'{{"pages": {report.pages}, "checked": {report.checked}', nl=False)
        for name, file in self._files.items():
            file.seek(0)
            click.echo(f', "{name}": [', nl=False)
            for number, line in enumerate(file):
                click.echo(f"{',' if number else ''}\n  {line.rstrip()}", nl=False)
            click.echo("]", nl=False)
        click.echo("}")


@contextmanager
def _results() -> Iterator[_Results]:
    from nwx.bulk.resources import temporary_folder

    with (
        temporary_folder() as folder,
        (folder / "faults").open("w+", encoding="utf-8") as faults,
        (folder / "scores").open("w+", encoding="utf-8") as scores,
    ):
        yield _Results(faults, scores)


def _print(results: _Results, report: "PlaybackReport", *, as_json: bool, quiet: bool) -> None:
    for problem in report.problems[:_PROBLEMS_SHOWN]:
        warn(problem)
    if report.problems_total > _PROBLEMS_SHOWN:
        warn(counted(report.problems_total - _PROBLEMS_SHOWN, "more problem"))
    if as_json:
        results.print_json(report)
    elif not quiet:
        from nwx.cli.quality.quality import print_playback_scores

        print_playback_scores(results.worst())
        click.echo(checked_words(report))
    if report.interrupted:
        warn("stopped; run the same command again to resume")


def checked_words(report: "PlaybackReport") -> str:
    """Return the report of a check as text."""
    words = [f"{report.checked:,} of {counted(report.pages, 'page')} checked"]
    if report.known:
        words.append(f"{report.known:,} checked before")
    if report.checked:
        words.append(f"{report.faulty:,} with faults")
    words += [f"{count:,} {kind.replace('_', ' ')}" for kind, count in report.faults.items()]
    if report.mean_score is not None:
        words.append(f"mean score {report.mean_score:.3f}")
    if report.left_aside:
        words.append(f"{counted(report.left_aside, 'request')} ignored")
    return ", ".join(words)
