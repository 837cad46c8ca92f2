"""Whether pages play from a WACZ with resources as they do from their archive.

Pages of an archive are opened in its playback, and successfully answered URLs
are recorded. Then the pages are packed with `nwx wacz --with-resources` and,
for comparison, without; each WACZ is imported into a separate archive, and the
pages are opened in its playback. As pages in one WACZ share resources, each
page is also checked alone: how many of the played captures would be in a WACZ
of this page only?

    python -m benchmarks.wacz_resources FOLDER FILE... --pages 20
    python -m benchmarks.wacz_resources FOLDER FILE... --tabs 4         all pages
"""

import argparse
import asyncio
import random
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from playwright.async_api import Browser, Error, Response, async_playwright

from benchmarks.playback_checks import served
from nwx.captures import page_places
from nwx.engine.base import Engine, open_engine
from nwx.engine.entries import capture_from_entry
from nwx.errors import UrlError
from nwx.exports.page_needs import PageNeeds, original_of
from nwx.model import Capture, IndexName
from nwx.settings import Settings
from nwx.values.urlkeys import urlkey
from tests.cli.conftest import COMMAND, environment
from tests.web.chromium import ARGUMENTS, find_browser

_LOWEST_ERROR = 400
_SECONDS = 10
_SEED = 7
_TRIES = 3
_OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
_MEMENTO = "%a, %d %b %Y %H:%M:%S GMT"

PageUrl = tuple[str, str]
Played = dict[str, str]
"""Successfully answered archived URLs, and the timestamps of their captures."""


def chosen_pages(archive: Path, count: int) -> list[PageUrl]:
    """Return URL and timestamp of some pages, the same each time; of all if `count` is 0."""
    with open_engine(Settings(str(archive)), read_only=True) as engine:
        captures = map(capture_from_entry, engine.scan(IndexName.CAPTURES))
        pages = sorted({(one.url, one.timestamp) for one in page_places(captures)})
    return random.Random(_SEED).sample(pages, min(count or len(pages), len(pages)))


def nwx(archive: Path, *arguments: object) -> None:
    """Run a command on an archive; it may fail, as some files of real archives are damaged."""
    command = [COMMAND, *map(str, arguments)]
    done = subprocess.run(command, env=environment(archive), check=False, capture_output=True)
    if not archive.exists():
        raise SystemExit(done.stderr.decode())


class Player:
    """Opens pages in playback, some at a time, and records successfully answered URLs."""

    def __init__(self, browser: Browser, address: str, tabs: int) -> None:
        self._browser, self._address = browser, address
        self._free = asyncio.Semaphore(tabs)

    async def played(self, pages: Sequence[PageUrl]) -> list[Played]:
        """Return the successfully answered URLs of each page."""
        return await asyncio.gather(*(self._page(url, timestamp) for url, timestamp in pages))

    async def _page(self, url: str, timestamp: str) -> Played:
        found: Played = {}

        def note(response: Response) -> None:
            if response.status < _LOWEST_ERROR and "/replay/" in response.url:
                moment = response.headers.get("memento-datetime", "")
                when = datetime.strptime(moment, _MEMENTO) if moment else None
                archived = response.url.partition("/replay/")[2].partition("/")[2]
                found[archived] = f"{when:%Y%m%d%H%M%S}" if when else ""

        async with self._free:
            page = await self._browser.new_page()
            page.on("response", note)
            try:
                address = f"{self._address}/replay/{timestamp}mp_/{url}"
                await page.goto(address, timeout=_SECONDS * 1_000)
                await page.wait_for_load_state("networkidle", timeout=_SECONDS * 1_000)
            except Error as error:
                print("  ", url[:100], str(error).split("\n")[0][:100], flush=True)
            await page.close()
        return found


async def played(archive: Path, pages: Sequence[PageUrl], tabs: int) -> list[Played]:
    """Return the successfully answered URLs of each page in the playback of an archive."""
    with served(archive) as (address, _):
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_browser(), args=[*ARGUMENTS, _OFFLINE]
            )
            found = await Player(browser, address, tabs).played(pages)
            await browser.close()
    return found


def played_again(
    archive: Path, pages: Sequence[PageUrl], whole: Sequence[Played], tabs: int
) -> list[set[str]]:
    """Return the URLs that pages lack in an archive after some tries, as requests vary."""
    lacking = [set(one) for one in whole]
    for _ in range(_TRIES):
        left = [at for at, urls in enumerate(lacking) if urls]
        some = asyncio.run(played(archive, [pages[at] for at in left], tabs))
        for at, found in zip(left, some, strict=True):
            lacking[at] -= found.keys()
    return lacking


def needed_alone(engine: Engine, page: PageUrl) -> Iterator[Capture]:
    """Yield the captures that a WACZ of one page would contain."""
    url, timestamp = page
    own = [one for one in engine.captures(urlkey(url)) if one.timestamp == timestamp]
    yield from own
    for one in own:
        if one.record_type == "revisit":
            yield from original_of(engine, one)
    yield from PageNeeds(engine).of(own)


def lacking_alone(
    archive: Path, pages: Sequence[PageUrl], whole: Sequence[Played]
) -> list[set[str]]:
    """Return the played URLs that a WACZ of their page alone would lack."""
    with open_engine(Settings(str(archive)), read_only=True) as engine:
        return [
            _not_held(engine, page, one) if one else set()
            for page, one in zip(pages, whole, strict=True)
        ]


def _not_held(engine: Engine, page: PageUrl, whole: Played) -> set[str]:
    needed = list(needed_alone(engine, page))
    keys = {one.urlkey for one in needed}
    # Playback falls back to files with another query.
    files = {(one.url.partition("?")[0], one.timestamp) for one in needed}
    return {
        url
        for url, timestamp in whole.items()
        if (url.partition("?")[0], timestamp) not in files and not _is_of(url, keys)
    }


def _is_of(url: str, keys: set[str]) -> bool:
    try:
        return urlkey(url) in keys
    except UrlError:
        return False


def packed(archive: Path, folder: Path, name: str, *options: str) -> Path:
    """Return an archive with a WACZ of the chosen pages."""
    file = folder / f"{name}.wacz"
    nwx(archive, "wacz", file, "--urls", folder / "urls", *options, "--quiet")
    nwx(folder / name, "import", file, "--quiet")
    print(f"{name}: {file.stat().st_size >> 10:,} KiB", flush=True)
    return folder / name


def show(
    name: str, pages: Sequence[PageUrl], whole: Sequence[Played], lack: list[set[str]]
) -> None:
    """Print how much plays, and the URLs that do not."""
    total, missing = sum(map(len, whole)), sum(map(len, lack))
    print(
        f"{name}: {total - missing:,} of {total:,} URLs,"
        f" {sum(not one for one in lack)} of {len(pages)} pages as in the archive"
    )


def show_missing(pages: Sequence[PageUrl], lack: Sequence[set[str]]) -> None:
    """Print the lacking URLs, with the number of pages that lack each."""
    count = Counter(url for urls in lack for url in urls)
    page = {url: of for of, urls in zip(pages, lack, strict=True) for url in urls}
    for url, pages_of_it in count.most_common():
        print(f"   {pages_of_it:4} lack {url[:160]}   {' '.join(page[url][::-1])[:120]}")


def main() -> None:
    """Print how many resources play from each archive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--pages", type=int, default=0, help="so many, by chance; 0 for all")
    parser.add_argument("--tabs", type=int, default=2)
    parser.add_argument("--without", action="store_true", help="also a WACZ without resources")
    asked = parser.parse_args()
    folder: Path = asked.folder
    archive = folder / "archive"
    if asked.files:
        nwx(archive, "import", *asked.files, "--quiet")
    pages = chosen_pages(archive, asked.pages)
    (folder / "urls").write_text("".join(f"{url}\n" for url, _ in pages), encoding="utf-8")
    whole = asyncio.run(played(archive, pages, asked.tabs))
    print(f"archive: {sum(map(len, whole)):,} URLs of {len(pages)} pages play", flush=True)
    alone = lacking_alone(archive, pages, whole)
    show("WACZ of each page alone holds", pages, whole, alone)
    show_missing(pages, alone)
    options = {"with": ["--with-resources"]} | ({"without": []} if asked.without else {})
    for name, given in options.items():
        place = packed(archive, folder, name, *given)
        lack = played_again(place, pages, whole, asked.tabs)
        show(f"WACZ {name} resources plays", pages, whole, lack)
        if name == "with":
            show_missing(pages, lack)


if __name__ == "__main__":
    main()
