"""Whether playback checks find all damage in an archive, and nothing else.

A real browser crawls a generated web through the real warcprox, with renders.
Then records are removed from the WARC files in 30 places: of ten pages a style
sheet, of ten a script, of ten a third of the images. `nwx check-playback`
checks both archives, and its faults are compared with the removed records. If
node is installed, the pages are also compared with the libraries and code of
Browsertrix.

    python -m benchmarks.playback_damage FOLDER [--pages 240] [--places 30] [--only crawl]

The output of stages stays in FOLDER, so that stages can run one by one.
"""

import argparse
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from benchmarks.browsertrix.formula import (
    ComparedPage,
    browsertrix_numbers,
    has_node,
    installed_libraries,
)
from nwx.values.render_names import render_name
from tests.cli.conftest import COMMAND, environment
from tests.rendering.crawl import crawl
from tests.rendering.damage import KINDS, Damage, choose_damages, damage_folder
from tests.rendering.made_site.answers import MadeSite
from tests.web.chromium import find_browser

STAGES = ("crawl", "damage", "whole", "damaged", "report")
_CHUNK = 40
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Work:
    """The folder of the benchmark, and the sizes of its data."""

    folder: Path
    pages: int
    places: int
    jobs: int

    @property
    def site(self) -> MadeSite:
        """The generated web."""
        return MadeSite(self.pages)

    def warcs(self, name: str) -> Path:
        """The WARC files of the complete or the damaged archive."""
        return self.folder / name / "warcs"

    def report(self, name: str) -> Path:
        """The report of the check of an archive."""
        return self.folder / f"{name}.json"

    def renders(self, name: str) -> Path:
        """The renders made by the check of an archive."""
        return self.folder / f"{name}-renders.warc.gz"


def crawl_pages(work: Work) -> None:
    """Crawl the remaining pages, in chunks."""
    marks = work.folder / "whole" / "crawled"
    marks.mkdir(parents=True, exist_ok=True)
    site = work.site
    for start in range(0, work.pages, _CHUNK):
        mark = marks / str(start)
        if not mark.exists():
            urls = [page.url for page in site.pages[start : start + _CHUNK]]
            began = time.monotonic()
            crawl(work.folder / "whole", site, urls, work.jobs)
            mark.touch()
            print(f"crawled {len(urls)} pages in {time.monotonic() - began:.0f} s", flush=True)


def damage_archive(work: Work) -> None:
    """Remove records from a copy."""
    files = sorted(work.warcs("whole").glob("*.warc.gz"))
    damages = choose_damages(files, range(work.pages), work.places)
    taken = {url for damage in damages for url in damage.urls}
    removed = damage_folder(work.warcs("whole"), work.warcs("damaged"), taken)
    renders = work.folder / "damaged" / "renders"
    shutil.copytree(work.folder / "whole" / "renders", renders, dirs_exist_ok=True)
    (work.folder / "damages.json").write_text(json.dumps(damages, indent=1), encoding="utf-8")
    print(f"{len(taken)} resources of {len(damages)} pages taken away, {removed} records")


def _nwx(archive: Path, *arguments: object) -> str:
    command = [COMMAND, *map(str, arguments)]
    # pywb, used for playback, raises warnings.
    place = environment(archive, NWX_BROWSER=find_browser(), PYTHONWARNINGS="default")
    return subprocess.run(command, env=place, stdout=subprocess.PIPE, text=True, check=True).stdout


def check_archive(work: Work, name: str) -> None:
    """Import an archive and check all its pages."""
    archive, listed = work.folder / f"{name}-archive", work.folder / "urls.txt"
    listed.write_text("\n".join(page.url for page in work.site.pages), encoding="utf-8")
    _nwx(archive, "import", work.folder / name / "warcs", work.folder / name / "renders")
    began = time.monotonic()
    options = ("--json", "--force", "--jobs", work.jobs, "--out", work.renders(name))
    found = _nwx(archive, "check-playback", "--urls", listed, *options)
    seconds = time.monotonic() - began
    report = json.loads(found)
    work.report(name).write_text(found, encoding="utf-8")
    checked = report["checked"]
    print(
        f"{name}: {checked} pages checked in {seconds:.0f} s, {60 * checked / seconds:.1f} a minute"
    )


def _faults(work: Work, name: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {page.url: [] for page in work.site.pages}
    for fault in json.loads(work.report(name).read_text(encoding="utf-8"))["faults"]:
        found.setdefault(fault["url"], []).append(fault)
    return found


def print_recall(work: Work) -> None:
    """Print which damage was found, and which pages were wrongly reported."""
    damages = [
        Damage(*each) for each in json.loads((work.folder / "damages.json").read_text("utf-8"))
    ]
    whole, damaged = _faults(work, "whole"), _faults(work, "damaged")
    pages = work.site.pages
    for kind in KINDS:
        of_kind = [damage for damage in damages if damage.kind == kind]
        found = [each for each in of_kind if _is_found(each, damaged[pages[each.page].url])]
        print(f"damaged by {kind}: {len(of_kind)}, found {len(found)}")
        for missed in set(of_kind) - set(found):
            print(f"  MISSED {pages[missed.page].url} {missed.urls}")
    hurt = {damage.page for damage in damages}
    sound = [page.url for page in pages if page.number not in hurt]
    alarms = [url for url in sound if damaged[url]]
    fresh = [url for url in alarms if _told(damaged[url]) - _told(whole[url])]
    print(f"undamaged pages: {len(sound)}, with faults {len(alarms)} ({_share(alarms, sound)}),")
    print(
        f"  with faults that the whole archive does not have {len(fresh)} ({_share(fresh, sound)})"
    )
    for url in alarms:
        print(f"  ALARM {url} {sorted(_told(damaged[url]))[:3]}")


def _is_found(damage: Damage, faults: list[dict[str, Any]]) -> bool:
    """Return whether faults name all removed records."""
    return set(damage.urls) <= {fault["resource"] for fault in faults}


def _told(faults: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(fault["kind"], fault["resource"]) for fault in faults}


def _share(part: Sequence[object], whole: Sequence[object]) -> str:
    return f"{len(part) / max(1, len(whole)):.1%}"


def _render_records(paths: Sequence[Path]) -> dict[str, dict[str, bytes]]:
    """Return the payloads of renders, by page URL and kind."""
    found: dict[str, dict[str, bytes]] = {}
    for path in paths:
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                name = render_name(record.rec_headers.get_header("WARC-Target-URI") or "")
                if name and name.kind in ("view", "text", "pageinfo"):
                    found.setdefault(name.url, {})[str(name.kind)] = record.content_stream().read()
    return found


def _statuses(pageinfo: bytes) -> dict[str, int]:
    return {url: each["status"] for url, each in json.loads(pageinfo)["urls"].items()}


def _both(work: Work, name: str) -> Iterator[tuple[str, ComparedPage]]:
    crawled = _render_records(sorted((work.folder / name / "renders").glob("*.warc.gz")))
    played = _render_records([work.renders(name)])
    for url, ours in played.items():
        theirs = crawled.get(url, {})
        if {"view", "text", "pageinfo"} <= ours.keys() & theirs.keys():
            yield (
                url,
                ComparedPage(
                    (theirs["view"], ours["view"]),
                    (theirs["text"].decode(), ours["text"].decode()),
                    (_statuses(theirs["pageinfo"]), _statuses(ours["pageinfo"])),
                ),
            )


def print_browsertrix(work: Work, name: str) -> None:
    """Print for how many pages the three numbers equal Browsertrix's."""
    report = json.loads(work.report(name).read_text(encoding="utf-8"))
    scores = {score["url"]: score for score in report["scores"]}
    pairs = [(url, page) for url, page in _both(work, name) if url in scores]
    with installed_libraries() as folder:
        numbers = browsertrix_numbers(folder, [page for _, page in pairs])
    equal = {"screenshot": 0, "text": 0, "resources": 0}
    for (url, _), theirs in zip(pairs, numbers, strict=True):
        ours = scores[url]
        pairs_of = {
            "screenshot": (ours["screenshot"], theirs.get("screenshotMatch")),
            "text": (ours["text"], theirs.get("textMatch")),
            "resources": (ours["resources"], theirs["resourceCounts"]),
        }
        for kind, (our, their) in pairs_of.items():
            if _equal(our, their):
                equal[kind] += 1
            else:
                print(f"  OTHER {kind} {url}: {our}, Browsertrix {their}")
    print(f"{name}: of {len(pairs)} pages, as many have Browsertrix's numbers: {equal}")


def _equal(ours: object, theirs: object) -> bool:
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return abs(ours - theirs) < _CLOSE
    return ours == theirs


def main() -> None:
    """Run the stages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=240)
    parser.add_argument("--places", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=STAGES, action="append")
    asked = parser.parse_args()
    work = Work(asked.folder, asked.pages, asked.places, asked.jobs)
    work.folder.mkdir(parents=True, exist_ok=True)
    for stage in asked.only or STAGES:
        if stage == "crawl":
            crawl_pages(work)
        elif stage == "damage":
            damage_archive(work)
        elif stage in ("whole", "damaged"):
            check_archive(work, stage)
        else:
            print_recall(work)
            if has_node():
                print_browsertrix(work, "damaged")


if __name__ == "__main__":
    main()
