"""Pages checked per minute, and memory, compared with a plain loop of Playwright.

The peer opens the same captures in the same playback one by one, waits until
the network is idle and takes a screenshot: no comparison, no text, no DOM, no
scrolling, no isolation. Both run alternately on different pages of the same
archive. Memory is that of all processes of the check together, sampled each
second: its course over the run shows whether it grows.

    python -m benchmarks.playback_checks FOLDER FILE... --pages 60      files of archives
    python -m benchmarks.playback_checks FOLDER FILE... --pages 500 --alone
"""

import argparse
import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import mean

from playwright.sync_api import Error, sync_playwright

from benchmarks.process_family import FamilyWatch, family_memory, family_seconds
from nwx.engine.base import open_engine
from nwx.settings import Settings
from tests.cli.conftest import COMMAND, environment
from tests.web.chromium import ARGUMENTS, find_browser

_MIB = 1 << 20
_QUIET = "networkidle"
_PAGE_SECONDS = 30
_PARTS = 5


class MemoryCourse:
    """Samples the memory of a process and its descendants over time."""

    def __init__(self, pid: int) -> None:
        self.samples: list[int] = []
        self._pid, self._over = pid, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop sampling."""
        self._over.set()
        self._thread.join()

    def parts(self) -> list[float]:
        """Return the mean of each fifth of the run, in MiB."""
        size = max(1, len(self.samples) // _PARTS)
        return [mean(self.samples[at : at + size]) / _MIB for at in range(0, size * _PARTS, size)]

    def _look(self) -> None:
        while not self._over.wait(1.0):
            self.samples.append(family_memory(self._pid))


def check_pages(archive: Path, pages: int, jobs: int, minutes: float) -> None:
    """Print the time and memory of a check of pages, which is stopped after some minutes."""
    command = [COMMAND, "check-playback", "--json", "--jobs", str(jobs), "--limit", str(pages)]
    began = time.monotonic()
    with subprocess.Popen(
        command,
        env=environment(archive, NWX_BROWSER=find_browser(), PYTHONWARNINGS="default"),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        watch, course = FamilyWatch(process.pid), MemoryCourse(process.pid)
        ending = threading.Timer(60 * minutes, process.send_signal, (signal.SIGINT,))
        ending.start()
        out, _ = process.communicate()
        ending.cancel()
        watch.stop()
        course.stop()
    seconds = time.monotonic() - began
    checked = json.loads(out)["checked"]
    _print(f"nwx check-playback --jobs {jobs}", checked, seconds, watch)
    print("  MiB in each fifth of the run: ", *(f"{part:.0f}" for part in course.parts()))


def _print(name: str, pages: int, seconds: float, watch: FamilyWatch) -> None:
    print(
        f"{name}: {pages} pages in {seconds:.0f} s, {60 * pages / seconds:.1f} a minute,"
        f" {watch.processor / max(1, pages):.2f} s of processor a page,"
        f" {watch.memory / _MIB:.0f} MiB at most"
    )


@contextmanager
def served(archive: Path) -> Iterator[tuple[str, int]]:
    """Serve an archive; yield the address of its playback, and the process."""
    command = [COMMAND, "serve", "--port", "0"]
    with subprocess.Popen(
        command,
        env=environment(archive, PYTHONUNBUFFERED="1", PYTHONWARNINGS="default"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().partition(" at ")[2].split()[0].rstrip("/"), process.pid
        finally:
            process.terminate()


def open_pages(archive: Path, captures: Sequence[tuple[str, str]]) -> None:
    """Print the time of the plain loop with the same playback."""
    with served(archive) as (address, pid), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(ARGUMENTS))
        own = FamilyWatch(_own_id())
        began, served_before = time.monotonic(), family_seconds(pid)
        for url, timestamp in captures:
            page = browser.new_page(viewport={"width": 1920, "height": 1080})
            try:
                page.goto(f"{address}/replay/{timestamp}mp_/{url}", timeout=_PAGE_SECONDS * 1_000)
                page.wait_for_load_state(_QUIET, timeout=_PAGE_SECONDS * 1_000)
                page.screenshot()
            except Error as error:
                print("  the loop:", str(error).split("\n")[0])
            page.close()
        seconds, served_after = time.monotonic() - began, family_seconds(pid)
        own.stop()
        browser.close()
    print(f"  of which playback took {(served_after - served_before) / len(captures):.2f} s a page")
    _print("plain Playwright loop", len(captures), seconds, own)


def _own_id() -> int:
    return int(Path("/proc/self").resolve().name)


def page_captures(archive: Path, pages: int) -> list[tuple[str, str]]:
    """Return URL and timestamp of pages of an archive."""
    with open_engine(Settings(str(archive))) as engine:
        found = (
            (capture.url, capture.timestamp)
            for capture in engine.captures("", "\U0010ffff")
            if capture.content_type_norm == "html"
            and capture.status_code == 200
            and capture.record_type == "response"
        )
        return list(islice(found, pages))


def main() -> None:
    """Import, then check and open pages alternately."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help="leave out the loop")
    asked = parser.parse_args()
    archive = asked.folder / "archive"
    if asked.files:
        command = [COMMAND, "import", *map(str, asked.files)]
        subprocess.run(command, env=environment(archive), check=False)  # some files are damaged
    check_pages(archive, asked.pages, asked.jobs, asked.minutes)
    if not asked.alone:
        open_pages(archive, page_captures(archive, asked.pages))


if __name__ == "__main__":
    main()
