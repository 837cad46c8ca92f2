"""nwx check-playback"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import click

from nwx.cli import option
from nwx.cli.output import counted, json_text, warn
from nwx.cli.progress import progress_bar, stop_signals
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.bulk.progress import ShowProgress
    from nwx.engine.indices.quality_index import PlaybackScore
    from nwx.quality.playback.check import PlaybackReport
    from nwx.quality.playback.page_choice import PageChoice

_PROBLEMS_SHOWN, _WORST_SHOWN = 5, 20
_MOST_URLS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    query: str
    urls: str
    collection: str
    every_capture: bool
    sample: int | None
    limit: int | None
    force: bool
    far: float
    jobs: int
    page_seconds: float
    browser: str
    playback: str
    out: Path | None
    comparison: bool
    renders: bool
    as_json: bool
    quiet: bool


@click.command("check-playback")
@click.argument("query", nargs=-1)
@option.string("--urls", "FILE", "Check these pages: a URL a line.")
@option.string("--collection", "NAME", "Captures of this collection.")
@option.flag("--all", "All captures, not the newest alone.", into="every_capture")
@option.count("--sample", "N", "N pages at random.")
@option.count("--limit", "N", "The first N pages.")
@option.flag("--force", "Check pages again that were checked already.")
@option.value(
    "--far",
    click.FloatRange(0),
    "DAYS",
    "Resources captured further from their page than this are faults.",
    default=30.0,
)
@option.value("--jobs", click.IntRange(1, 64), None, "Number of browsers.", default=2)
@option.value(
    "--page-seconds", click.FloatRange(1, 3_600), "SECONDS", "Time limit of a page.", default=60.0
)
@option.string("--browser", "PATH", "The Chromium to use.  [NWX_BROWSER]")
@option.string("--playback", "URL", "Playback that runs already, as http://localhost:8081/replay.")
@option.value(
    "--out",
    option.FILE,
    "FILE",
    "WARC file for the renders.  [default: in ARCHIVE/renders, or ./nwx-renders]",
)
@option.flag(
    "--comparison", "Write Browsertrix's `comparison` into the page information of the renders."
)
@click.option("--renders/--no-renders", default=True, help="Keep what the browser showed.")
@option.flag("--json", "Print faults and scores as JSON.", into="as_json")
@option.QUIET
@click.pass_obj
def command(settings: Settings, /, query: tuple[str, ...], **given: Any) -> int:
    """Render pages in playback, and compare them with their crawl.

    QUERY chooses pages as `nwx search` does; without it and --urls all pages of
    the archive are checked, the newest capture of each. Where the crawl has
    kept a screenshot, the text or the list of resources, these are compared,
    else missing resources and errors count alone. Scores are stored in the
    index quality; `nwx quality` and the page /quality show them.

    A page is checked once; again with --force, or when one of its missing
    resources has been captured. An interrupted run is resumed by the same
    command. The exit code is 0 whatever is found.
    """
    asked = _Options(query=" ".join(query), **given)
    _check(asked)
    with _results() as results, stop_signals() as received:
        with progress_bar(quiet=asked.quiet or asked.as_json) as show:
            report = _run(settings, asked, results, show, received)
        _print(asked, results, report)
    return 128 + received[0] if received else 0


def _check(asked: _Options) -> None:
    """Raise UsageError where options do not go together."""
    if asked.urls and asked.query:
        raise UsageError("--urls names the pages: leave out QUERY")
    if not asked.renders and (asked.out or asked.comparison):
        raise UsageError("--no-renders writes none: leave out --out and --comparison")


def _run(
    settings: Settings,
    asked: _Options,
    results: "_Results",
    show: "ShowProgress",
    received: list[int],
) -> "PlaybackReport":
    # Imported here: whoever asks for help need not wait for it.
    from nwx.cli.quality.playback_tools import echo_note, playback_target
    from nwx.engine.open import open_engine
    from nwx.quality.browser.pool import NO_SANDBOX, BrowserPool, browser_path
    from nwx.quality.browser.targets import BrowserOptions
    from nwx.quality.playback.check import PlaybackCheck, check_playback
    from nwx.quality.renders.render_writer import kept_renders

    options = BrowserOptions(
        jobs=asked.jobs,
        browser=browser_path(asked.browser or settings.browser),
        page_seconds=asked.page_seconds,
        full_page=asked.out is not None,
    )
    with ExitStack() as stack:
        open_engine(settings, read_only=True).close()  # no archive is made here
        choice = _choice(asked)
        engine = stack.enter_context(open_engine(settings))
        target = stack.enter_context(playback_target(settings, asked.playback))
        pool = stack.enter_context(BrowserPool(options, target))
        if not pool.sandbox and not asked.quiet:
            warn(NO_SANDBOX)
        store = stack.enter_context(
            kept_renders(settings, asked.out, asked.comparison, kept=asked.renders, say=echo_note)
        )
        check = PlaybackCheck(
            choice,
            far_seconds=asked.far * 86_400,
            force=asked.force,
            keep=store,
            is_playing=target.answers,
            told=results.add,
        )
        return check_playback(engine, pool, check, show, lambda: bool(received))


def _choice(asked: _Options) -> "PageChoice":
    from nwx.quality.playback.page_choice import PageChoice

    return PageChoice(
        query=asked.query,
        urls=_urls(asked.urls) if asked.urls else None,
        collection=asked.collection,
        every_capture=asked.every_capture,
        sample=asked.sample or 0,
        limit=asked.limit or 0,
    )


def _urls(name: str) -> tuple[str, ...]:
    """Return the URLs of a file, or of standard input, and tell of lines that are none."""
    if name == STANDARD_INPUT:
        return _listed(sys.stdin.buffer, "standard input")
    with Path(name).open("rb") as stream:
        return _listed(stream, name)


def _listed(stream: BinaryIO, name: str) -> tuple[str, ...]:
    from nwx.quality.renders.page_lists import UrlList

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
    """Faults and scores as JSON, kept in files until all are there; and the worst pages."""

    def __init__(self, faults: IO[str], scores: IO[str]) -> None:
        self._files = {"faults": faults, "scores": scores}
        self._worst: list[PlaybackScore] = []

    def add(self, score: "PlaybackScore") -> None:
        """Keep a score."""
        from nwx.quality.playback.check import fault_json, score_json

        for fault in score.faults:
            self._files["faults"].write(json_text(fault_json(score, fault)) + "\n")
        self._files["scores"].write(json_text(score_json(score)) + "\n")
        self._worst.append(score)
        if len(self._worst) >= 2 * _WORST_SHOWN:
            self._worst = self.worst()

    def worst(self) -> "list[PlaybackScore]":
        """Return the worst pages, the worst first."""
        return sorted(self._worst, key=lambda score: (score.score, score.id))[:_WORST_SHOWN]

    def print_json(self, report: "PlaybackReport") -> None:
        """Print all, a fault or a score a line."""
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


def _print(asked: _Options, results: _Results, report: "PlaybackReport") -> None:
    for problem in report.problems[:_PROBLEMS_SHOWN]:
        warn(problem)
    if report.problems_total > _PROBLEMS_SHOWN:
        more = counted(report.problems_total - _PROBLEMS_SHOWN, "more problem")
        warn(more)
    if asked.as_json:
        results.print_json(report)
    elif not asked.quiet:
        from nwx.cli.quality.tables import print_playback_scores

        print_playback_scores(results.worst())
        click.echo(checked_words(report))
    if report.interrupted:
        warn("stopped; run the same command again to go on")


def checked_words(report: "PlaybackReport") -> str:
    """Return what came of a check, in words."""
    words = [f"{report.checked:,} of {counted(report.pages, 'page')} checked"]
    if report.known:
        words.append(f"{report.known:,} checked before")
    if report.checked:
        words.append(f"{report.faulty:,} with faults")
    words += [f"{count:,} {kind.replace('_', ' ')}" for kind, count in report.faults.items()]
    if report.mean_score is not None:
        words.append(f"mean score {report.mean_score:.3f}")
    if report.left_aside:
        words.append(f"{counted(report.left_aside, 'request')} left aside")
    return ", ".join(words)
