"""The visit to one page, from opening it to its screenshots."""

import asyncio
import io
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image

from nwx.quality.browser import page_session
from nwx.quality.browser.gateway import Gateway, Traffic, is_local, place_of_address
from nwx.quality.browser.page_session import (
    GLANCE_SECONDS,
    STEP_SECONDS,
    Deadline,
    LeavePageError,
    PageSession,
    ignore_error,
    snapshot_text,
)
from nwx.quality.browser.page_watch import PageWatch
from nwx.quality.browser.targets import BrowserOptions, PageRender, PlaybackTarget, RenderTask
from nwx.values.records import copied

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Page

THUMBNAIL_SIZE = (640, 360)
_THUMBNAIL_QUALITY = 80
_MOST_TEXT = 5_000_000
_MOST_DOM = 20_000_000
_MOST_ELEMENTS = 100_000
_MOST_HEIGHT = 16_384
_MOST_WIDTH = 4_096
_LOAD_SHARE = 0.5
"""The largest share of a page's time used for loading it."""

_SCROLL_SECONDS = 8.0
_MOST_SCREENS = 60
_CRASHES = ("crash", "closed", "disconnected")


@dataclass(slots=True)
class _Found:
    """Results for a page so far."""

    title: str = ""
    view: bytes = b""
    full_page: bytes = b""
    text: str = ""
    dom: str = ""


class PageVisit:
    """A visit to one page in a separate browser context."""

    def __init__(
        self, task: RenderTask, options: BrowserOptions, target: PlaybackTarget, gateway: Gateway
    ) -> None:
        self._task, self._options, self._target = task, options, target
        self._gateway = gateway
        self._traffic = Traffic(options.most_bytes, options.most_requests, own=target.local)
        self.watch = PageWatch(target, self._traffic)
        self._found = _Found()
        self._deadline = Deadline(self.watch, options.page_seconds)

    async def run(self, browser: "Browser", user_agent: str) -> None:
        """Visit the page; whatever happens, `render` returns the results up to then."""
        from playwright.async_api import Error

        place = place_of_address(self._task.url)
        # A public name is resolved for each request: it may change to a private address.
        if self._target.trusts_pages and await is_local(place):
            self._traffic.own += (place,)
        self._gateway.traffic = self._traffic
        context = None
        try:
            context = await self._deadline.step(self._context(browser, user_agent))
            await self._visit(context)
        except LeavePageError:
            pass
        except Error as error:
            self.watch.leave(_problem(error))
        finally:
            self.watch.end()
            self._gateway.traffic = None
            self._gateway.cut()
            if context is not None and not self.watch.problem:
                await self._close(context)

    async def _close(self, context: "BrowserContext") -> None:
        from playwright.async_api import Error

        try:
            await asyncio.wait_for(context.close(), STEP_SECONDS)
        except (Error, TimeoutError):
            self.watch.leave("timeout")

    def render(self) -> PageRender:
        """Return the results for the page."""
        found, watch = self._found, self.watch
        return copied(
            PageRender,
            found,
            watch,
            task=self._task,
            thumbnail=_thumbnail(found.view),
            console_errors=tuple(watch.console_errors),
            refused=dict(watch.refused + self._traffic.counts()),
            seconds=round(time.monotonic() - self._deadline.began, 3),
            from_playback=self._target.is_playback,
        )

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
        await context.add_init_script(page_session.guard_script(binding))
        if self._target.is_playback:
            await context.add_init_script(page_session.UNFRAMED)
        return context

    async def _visit(self, context: "BrowserContext") -> None:
        page = await self._deadline.step(context.new_page())
        self.watch.follow(page)
        context.on("page", self._close_popup)
        devtools = await self._deadline.step(context.new_cdp_session(page))
        await self._deadline.step(self._guard(devtools))
        session = PageSession(devtools, self._deadline)
        await self._open(page)
        await self._load(session)
        await self._settle()
        await self._look(session)
        if self._options.scroll:
            await self._scroll(session)
        if self._options.full_page:
            self._found.full_page = await self._whole(session)

    async def _close_popup(self, page: "Page") -> None:
        self.watch.popup()
        await page.close()

    async def _guard(self, devtools: "CDPSession") -> None:
        """Stop navigations out of the archive before they begin, and listen to the console."""

        async def paused(event: dict[str, Any]) -> None:
            asked = event["request"]["url"]
            if self._may_open(asked):
                await devtools.send("Fetch.continueRequest", {"requestId": event["requestId"]})
                return
            self.watch.leak(asked)
            refusal = {"requestId": event["requestId"], "errorReason": "Aborted"}
            await devtools.send("Fetch.failRequest", refusal)

        def note(event: dict[str, Any]) -> None:
            asyncio.ensure_future(paused(event)).add_done_callback(ignore_error)

        devtools.on("Fetch.requestPaused", note)
        devtools.on("Runtime.consoleAPICalled", self.watch.logged)
        devtools.on("Runtime.exceptionThrown", self.watch.thrown)
        await devtools.send("Runtime.enable")
        patterns = [{"urlPattern": "*", "resourceType": "Document"}]
        await devtools.send("Fetch.enable", {"patterns": patterns})

    def _may_open(self, address: str) -> bool:
        """Return whether a document may be loaded, in a frame or in the whole page."""
        if address.startswith(("data:", "blob:", "about:")):
            return True
        return self._target.archived(address) is not None and not self._target.is_frame(address)

    async def _open(self, page: "Page") -> None:
        """Open the page, which may navigate elsewhere at once."""
        from playwright.async_api import Error

        seconds = self._options.page_seconds * _LOAD_SHARE
        opening = page.goto(
            self._target.address_of(self._task), timeout=seconds * 1_000, wait_until="commit"
        )
        try:
            await self._deadline.step(opening, seconds + STEP_SECONDS)
        except Error as error:
            if "interrupted by another navigation" not in str(error):
                raise

    async def _load(self, session: PageSession) -> None:
        """Wait until the page is loaded, or until half of its time is over."""
        seconds = self._options.page_seconds * _LOAD_SHARE
        until = self._deadline.began + seconds
        # A script that keeps the page busy for longer may still finish.
        asked = page_session.READY_STATE, self._options.page_seconds
        while await session.evaluate(*asked) != "complete":
            if time.monotonic() > until:
                self.watch.refused["unloaded"] += 1
                return
            await asyncio.sleep(GLANCE_SECONDS)

    async def _settle(self) -> None:
        """Wait until no request is pending, for at most `settle_seconds`."""
        until = min(time.monotonic() + self._options.settle_seconds, self._deadline.until)
        quiet_since = time.monotonic()
        while (now := time.monotonic()) - quiet_since < self._options.quiet_seconds:
            if self.watch.problem:
                raise LeavePageError
            if now > until:
                self.watch.refused["unsettled"] += 1
                return
            if not self.watch.is_quiet:
                quiet_since = now
            await asyncio.sleep(GLANCE_SECONDS)

    async def _look(self, session: PageSession) -> None:
        """Take the screenshot of the first screen, the text, title and DOM."""
        found = self._found
        found.view = await session.screenshot(seconds=self._options.page_seconds)
        found.title = str(await session.evaluate(page_session.TITLE) or "")
        *_, elements = await self._size(session)
        if elements > _MOST_ELEMENTS:
            self.watch.refused["text"] += 1
        else:
            asked: dict[str, list[str]] = {"computedStyles": []}
            snapshot = await session.send("DOMSnapshot.captureSnapshot", asked)
            found.text = snapshot_text(snapshot, _MOST_TEXT)
        dom = str(await session.evaluate(page_session.dom_script(_MOST_DOM)) or "")
        if len(dom) >= _MOST_DOM:
            self.watch.refused["dom"] += 1
        found.dom = self._target.original(dom)

    async def _size(self, session: PageSession) -> tuple[int, int, int]:
        width, height, elements = await session.evaluate(page_session.PAGE_SIZE) or (0, 0, 0)
        return int(width), int(height), int(elements)

    async def _scroll(self, session: PageSession) -> None:
        """Scroll to the end, to trigger lazy loading, and back."""
        until = min(time.monotonic() + _SCROLL_SECONDS, self._deadline.until)
        for number in range(_MOST_SCREENS):
            if await session.evaluate(page_session.SCROLL):
                if not number:
                    return
                break
            if time.monotonic() > until:
                self.watch.refused["scrolling"] += 1
                break
            await asyncio.sleep(GLANCE_SECONDS)
        else:
            self.watch.refused["scrolling"] += 1
        await self._settle()
        await session.evaluate(page_session.SCROLL_BACK)

    async def _whole(self, session: PageSession) -> bytes:
        """Return a screenshot of the whole page, cut off at the largest width and height."""
        width, height, _ = await self._size(session)
        if width <= self._task.width and height <= self._task.height:
            return self._found.view
        if height > _MOST_HEIGHT or width > _MOST_WIDTH:
            self.watch.refused["height"] += 1
        width = min(max(width, self._task.width), _MOST_WIDTH)
        return await session.screenshot((width, min(max(height, self._task.height), _MOST_HEIGHT)))


def _problem(error: Exception) -> str:
    """Return a browser error in one word."""
    words = str(error)
    if "ERR_TOO_MANY_REDIRECTS" in words:
        return "redirect loop"
    if "Download is starting" in words:
        return "download"
    if any(word in words.lower() for word in _CRASHES):
        return "crash"
    if "Timeout" in words:
        return "timeout"
    first = words.split("\n")[0].partition(" at http")[0].removeprefix("Page.goto: ")
    return f"navigation: {first[:200]}"


def _thumbnail(view: bytes) -> bytes:
    """Return a thumbnail of the first screen, as JPEG on white."""
    if not view:
        return b""
    with Image.open(io.BytesIO(view)) as picture:
        shown = Image.new("RGB", picture.size, "white")
        shown.paste(picture, mask=picture.getchannel("A") if picture.mode == "RGBA" else None)
    small = io.BytesIO()
    resized = shown.resize(THUMBNAIL_SIZE, Image.Resampling.LANCZOS)
    resized.save(small, "JPEG", quality=_THUMBNAIL_QUALITY)
    return small.getvalue()
