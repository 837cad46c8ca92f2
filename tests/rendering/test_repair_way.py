"""From crawl to repair: crawled, imported, checked, scored, repaired, and checked again."""

import shutil
from pathlib import Path
from typing import Any

from tests.cli.conftest import run_nwx
from tests.rendering.conftest import crawled_pages
from tests.rendering.crawl import Crawl
from tests.rendering.damage import (
    KINDS,
    choose_damages,
    damage_folder,
    placed_records,
    remove_records,
)
from tests.web.chromium import find_browser

_PLACES = 3


class DamagedArchive:
    """An archive of a damaged crawl, and its watched folder."""

    def __init__(self, folder: Path, crawl: Crawl) -> None:
        self._engine, self.incoming, self._crawl = folder / "archive", folder / "incoming", crawl
        self._warcs = sorted(crawl.warcs.glob("*.warc.gz"))
        numbers = [page.number for page in crawled_pages()]
        self.damages = choose_damages(self._warcs, numbers, _PLACES)
        self.pages = {crawl.site.pages[damage.page].url for damage in self.damages}
        self.lost = {url for damage in self.damages for url in damage.urls}
        damage_folder(crawl.warcs, self.incoming, self.lost)
        shutil.copytree(crawl.renders, self.incoming, dirs_exist_ok=True)
        self._listed = folder / "urls.txt"
        self._listed.write_text("\n".join(page.url for page in crawled_pages()), "utf-8")

    def load(self) -> None:
        """Load new files."""
        run_nwx(self._engine, "watch", self.incoming, "--once", "--settle", 0)

    def check(self) -> Any:
        """Check all pages that are due, and return the report."""
        arguments = ("check-playback", "--urls", self._listed)
        # pywb, used for playback, emits warnings.
        return self.asked(*arguments, NWX_BROWSER=find_browser(), PYTHONWARNINGS="default")

    def asked(self, *arguments: object, **more: str) -> Any:
        """Return the JSON output of a command."""
        return run_nwx(self._engine, *arguments, "--json", **more).json

    def repair(self, urls: set[str]) -> None:
        """Add captures of these URLs, like a crawl of the repair list."""
        for warc in self._warcs:
            others = {record.url for record in placed_records(warc)} - urls
            remove_records(warc, self.incoming / f"repaired-{warc.name}", others)


def test_a_damaged_crawl_is_found_repaired_and_found_whole(
    tmp_path: Path, made_crawl: Crawl
) -> None:
    archive = DamagedArchive(tmp_path, made_crawl)
    assert {damage.kind for damage in archive.damages} == set(KINDS)
    archive.load()
    found = archive.check()
    assert (found["pages"], found["checked"]) == (len(crawled_pages()),) * 2
    missing = {
        (fault["url"], fault["resource"]) for fault in found["faults"] if fault["kind"] == "missing"
    }
    pages = made_crawl.site.pages
    assert missing == {
        (pages[damage.page].url, url) for damage in archive.damages for url in damage.urls
    }
    assert {fault["url"] for fault in found["faults"]} == archive.pages, "no false alarm"
    worst = archive.asked("quality", "--limit", _PLACES)["scores"]
    assert {score["url"] for score in worst} == archive.pages
    repairs = archive.asked("repair")["repairs"]
    assert {repair["url"] for repair in repairs if repair["checked"]} == archive.lost

    archive.repair({repair["url"] for repair in repairs})
    archive.load()
    again = archive.check()
    assert again["checked"] == _PLACES, "the pages that the new files touch, and no others"
    assert again["faults"] == []
    assert archive.asked("quality", "--kind", "missing")["pages"] == 0
    assert archive.asked("repair")["repairs"] == []
