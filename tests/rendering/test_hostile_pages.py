"""Hostile pages end on their own within their limits, and leave nothing behind."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import psutil
import pytest

from nwx.quality.browser.pool import BrowserPool
from nwx.quality.browser.targets import ArchivePlayback, BrowserOptions, RenderTask
from tests.rendering.hostile_site import PAGES, HostilePage
from tests.rendering.made_player import PLAYED_TIMESTAMP, Answer, made_player
from tests.web.chromium import find_browser

CHOSEN = ("endless-loop", "dialogs", "downloads", "popups", "memory", "gentle")
"""The hostile pages with different limits; running all pages takes minutes."""

OTHERS = (
    HostilePage(
        "goes-round",
        "setTimeout(() => { location.href = location.href.split('?')[0] + '?' + Math.random() })",
        problem=("redirect loop", "timeout"),
    ),
    HostilePage("redirects", problem=("redirect loop",)),
    HostilePage("long-answer", problem=("bytes",)),
)
BY_NAME = {page.name: page for page in (*PAGES, *OTHERS) if page.name in CHOSEN or page in OTHERS}
_ENDING_SECONDS = 30


def answer(url: str) -> Answer | None:
    """Return the player's response for a URL."""
    name = url.rpartition("/")[2].partition("?")[0]
    if name == "redirects":
        return 302, url, b""
    if name == "long-answer":
        return 200, "text/html", b"<p>" + b"long " * (1 << 20)
    if name == "attachment":
        return 200, "application/octet-stream", b"MZ"
    page = BY_NAME.get(name)
    return None if page is None else (200, "text/html", page.body)


@pytest.fixture(scope="module")
def prefix() -> Iterator[str]:
    with made_player(answer) as made:
        yield made


def test_each_is_bounded_and_the_others_are_rendered(prefix: str) -> None:
    options = BrowserOptions(
        jobs=2,
        browser=find_browser(),
        page_seconds=12,
        most_bytes=4 << 20,
        most_memory=900 << 20,
    )
    tasks = [RenderTask(each.url, PLAYED_TIMESTAMP, key=name) for name, each in BY_NAME.items()]
    with BrowserPool(options, ArchivePlayback(prefix)) as pool:
        found = {each.task.key: each for each in pool.render(tasks)}
        gentle = next(pool.render([RenderTask(BY_NAME["gentle"].url, PLAYED_TIMESTAMP)]))
        kept = pool.processes
    assert (gentle.problem, gentle.title) == ("", "gentle")
    assert set(found) == set(BY_NAME)
    for name, page in BY_NAME.items():
        # A hostile page may crash the browser before its limit is reached.
        expected = (*page.problem, "crash") if page.problem else ("",)
        problem = found[name].problem
        assert any(words in problem for words in expected), (name, problem)
        assert all(found[name].refused.get(kind) for kind in page.refused), name
    assert not [pid for pid in kept if psutil.pid_exists(pid)]


_RENDER = """
import sys
from nwx.quality.browser.targets import BrowserOptions, RenderTask
from nwx.quality.browser.pool import BrowserPool
from nwx.quality.browser.targets import ArchivePlayback
browser, prefix, url = sys.argv[1:]
with BrowserPool(BrowserOptions(jobs=1, browser=browser), ArchivePlayback(prefix)) as pool:
    for each in pool.render([RenderTask(url, "20200101000000")] * 1000):
        print(each.task.url, pool.processes, flush=True)
"""


def test_nothing_is_left_of_a_command_that_was_killed(prefix: str) -> None:
    url = BY_NAME["gentle"].url
    command = [sys.executable, "-c", _RENDER, find_browser(), prefix, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(url.encode())
        below = psutil.Process(process.pid).children(recursive=True)
        assert len(below) > 3
        process.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(below, timeout=_ENDING_SECONDS)
    assert alive == []
    until = time.monotonic() + _ENDING_SECONDS
    while (left := _folders_of(process.pid)) and time.monotonic() < until:
        time.sleep(0.1)
    assert left == []


def _folders_of(pid: int) -> list[Path]:
    """Return the temporary folders of a process."""
    return list(Path(gettempdir()).glob(f"nwx-*.{pid}.*"))
