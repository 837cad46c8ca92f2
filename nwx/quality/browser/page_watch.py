"""Observed events of a page during rendering: requests, errors and refusals."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from nwx.quality.browser.gateway import (
    REFUSED_HEADER,
    Traffic,
    is_of_browser,
    place_of_address,
)
from nwx.quality.browser.targets import PlaybackTarget, PlayedResource

if TYPE_CHECKING:
    from playwright.async_api import Dialog, Page, Request, Response, WebSocket

MOST_PLAYED = 3_000
MOST_LEAKS = 500
MOST_ERRORS = 100
MOST_DIALOGS = 200
MOST_NAVIGATIONS = 20
_MOST_CHARACTERS = 2_000
_ERROR_CHARACTERS = 500
_STREAMS = ("eventsource", "media", "ping", "websocket")
"""Types of requests that may last as long as the page."""

_WEB = ("http://", "https://", "ws://", "wss://")


class PageWatch:
    """Records the events of a page, within bounds."""

    def __init__(self, target: PlaybackTarget, traffic: Traffic) -> None:
        self._target = target
        self._traffic = traffic
        self._resources: dict[str, PlayedResource] = {}
        self._leaks: dict[str, None] = {}
        self._pending: set[int] = set()
        self.refused: Counter[str] = Counter()
        self.console_errors: list[str] = []
        self.js_errors = 0
        self.navigations = 0
        self.redirects = 0
        self.capture_timestamp = ""
        self.status = 0
        self._problem = ""
        self._is_over = False

    @property
    def problem(self) -> str:
        """Why the page must be left, "" if it need not."""
        return self._problem or ("bytes" if self._traffic.excess == "bytes" else "")

    def leave(self, problem: str) -> None:
        """End the visit for a problem, unless an earlier one ends it."""
        self._problem = self._problem or problem

    def end(self) -> None:
        """Stop accepting resources: pending requests are cut off and not reported."""
        self._is_over = True

    @property
    def is_quiet(self) -> bool:
        """Whether no response is pending."""
        return not self._pending

    def follow(self, page: "Page") -> None:
        """Listen to the events of a page."""
        page.on("request", self._requested)
        page.on("response", self._answered)
        page.on("requestfailed", self._failed)
        page.on("requestfinished", self._finished)
        page.on("websocket", self._socket)
        page.on("crash", lambda _: self.leave("crash"))
        page.on("dialog", self.dismiss)
        page.on("download", lambda _: self._refuse("downloads"))

    def reported(self, kind: str, detail: str) -> None:
        """Record a report of a document's guard script."""
        if kind == "blocked":
            self._blocked(detail)
        elif kind in ("popups", "prints", "webrtc", "sockets", "service_workers"):
            self._refuse(kind)

    async def dismiss(self, dialog: "Dialog") -> None:
        """Close a dialog; a page that opens many is left."""
        self._refuse("dialogs")
        if self.refused["dialogs"] >= MOST_DIALOGS:
            self.leave("dialogs")
        await dialog.dismiss()

    def popup(self) -> None:
        """Count a page that was opened by this one."""
        self._refuse("popups")

    def logged(self, event: dict[str, Any]) -> None:
        """Record a console call, a CDP event."""
        if event.get("type") not in ("error", "assert"):
            return
        self.js_errors += 1
        words = (_words(each) for each in event.get("args", [])[:10])
        self._error(" ".join(words))

    def thrown(self, event: dict[str, Any]) -> None:
        """Record an uncaught exception, a CDP event."""
        details = event.get("exceptionDetails", {})
        words = details.get("exception", {}).get("description") or details.get("text", "")
        self._error(str(words).split("\n")[0])

    def _error(self, words: str) -> None:
        if len(self.console_errors) < MOST_ERRORS:
            self.console_errors.append(self._target.original(words[:_ERROR_CHARACTERS]))

    def _refuse(self, kind: str) -> None:
        self.refused[kind] += 1

    def _blocked(self, address: str) -> None:
        """Record an address that the playback policy blocked."""
        if address.startswith(_WEB) and self._target.archived(address) is None:
            self.leak(address)

    def leak(self, address: str) -> None:
        """Record an address outside the archive."""
        address = address[:_MOST_CHARACTERS]
        if self._target.is_playback and not self._is_own(address):
            if len(self._leaks) < MOST_LEAKS:
                self._leaks[address] = None
            elif address not in self._leaks:
                self._refuse("more_leaks")

    def _is_own(self, address: str) -> bool:
        """Return whether an address is the player's."""
        return address.partition("://")[2].partition("/")[0] == self._target.allowed

    def _requested(self, request: "Request") -> None:
        address = request.url
        if not address.startswith(_WEB):
            return
        archived = self._target.archived(address)
        if archived is None:
            self.leak(address)
            return
        if request.resource_type not in _STREAMS:
            self._pending.add(id(request))
        if request.is_navigation_request() and request.frame.parent_frame is None:
            self._navigated(address)

    def _navigated(self, address: str) -> None:
        if self._target.is_frame(address):
            return
        self.navigations += 1
        self.redirects = self.navigations - 1
        if self.navigations > MOST_NAVIGATIONS:
            self.leave("redirect loop")

    def _answered(self, response: "Response") -> None:
        request, headers = response.request, response.headers
        archived = self._target.archived(request.url)
        if archived is None or self._target.is_frame(request.url):
            return
        if REFUSED_HEADER in headers:
            return  # refused by the gateway: the archive was not asked
        timestamp = self._target.answered(headers)
        mime = headers.get("content-type", "").partition(";")[0].strip().lower()[:100]
        self._keep(request, archived[0], response.status, mime, timestamp)
        is_main = request.is_navigation_request() and request.frame.parent_frame is None
        if is_main and not 300 <= response.status < 400:
            self.status, self.capture_timestamp = response.status, timestamp

    def _finished(self, request: "Request") -> None:
        self._pending.discard(id(request))

    def _failed(self, request: "Request") -> None:
        self._pending.discard(id(request))
        archived = self._target.archived(request.url)
        if archived is None or self._target.is_frame(request.url):
            return
        # Requests that the page itself aborts say nothing about the archive.
        if request.failure != "net::ERR_ABORTED" and archived[0] not in self._resources:
            self._keep(request, archived[0], 0, "", "")

    def _keep(self, request: "Request", url: str, status: int, mime: str, timestamp: str) -> None:
        if self._is_over:
            return
        if url not in self._resources and len(self._resources) >= MOST_PLAYED:
            self._refuse("more_resources")
            return
        kind = request.resource_type
        self._resources[url] = PlayedResource(url, status, mime, kind, timestamp)

    def _socket(self, socket: "WebSocket") -> None:
        if self._target.archived(socket.url.replace("ws", "http", 1)) is None:
            self.leak(socket.url)

    @property
    def resources(self) -> tuple[PlayedResource, ...]:
        """The resources, in the order of their first response or failure."""
        return tuple(self._resources.values())

    @property
    def leaks(self) -> tuple[str, ...]:
        """Addresses outside the archive; only the origin for those seen by the proxy alone."""
        if not self._target.is_playback:
            return ()
        known = {place_of_address(address) for address in self._leaks}
        others = [
            origin
            for origin in self._traffic.refused
            if place_of_address(origin) not in known and not is_of_browser(place_of_address(origin))
        ]
        return (*self._leaks, *others)


def _words(value: dict[str, Any]) -> str:
    words = value.get("value", value.get("description", value.get("type", "")))
    return str(words).split("\n")[0]
