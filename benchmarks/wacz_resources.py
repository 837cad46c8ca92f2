"""Do pages play from a WACZ with their resources as they play from their archive?

Pages of an archive are packed with `nwx wacz --with-resources` and, for
comparison, without; each WACZ is imported into an archive of its own. A
browser opens each page in the playback of all three, and counts the URLs
that were answered with success.

    python -m benchmarks.wacz_resources FOLDER FILE... --pages 20
"""

import argparse
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, Error, Response, sync_playwright

from benchmarks.playback_checks import served
from nwx.engine.entries import capture_from_entry
from nwx.engine.open import open_engine
from nwx.model import IndexName
from nwx.page_places import page_places
from nwx.settings import Settings
from tests.cli.conftest import COMMAND, environment
from tests.web.chromium import ARGUMENTS, find_browser

_LOWEST_ERROR = 400
_SECONDS = 10
_SEED = 7

PageUrl = tuple[str, str]


def chosen_pages(archive: Path, count: int) -> list[PageUrl]:
    """Return URL and timestamp of some pages, the same each time."""
    with open_engine(Settings(str(archive)), read_only=True) as engine:
        captures = map(capture_from_entry, engine.scan(IndexName.CAPTURES))
        pages = sorted({(one.url, one.timestamp) for one in page_places(captures)})
    return random.Random(_SEED).sample(pages, min(count, len(pages)))


def nwx(archive: Path, *arguments: object) -> None:
    """Run a command on an archive."""
    subprocess.run(
        [COMMAND, *map(str, arguments)], env=environment(archive), check=True, capture_output=True
    )


def played(archive: Path, pages: Sequence[PageUrl], browser: Browser) -> list[set[str]]:
    """Return for each page the archived URLs that its playback answered with success."""
    found = []
    with served(archive) as (address, _):
        for url, timestamp in pages:
            urls: set[str] = set()

            def note(response: Response, urls: set[str] = urls) -> None:
                if response.status < _LOWEST_ERROR and "/replay/" in response.url:
                    urls.add(response.url.partition("/replay/")[2].partition("/")[2])

            page = browser.new_page()
            page.on("response", note)
            try:
                page.goto(f"{address}/replay/{timestamp}mp_/{url}", timeout=_SECONDS * 1_000)
                page.wait_for_load_state("networkidle", timeout=_SECONDS * 1_000)
            except Error as error:
                print("  ", url, str(error).split("\n")[0])
            page.close()
            found.append(urls)
    return found


def main() -> None:
    """Print how many resources play from each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=20)
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    archive = folder / "archive"
    nwx(archive, "import", *arguments.files, "--quiet")
    pages = chosen_pages(archive, arguments.pages)
    (folder / "urls").write_text("".join(f"{url}\n" for url, _ in pages), encoding="utf-8")
    others = {}
    for name, options in (("with", ["--with-resources"]), ("without", [])):
        packed = folder / f"{name}.wacz"
        nwx(archive, "wacz", packed, "--urls", folder / "urls", *options, "--quiet")
        others[name] = folder / name
        nwx(others[name], "import", packed, "--quiet")
        print(f"{name} resources: {packed.stat().st_size >> 10:,} KiB")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(ARGUMENTS))
        whole = played(archive, pages, browser)
        for name, place in others.items():
            found = played(place, pages, browser)
            lacking = [one - other for one, other in zip(whole, found, strict=True)]
            print(
                f"{name} resources: {sum(map(len, found)):,} of {sum(map(len, whole)):,} URLs play,"
                f" {sum(not one for one in lacking)} of {len(pages)} pages as in the archive"
            )
            for urls in lacking if name == "with" else ():
                for url in sorted(urls):
                    print("   lacks", url[:200])
        browser.close()


if __name__ == "__main__":
    main()
