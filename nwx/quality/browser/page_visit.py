"""One page, from opening it to its screenshots; each step has its time."""

import asyncio
import base64
import io
import secrets
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from PIL import Image

from nwx.quality.browser import page_scripts
from nwx.quality.browser.gateway import Gateway, Traffic
from nwx.quality.browser.page_render import BrowserOptions, PageRender, RenderTask
from nwx.quality.browser.page_text import snapshot_text
from nwx.quality.browser.page_watch import PageWatch
from nwx.quality.browser.targets import PlaybackTarget

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Page

THUMBNAIL = (640, 360)
THUMBNAIL_QUALITY = 80
MOST_TEXT = 5_000_000
MOST_DOM = 20_000_000
MOST_ELEMENTS = 100_000
MOST_HEIGHT = 16_384
MOST_WIDTH = 4_096
_LOAD_SHARE = 0.5
"""Of the time of a page, so much at most is for loading it."""

_STEP_SECONDS = 15.0
_SCROLL_SECONDS = 8.0
_MOST_SCREENS = 60
_LOOK_SECONDS = 0.1
_WORLD = "nwx"

_Result = TypeVar("_Result")


class _LeaveError(Exception):
    """The page must be left; its watch knows why."""


@dataclass(slots=True)
class _Found:
    """What has been had of a page so far."""

    title: str = ""
    view: bytes = b""
    full_page: bytes = b""
    text: str = ""
    dom: str = ""


class PageVisit:
    """A visit of one page in a context of its own."""

    def __init__(
        self, task: RenderTask, options: BrowserOptions, target: PlaybackTarget, gateway: Gateway
    ) -> None:
        self._task, self._options, self._target = task, options, target
        self._gateway = gateway
        own = _own_place(task.url) if not target.is_playback else ""
        local = getattr(target, "local", ())
        self._traffic = Traffic(
            options.most_bytes, options.most_requests, own=tuple(filter(None, (own, *local)))
        )
        self.watch = PageWatch(target, self._traffic)
        self._found = _Found()
        self._began = time.monotonic()
        self._until = self._began + options.page_seconds

    async def run(self, browser: "Browser", user_agent: str) -> None:
        """Visit the page; whatever happens, `render` gives what was had until then."""
        from playwright.async_api import Error

        self._gateway.traffic = self._traffic
        context = None
        try:
            context = await self._step(self._context(browser, user_agent))
            await self._visit(context)
        except _LeaveError:
            pass
        except Error as error:
            self.watch.note_problem(_problem(error))
        finally:
            self._gateway.traffic = None
            self._gateway.cut()
            if context is not None and not self.watch.problem:
                await self._close(context)

    async def _close(self, context: "BrowserContext") -> None:
        from playwright.async_api import Error

        try:
            await asyncio.wait_for(context.close(), _STEP_SECONDS)
        except (Error, TimeoutError):
            self.watch.note_problem("timeout")

    def render(self) -> PageRender:
        """Return what was had of the page."""
        found, watch = self._found, self.watch
        refused = watch.refused + self._traffic_counts()
        return PageRender(
            self._task,
            title=found.title,
            view=found.view,
            thumbnail=_thumbnail(found.view),
            full_page=found.full_page,
            text=found.text,
            dom=found.dom,
            resources=watch.resources,
            console_errors=tuple(watch.console_errors),
            js_errors=watch.js_errors,
            leaks=watch.leaks,
            refused=dict(refused),
            redirects=watch.redirects,
            problem=watch.problem,
            seconds=round(time.monotonic() - self._began, 3),
            capture_timestamp=watch.capture_timestamp,
            status=watch.status,
            from_playback=self._target.is_playback,
        )

    def _traffic_counts(self) -> Any:
        counts = self.watch.refused.__class__()
        total = self._traffic.refused.total()
        if total:
            counts["connections"] = total
        if self._traffic.excess == "requests":
            counts["requests"] = 1
        return counts

    async def _context(self, browser: "Browser", user_agent: str) -> "BrowserContext":
        context = await browser.new_context(
            viewport={"width": self._task.width, "height": self._task.height},
            user_agent=user_agent,
            service_workers="block",
            accept_downloads=False,
            ignore_https_errors=True,
        )
        binding = f"_{secrets.token_hex(8)}"
        await context.expose_binding(
            binding, lambda _, kind, detail: self.watch.reported(str(kind), str(detail))
        )
        await context.add_init_script(page_scripts.guard_script(binding))
        return context

    async def _visit(self, context: "BrowserContext") -> None:
        page = await self._step(context.new_page())
        self.watch.follow(page)
        page.on("dialog", self.watch.dismiss)
        context.on("page", self._close_popup)
        session = await self._step(context.new_cdp_session(page))
        await self._step(self._guard(session))
        await self._open(page)
        await self._settle()
        await self._look(session)
        if self._options.scroll:
            await self._scroll(session)
        if self._options.full_page:
            self._found.full_page = await self._whole(session)

    async def _close_popup(self, page: "Page") -> None:
        self.watch.popup()
        await page.close()

    async def _guard(self, session: "CDPSession") -> None:
        """Stop navigations out of the archive before they begin, and listen to the console."""

        async def paused(event: dict[str, Any]) -> None:
            asked = event["request"]["url"]
            if self._may_open(asked):
                await session.send("Fetch.continueRequest", {"requestId": event["requestId"]})
                return
            self.watch.leak(asked)
            refusal = {"requestId": event["requestId"], "errorReason": "Aborted"}
            await session.send("Fetch.failRequest", refusal)

        def note(event: dict[str, Any]) -> None:
            running = asyncio.ensure_future(paused(event))
            running.add_done_callback(_ignore_error)

        session.on("Fetch.requestPaused", note)
        session.on("Runtime.consoleAPICalled", self.watch.logged)
        session.on("Runtime.exceptionThrown", self.watch.thrown)
        await session.send("Runtime.enable")
        patterns = [{"urlPattern": "*", "resourceType": "Document"}]
        await session.send("Fetch.enable", {"patterns": patterns})

    def _may_open(self, address: str) -> bool:
        """Return whether a document may be loaded, in a frame or in the whole page."""
        if address.startswith(("data:", "blob:", "about:")):
            return True
        return self._target.archived(address) is not None and not self._target.is_frame(address)

    async def _open(self, page: "Page") -> None:
        """Open the page and wait until it is loaded, or half of the time is over."""
        from playwright.async_api import Error

        address = self._target.address_of(self._task)
        seconds = self._options.page_seconds * _LOAD_SHARE
        opening = asyncio.ensure_future(page.goto(address, timeout=seconds * 1_000))
        try:
            await self._watched(opening, seconds + 5)
        except Error as error:
            if "Timeout" not in str(error) and not self.watch.navigations > 1:
                raise
            if "Timeout" in str(error):
                self.watch.note_problem("timeout")
        finally:
            opening.cancel()

    async def _watched(self, running: "asyncio.Future[_Result]", seconds: float) -> _Result:
        """Return what comes of something, unless there is a reason to leave the page before."""
        until = min(time.monotonic() + seconds, self._until)
        while not running.done():
            if self.watch.problem:
                running.cancel()
                raise _LeaveError
            if time.monotonic() > until:
                running.cancel()
                self.watch.note_problem("timeout")
                raise _LeaveError
            await asyncio.wait([running], timeout=_LOOK_SECONDS)
        return running.result()

    async def _step(self, work: Awaitable[_Result], seconds: float = _STEP_SECONDS) -> _Result:
        running = asyncio.ensure_future(work)
        running.add_done_callback(_ignore_error)
        return await self._watched(running, seconds)

    async def _settle(self) -> None:
        """Wait until nothing is asked for any more; a page that never is quiet is gone on with."""
        until = min(time.monotonic() + self._options.settle_seconds, self._until)
        quiet_since = time.monotonic()
        while (now := time.monotonic()) - quiet_since < self._options.quiet_seconds:
            if self.watch.problem:
                return
            if now > until:
                self.watch.refused["unsettled"] += 1
                return
            if not self.watch.is_quiet:
                quiet_since = now
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look(self, session: "CDPSession") -> None:
        """Take the first screen, the text, title and DOM."""
        found = self._found
        found.view = await self._shot(session, self._task.width, self._task.height, beyond=False)
        found.title = str(await self._evaluate(session, page_scripts.TITLE) or "")
        *_, elements = await self._size(session)
        if elements > MOST_ELEMENTS:
            self.watch.refused["text"] += 1
        else:
            asked = session.send("DOMSnapshot.captureSnapshot", {"computedStyles": []})
            found.text = snapshot_text(await self._step(asked), MOST_TEXT)
        dom = str(await self._evaluate(session, page_scripts.dom_script(MOST_DOM)) or "")
        if len(dom) >= MOST_DOM:
            self.watch.refused["dom"] += 1
        found.dom = self._target.original(dom)

    async def _size(self, session: "CDPSession") -> tuple[int, int, int]:
        width, height, elements = await self._evaluate(session, page_scripts.PAGE_SIZE) or (0, 0, 0)
        return int(width), int(height), int(elements)

    async def _scroll(self, session: "CDPSession") -> None:
        """Scroll to the end, so that what loads late is loaded, and back."""
        until = min(time.monotonic() + _SCROLL_SECONDS, self._until)
        for _ in range(_MOST_SCREENS):
            at_end = await self._evaluate(session, page_scripts.SCROLL)
            if at_end or time.monotonic() > until or self.watch.problem:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            self.watch.refused["scrolling"] += 1
        await self._settle()
        await self._evaluate(session, page_scripts.SCROLL_BACK)

    async def _whole(self, session: "CDPSession") -> bytes:
        """Return a screenshot of the whole page, cut where it is longer than a picture can be."""
        width, height, _ = await self._size(session)
        if height > MOST_HEIGHT or width > MOST_WIDTH:
            self.watch.refused["height"] += 1
        width = min(max(width, self._task.width), MOST_WIDTH)
        height = min(max(height, self._task.height), MOST_HEIGHT)
        return await self._shot(session, width, height, beyond=True)

    async def _shot(self, session: "CDPSession", width: int, height: int, *, beyond: bool) -> bytes:
        clear = {"color": {"r": 0, "g": 0, "b": 0, "a": 0}}
        await self._step(session.send("Emulation.setDefaultBackgroundColorOverride", clear))
        asked: dict[str, Any] = {"format": "png", "captureBeyondViewport": beyond}
        if beyond:
            asked["clip"] = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        taken = await self._step(session.send("Page.captureScreenshot", asked))
        await self._step(session.send("Emulation.setDefaultBackgroundColorOverride", {}))
        return base64.b64decode(taken["data"])

    async def _evaluate(self, session: "CDPSession", script: str) -> Any:
        """Return what a script gives in a world of its own, which the page cannot reach."""
        tree = await self._step(session.send("Page.getFrameTree"))
        frame = {"frameId": tree["frameTree"]["frame"]["id"], "worldName": _WORLD}
        world = await self._step(session.send("Page.createIsolatedWorld", frame))
        asked = {
            "expression": script,
            "contextId": world["executionContextId"],
            "returnByValue": True,
            "timeout": _STEP_SECONDS * 1_000,
        }
        answer = await self._step(session.send("Runtime.evaluate", asked))
        return answer.get("result", {}).get("value")


def _ignore_error(done: "asyncio.Future[Any]") -> None:
    """Take note of how something ended that nobody waits for any more."""
    if not done.cancelled():
        done.exception()


def _own_place(url: str) -> str:
    """Return host and port of a page."""
    scheme, _, rest = url.partition("://")
    place = rest.partition("/")[0].rpartition("@")[2].lower()
    has_port = ":" in place.rpartition("]")[2]
    return place if has_port else f"{place}:{443 if scheme == 'https' else 80}"


def _problem(error: Exception) -> str:
    """Return in a word what an error of the browser is."""
    words = str(error)
    if "ERR_TOO_MANY_REDIRECTS" in words:
        return "redirect loop"
    if "Download is starting" in words:
        return "download"
    if "crash" in words.lower() or "closed" in words.lower():
        return "crash"
    if "Timeout" in words:
        return "timeout"
    first = words.split("\n")[0].partition(" at http")[0].removeprefix("Page.goto: ")
    return f"navigation: {first[:200]}"


def _thumbnail(view: bytes) -> bytes:
    """Return the first screen made small, as JPEG on white."""
    if not view:
        return b""
    with Image.open(io.BytesIO(view)) as picture:
        shown = Image.new("RGB", picture.size, "white")
        shown.paste(picture, mask=picture.getchannel("A") if picture.mode == "RGBA" else None)
    small = io.BytesIO()
    shown.resize(THUMBNAIL, Image.Resampling.LANCZOS).save(small, "JPEG", quality=THUMBNAIL_QUALITY)
    return small.getvalue()
