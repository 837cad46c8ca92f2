"""What is asked of an open page over the DevTools protocol; each question has its time."""

import asyncio
import base64
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeVar

from nwx.quality.browser.page_watch import PageWatch

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

STEP_SECONDS = 15.0
GLANCE_SECONDS = 0.1
_WORLD = "nwx"
_CLEAR = {"color": {"r": 0, "g": 0, "b": 0, "a": 0}}

_Result = TypeVar("_Result")


class LeavePageError(Exception):
    """The page must be left; its watch knows why."""


class Deadline:
    """The time of a page, and the reasons to leave it before."""

    def __init__(self, watch: PageWatch, seconds: float) -> None:
        self._watch = watch
        self.began = time.monotonic()
        self.until = self.began + seconds

    async def step(self, work: Awaitable[_Result], seconds: float = STEP_SECONDS) -> _Result:
        """Return what comes of some work; raises LeavePageError where it takes too long."""
        running = asyncio.ensure_future(work)
        running.add_done_callback(ignore_error)
        until = min(time.monotonic() + seconds, self.until)
        while not running.done():
            if time.monotonic() > until:
                self._watch.leave("timeout")
            if self._watch.problem:
                running.cancel()
                raise LeavePageError
            await asyncio.wait([running], timeout=GLANCE_SECONDS)
        return running.result()


class PageSession:
    """Scripts in a world of their own, which the page cannot reach, snapshots and screenshots."""

    def __init__(self, session: "CDPSession", deadline: Deadline) -> None:
        self._session = session
        self._deadline = deadline
        self._world: int | None = None

    async def send(
        self, method: str, given: dict[str, Any] | None = None, seconds: float = STEP_SECONDS
    ) -> dict[str, Any]:
        """Return the answer to a command."""
        sent = self._session.send(method, given or {})
        answer: dict[str, Any] = await self._deadline.step(sent, seconds)
        return answer

    async def evaluate(self, script: str, seconds: float = STEP_SECONDS) -> Any:
        """Return the value of a script, None where the page is changing just now."""
        from playwright.async_api import Error

        for _ in range(2):
            try:
                if self._world is None:
                    self._world = await self._new_world(seconds)
                asked = {
                    "expression": script,
                    "contextId": self._world,
                    "returnByValue": True,
                    "timeout": seconds * 1_000,
                }
                answer = await self.send("Runtime.evaluate", asked, seconds)
            except Error as error:
                if "Protocol error" not in str(error):
                    raise
                self._world = None  # of a document that has gone
            else:
                return answer.get("result", {}).get("value")
        return None

    async def _new_world(self, seconds: float) -> int:
        tree = await self.send("Page.getFrameTree", seconds=seconds)
        frame = {"frameId": tree["frameTree"]["frame"]["id"], "worldName": _WORLD}
        world = await self.send("Page.createIsolatedWorld", frame, seconds)
        return int(world["executionContextId"])

    async def screenshot(
        self, size: tuple[int, int] | None = None, seconds: float = STEP_SECONDS
    ) -> bytes:
        """Return what is in sight as PNG, or so much of the page; no ground is transparent."""
        asked: dict[str, Any] = {"format": "png"}
        if size is not None:
            asked["captureBeyondViewport"] = True
            asked["clip"] = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        await self.send("Emulation.setDefaultBackgroundColorOverride", _CLEAR, seconds)
        taken = await self.send("Page.captureScreenshot", asked, seconds)
        await self.send("Emulation.setDefaultBackgroundColorOverride")
        return base64.b64decode(taken["data"])


def ignore_error(done: "asyncio.Future[Any]") -> None:
    """Take note of how something ended that nobody waits for any more."""
    if not done.cancelled():
        done.exception()
