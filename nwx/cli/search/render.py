"""nwx render and nwx pictures"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, opened_archive, print_json, progress_bar, warn
from nwx.cli.quality.check_playback import (
    browser_option,
    browser_options,
    jobs_option,
    page_seconds_option,
    playback_option,
    playback_target,
)
from nwx.errors import NotBuiltError, UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.archive import Archive
    from nwx.pictures.answers import Picture
    from nwx.quality.browser.targets import PlaybackTarget, RenderTask
    from nwx.quality.render_writer import RenderReport


@click.command("render")
@click.argument("query", nargs=-1)
@option.string("--urls", "FILE", "Pages to render: a URL, or timestamp and URL, per line.")
@option.string("--collection", "NAME", "Pages of this collection.")
@option.value(
    "--out",
    option.FILE,
    "FILE",
    "The WARC file (.warc.gz) to append renders to.",
    required=True,
)
@option.flag("--live", "Visit the live web; needs --proxy.")
@option.string("--proxy", "URL", "Live: the WARC-writing proxy, http://host:port.")
@option.repeated(
    "--local", "HOST:PORT", "Live: a private address that pages may access; may be repeated."
)
@playback_option
@jobs_option
@option.count("--limit", "N", "Render at most N pages.")
@page_seconds_option
@click.option("--scroll/--no-scroll", default=True, help="Scroll through each page (default).")
@browser_option
@option.JSON_REPORT
@click.pass_obj
def render_command(settings: Settings, /, query: tuple[str, ...], **given: Any) -> None:
    """Render pages in a browser: store screenshots, text, DOM and resources.

    QUERY selects documents as in `nwx search`; without it, --urls and --collection, all
    pages of the archive are rendered. They are played from the archive, and no request
    leaves it. With --live they are visited on the web through a proxy that archives them,
    so that nothing is fetched twice.

    The records are named as Browsertrix names them (urn:view, urn:thumbnail, urn:fullPage,
    urn:text, urn:pageinfo, and onreadydom), and FILE can be imported. Run the same command
    again to resume: pages in FILE are skipped.
    """
    from nwx.quality.browser.pool import NO_SANDBOX, BrowserPool
    from nwx.quality.page_choice import RemainingPages
    from nwx.quality.render_writer import RenderWriter, render_pages
    from nwx.quality.stored_renders import rendered_pages

    out, limit, quiet = given["out"], given["limit"], given["quiet"]
    found = " ".join(query)
    _check(found, **given)
    options = browser_options(settings, given, scroll=given["scroll"])
    with (
        progress_bar(quiet=quiet or given["as_json"]) as show,
        _pages(settings, found, given["urls"], given["collection"]) as pages,
        RenderWriter(out) as writer,
        _target(settings, **given) as target,
        BrowserPool(options, target) as pool,
    ):
        remaining = RemainingPages(pages.tasks, rendered_pages(out), limit)
        if not pool.sandbox and not quiet:
            warn(NO_SANDBOX)
        total = min(pages.total, limit or pages.total)
        report = render_pages(pool, writer, remaining, show, total)
        for problem in pages.problems:
            warn(problem)
    counts = {"skipped": remaining.skipped, "no_urls": pages.wrong}
    if given["as_json"]:
        print_json(report.values() | counts | {"out": str(out)})
        return
    for example in report.examples:
        warn(example)
    if not quiet:
        click.echo(_words(report, *counts.values()))
        click.echo(f"written to {clean(str(out))}")


def _check(
    query: str,
    *,
    urls: str,
    collection: str,
    live: bool,
    proxy: str,
    local: tuple[str, ...],
    playback: str,
    **_: Any,
) -> None:
    """Raise UsageError if options cannot be combined."""
    if urls and (query or collection):
        raise UsageError("--urls cannot be combined with QUERY or --collection")
    if live and not proxy:
        raise UsageError(
            "--live needs --proxy, a proxy that archives what it fetches, as warcprox does:"
            " without it the pages themselves would be lost"
        )
    if not live and (proxy or local):
        raise UsageError("--proxy and --local need --live")
    if live and playback:
        raise UsageError("--live and --playback are mutually exclusive")


@dataclass(slots=True)
class _Pages:
    """The pages to render; `total` is 0 if unknown. `problems` grows while they are read."""

    tasks: "Iterable[RenderTask]"
    total: int = 0

    @property
    def problems(self) -> list[str]:
        return getattr(self.tasks, "problems", [])

    @property
    def wrong(self) -> int:
        return int(getattr(self.tasks, "wrong", 0))


@contextmanager
def _pages(settings: Settings, query: str, urls: str, collection: str) -> Iterator[_Pages]:
    from nwx.bulk.whole_files import standard_input
    from nwx.quality.page_choice import UrlList

    if urls == STANDARD_INPUT:
        yield _Pages(UrlList(standard_input(), "standard input"))
    elif urls:
        with Path(urls).open("rb") as stream:
            yield _Pages(UrlList(stream, urls))
    else:
        with opened_archive(settings) as archive:
            yield _Pages(*archive.page_tasks(query, collection))


@contextmanager
def _target(
    settings: Settings,
    *,
    live: bool,
    proxy: str,
    local: tuple[str, ...],
    playback: str,
    urls: str,
    **_: Any,
) -> Iterator["PlaybackTarget"]:
    """Yield the target for rendering: the live web, or a playback, perhaps a temporary one."""
    if live:
        from nwx.quality.browser.targets import LiveWeb

        web = LiveWeb(proxy, local, trusts_pages=bool(urls))
        web.check()
        yield web
    else:
        with playback_target(settings, playback) as target:
            yield target


def _words(report: "RenderReport", skipped: int, wrong: int) -> str:
    pages = counted(report.written, "page")
    failed = f"{report.resources_failed:,} of {counted(report.resources, 'resource')}"
    words = [f"{pages} rendered in {report.seconds:.1f} s", f"{failed} failed"]
    for count, what in (
        (report.pages - report.written, "not rendered"),
        (report.missing, "not in the archive"),
        (report.problems.total(), "ended early"),
        (report.leaks, "requests to the live web refused"),
        (skipped, "rendered before, skipped"),
        (wrong, "lines without a URL skipped"),
    ):
        if count:
            words.append(f"{count:,} {what}")
    return ", ".join(words)


_SIZES = ("icon", "small", "medium", "large")
_COLOURS = (
    *("black", "white", "grey", "red", "orange", "brown"),
    *("yellow", "green", "turquoise", "blue", "purple", "pink"),
)
_MOST = 1_000


@click.command("pictures")
@click.argument("query", default="")
@option.choice_of(
    "--size", _SIZES, "By the longer side: below 64, below 300, below 1000 pixels, or longer."
)
@click.option(
    "--colour", "colours", type=option.HintedChoice(_COLOURS), multiple=True, help="A main colour."
)
@option.repeated("--host", "HOST", "Images of this host.", into="hosts")
@option.repeated("--domain", "DOMAIN", "Images of this domain.", into="domains")
@option.repeated("--collection", "NAME", "Captured in this collection.", into="collections")
@option.repeated("--year", "YEAR", "Captured in this year.", into="years")
@option.string("--box", "W,S,E,N", "Taken within this box of longitudes and latitudes, in degrees.")
@option.file_path("--similar", "Pictures that look like this image file, instead of a query.")
@option.value("--limit", click.IntRange(1, _MOST), "N", "Number of pictures.", default=20)
@option.value(
    "--offset", click.IntRange(0), None, "Skip the first N pictures.", default=0, show_default=False
)
@option.flag("--json", "Print pictures and words as JSON.", into="as_json")
@click.pass_obj
def pictures_command(
    settings: Settings, /, similar: Path | None, limit: int, as_json: bool, **asked: Any
) -> None:
    """Find pictures by the words of the pages that show them.

    All words must match the file name, alternative text, title, links or the
    text around an image on one page. Run `nwx build-pictures` first.
    """
    if bad := next((year for year in asked["years"] if not re.fullmatch("[0-9]{4}", year)), ""):
        raise UsageError(f"--year is {bad!r}; write four digits, such as 2010")
    if similar is not None and any(asked.values()):
        raise UsageError("--similar cannot be combined with a query, filters or --offset")
    with opened_archive(settings) as archive:
        if not archive.is_built("pictures"):
            raise NotBuiltError("there is no index of pictures; run `nwx build-pictures` first")
        if similar is None:
            _print_found(archive, asked | {"limit": limit}, as_json=as_json)
            return
        from nwx.pictures.measures import hash_of_file  # loads Pillow

        found = archive.similar_pictures(hash_of_file(similar), limit)
    if as_json:
        from nwx.pictures.answers import similar_answer

        print_json(asdict(similar_answer(found)))
        return
    click.echo(counted(len(found), "similar picture"))
    for picture, distance in found:
        click.echo(f"{distance:>2}  {_line(picture)}")


def _print_found(archive: "Archive", asked: dict[str, Any], *, as_json: bool) -> None:
    from nwx.pictures.answers import ImageSize, PictureQuestion, parse_box, pictures_answer

    size = ImageSize(asked.pop("size")) if asked["size"] else None
    box = parse_box(asked.pop("box"))
    result = archive.search_pictures(PictureQuestion(**asked | {"size": size, "box": box}))
    if as_json:
        print_json(asdict(pictures_answer(result)))
        return
    click.echo(counted(result.total.value, "picture"))
    for picture, shown in result.pictures:
        words = shown and next(filter(None, (shown.alt, shown.title, shown.anchor)), "")
        click.echo(_line(picture) + (f"  {clean(words)}" if words else ""))


def _line(picture: "Picture") -> str:
    size = f"{picture.width}×{picture.height}"
    return f"{size:>11}  {picture.timestamp}  {clean(picture.url)}"
