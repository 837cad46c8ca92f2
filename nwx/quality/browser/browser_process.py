"""The process that runs one browser and renders pages in it, one after the other.

`nwx.quality.browser.pool` starts it and communicates over a socket. It ends, with every process
it started, when the socket is closed or its parent ends.
"""

import asyncio
import os
import shutil
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nwx.bulk.process_limits import leave_signals_to_parent
from nwx.quality.browser.gateway import Gateway
from nwx.quality.browser.page_visit import PageVisit
from nwx.quality.browser.targets import BrowserOptions, PageRender, PlaybackTarget, RenderTask

if TYPE_CHECKING:
    import psutil
    from playwright.async_api import Browser, Playwright


def memory_of_tree(pid: int) -> int:
    """Return the bytes used by a process and its descendants; shared memory counts once."""
    import psutil

    total = shared = 0
    for process in _tree(pid):
        with suppress(psutil.Error):
            found = process.memory_info()
            own_shared = getattr(found, "shared", 0)
            total += found.rss - own_shared
            shared = max(shared, own_shared)
    return total + shared


def kill_below(pid: int) -> None:
    """Kill all descendants of a process, including any started meanwhile."""
    import psutil

    for _ in range(3):
        below = [each for each in _tree(pid) if each.pid != pid]
        if not below:
            return
        for process in below:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(below, timeout=3)


def kill_users_of(folder: str) -> None:
    """Kill this user's processes with a folder in their arguments or HOME, whatever the parent."""
    import psutil

    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid == os.getpid():
                continue
            if process.uids().real == os.getuid() and _is_for(process, folder):
                os.kill(process.pid, signal.SIGKILL)


def _is_for(process: "psutil.Process", folder: str) -> bool:
    if any(f"{folder}/" in f"{word}/" for word in process.cmdline()):
        return True
    return process.environ().get("HOME", "") == folder


def _tree(pid: int) -> "list[psutil.Process]":
    import psutil

    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


_ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--disable-domain-reliability",
    "--dns-prefetch-disable",
    "--no-pings",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--gaia-url=http://127.0.0.1:9",
    "--deny-permission-prompts",
    "--disk-cache-size=1",
)
_LEFT_OUT = ("--hide-scrollbars", "--disable-popup-blocking")
_LOOK_SECONDS = 0.25
_REMOVE_SECONDS, _REMOVE_PAUSE_SECONDS = 5.0, 0.1
_START_SECONDS = 60
_MOST_PAGES = 100
"""Pages after which a browser is restarted, as it may accumulate state."""

_NICE = 5


@dataclass(frozen=True, slots=True)
class BrowserOrder:
    """The settings of a browser process, and its parent's id; `folder` holds all its files."""

    options: BrowserOptions
    target: PlaybackTarget
    browser: str
    sandbox: bool
    folder: str
    shared_folder: str
    parent: int


class _MemoryWatch:
    """A thread that kills the browser if it takes too much memory."""

    def __init__(self, most_memory: int) -> None:
        self._most = most_memory
        self.visit: PageVisit | None = None
        threading.Thread(target=self._run, name="memory", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            if memory_of_tree(os.getpid()) > self._most:
                if self.visit is not None:
                    self.visit.watch.leave("memory")
                kill_below(os.getpid())


class _BrowserKeeper:
    """A browser, started on demand and again after it has ended."""

    def __init__(self, order: BrowserOrder, gateway: Gateway) -> None:
        self._order, self._gateway = order, gateway
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._pages = 0
        self.user_agent = ""

    async def browser(self) -> "Browser":
        """Return a running browser."""
        if self._browser is not None and self._browser.is_connected() and self._pages < _MOST_PAGES:
            self._pages += 1
            return self._browser
        await self.end()
        return await asyncio.wait_for(self._start(), _START_SECONDS)

    async def _start(self) -> "Browser":
        from playwright.async_api import async_playwright

        self._playwright = await async_playwright().start()
        heap = self._order.options.most_memory // 3 >> 20
        browser = await self._playwright.chromium.launch(
            executable_path=self._order.browser,
            chromium_sandbox=self._order.sandbox,
            proxy={"server": f"http://127.0.0.1:{self._gateway.port}", "bypass": "<-loopback>"},
            args=[*_ARGUMENTS, f"--js-flags=--max-old-space-size={heap}"],
            ignore_default_args=list(_LEFT_OUT),
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
        major = browser.version.partition(".")[0]
        self.user_agent = (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
            f" Chrome/{major}.0.0.0 Safari/537.36"
        )
        self._browser, self._pages = browser, 1
        return browser

    async def end(self) -> None:
        """Kill the browser with all its processes, and remove its files."""
        playwright, self._playwright, self._browser = self._playwright, None, None
        await asyncio.to_thread(kill_below, os.getpid())
        if playwright is not None:
            with suppress(Exception):  # its process was killed
                await asyncio.wait_for(playwright.stop(), 5)
        for left in os.scandir(self._order.folder):
            shutil.rmtree(left.path, ignore_errors=True)


async def _render(
    keeper: _BrowserKeeper,
    watch: _MemoryWatch,
    order: BrowserOrder,
    gateway: Gateway,
    task: RenderTask,
) -> PageRender:
    browser = await keeper.browser()
    visit = PageVisit(task, order.options, order.target, gateway)
    watch.visit = visit
    await visit.run(browser, keeper.user_agent)
    watch.visit = None
    render = visit.render()
    if render.problem and not render.problem.startswith("navigation"):
        await keeper.end()
    return render


async def _serve(channel: Connection, order: BrowserOrder) -> None:
    gateway = Gateway(order.target)
    await gateway.start()
    keeper, watch = _BrowserKeeper(order, gateway), _MemoryWatch(order.options.most_memory)
    loop = asyncio.get_running_loop()
    tasks: asyncio.Queue[RenderTask] = asyncio.Queue()
    reading = threading.Thread(target=_read, args=(channel, loop, tasks, order), daemon=False)
    reading.start()
    while True:
        task = await tasks.get()
        try:
            answer: Any = await _render(keeper, watch, order, gateway, task)
        except Exception as error:  # noqa: BLE001 - reported to the parent, which decides
            answer = _why(error)
            await keeper.end()
        await asyncio.to_thread(channel.send, answer)


def _why(error: Exception) -> str:
    """Return the first and last line of an error; browsers list all options in between."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = dict.fromkeys((*lines[:1], *lines[-1:]))
    return ": ".join(line[:300] for line in kept) or type(error).__name__


def _read(
    channel: Connection,
    loop: asyncio.AbstractEventLoop,
    tasks: "asyncio.Queue[RenderTask]",
    order: BrowserOrder,
) -> None:
    """Read tasks from the channel; end this process when it is closed."""
    with suppress(EOFError, OSError):
        while True:
            task = channel.recv()
            loop.call_soon_threadsafe(tasks.put_nowait, task)
    kill_below(os.getpid())
    _remove(order.folder)
    if os.getppid() != order.parent:  # nobody else is left to remove it
        with suppress(OSError):
            Path(order.shared_folder).rmdir()
    os._exit(0)


def _remove(folder: str) -> None:
    """Remove the browser's folder, even if dying processes still write into it."""
    until = time.monotonic() + _REMOVE_SECONDS
    while True:
        kill_users_of(folder)
        shutil.rmtree(folder, ignore_errors=True)
        if not Path(folder).exists() or time.monotonic() > until:
            return
        time.sleep(_REMOVE_PAUSE_SECONDS)


def keep_browser(channel: "Connection[Any, RenderTask]") -> None:
    """Render the tasks received over a channel after the order, until it is closed."""
    leave_signals_to_parent()
    os.nice(_NICE)
    order: Any = channel.recv()
    os.environ |= {"TMPDIR": order.folder, "HOME": order.folder, "XDG_CONFIG_HOME": order.folder}
    asyncio.run(_serve(channel, order))
