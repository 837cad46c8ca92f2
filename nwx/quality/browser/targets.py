"""Targets of rendering: the playback of an archive, or the live web."""

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlsplit

from nwx.errors import SourceError, UsageError
from nwx.values.timestamps import to_timestamp

_MIB = 1 << 20


class RenderTask(NamedTuple):
    """A page to render; `timestamp` "" is now, `key` is returned with the render."""

    url: str
    timestamp: str
    width: int = 1920
    height: int = 1080
    key: str = ""


class PlayedResource(NamedTuple):
    """A played resource: a page's request, by its archived URL.

    `status` is 0 without an answer. `type` is Chromium's, such as `stylesheet`. `timestamp` is the
    answering capture's, "" if unknown.
    """

    url: str
    status: int
    mime: str = ""
    type: str = ""
    timestamp: str = ""


@dataclass(frozen=True, slots=True)
class PageRender:
    """Results of a page in the browser, as far as it loaded.

    `view` and `full_page` are PNG, `thumbnail` is JPEG, all b"" if missing. `leaks` are addresses
    outside the archive that the page requested; none was answered. `refused` counts, by kind, what
    was not allowed: dialogs, downloads, popups, prints, service_workers, sockets, webrtc, and what
    was cut: requests, text, dom, height, scrolling; `unloaded` and `unsettled` mean that the page,
    or its network, did not become idle. `js_errors` counts errors that the page logged itself, as
    Browsertrix does; `console_errors` are their texts and the texts of uncaught exceptions,
    bounded. `problem` is why the visit ended early, "" if it did not: timeout, crash, memory,
    bytes, dialogs, redirect loop, download, or navigation with the browser's words.
    """

    task: RenderTask
    title: str = ""
    view: bytes = b""
    thumbnail: bytes = b""
    full_page: bytes = b""
    text: str = ""
    dom: str = ""
    resources: tuple[PlayedResource, ...] = ()
    console_errors: tuple[str, ...] = ()
    js_errors: int = 0
    leaks: tuple[str, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    redirects: int = 0
    problem: str = ""
    seconds: float = 0.0
    capture_timestamp: str = ""
    status: int = 0
    from_playback: bool = True


@dataclass(frozen=True, slots=True)
class BrowserOptions:
    """How pages are rendered, and the limits of one page.

    `browser` is the path of a Chromium, "" for the one on the PATH. A page is quiet after
    `quiet_seconds` without a request; this is awaited for at most `settle_seconds`. `most_bytes`
    limits a page's network bytes; `most_memory` the bytes of one browser with all its processes,
    with a third for V8. Without `full_page`, no screenshot of the whole page is taken.
    """

    jobs: int = 2
    browser: str = ""
    page_seconds: float = 60.0
    quiet_seconds: float = 0.5
    settle_seconds: float = 10.0
    most_bytes: int = 200 * _MIB
    most_memory: int = 1_536 * _MIB
    most_requests: int = 3_000
    scroll: bool = True
    full_page: bool = True


_MODE = r"(\d{0,14})([a-z]{2}_)?/"
_CONNECT_SECONDS = 10
_HTTP_PORT = 80
_INSERT, _INSERT_END = "<!-- WB Insert -->", "<!-- End WB Insert -->"
_SCHEME = re.compile(r"https?:/+", re.IGNORECASE)


class PlaybackTarget:
    """How pages are addressed, and what the browser may reach; by default as on the live web.

    Must be picklable. `local` are the private addresses, as host:port, that live pages may use;
    with `trusts_pages` pages at private addresses are visited, and may use their own host.
    `is_playback`: captures are played instead of visiting live pages.
    """

    local: tuple[str, ...] = ()
    trusts_pages = False
    is_playback = False

    @property
    def allowed(self) -> str:
        """The host and port that the browser may reach, "" for every public one."""
        return ""

    @property
    def proxy(self) -> str:
        """Host and port of a proxy that everything goes through, "" for none."""
        return ""

    def address_of(self, task: RenderTask) -> str:
        """Return the address that the browser opens for a task."""
        return task.url

    def archived(self, address: str) -> tuple[str, str] | None:
        """Return URL and timestamp that an address stands for, None if it is not a capture."""
        return (address, "") if _SCHEME.match(address) else None

    def is_frame(self, address: str) -> bool:
        """Return whether an address is the player's page around a capture."""
        del address
        return False

    def answered(self, headers: Mapping[str, str]) -> str:
        """Return the timestamp of the capture that answered with these headers, or ""."""
        del headers
        return ""

    def original(self, html: str) -> str:
        """Return a DOM with the addresses and without the scripts of the player."""
        return html


@dataclass(frozen=True)
class ArchivePlayback(PlaybackTarget):
    """Playback by pywb; `prefix` is its address before the timestamp."""

    prefix: str

    is_playback = True

    @cached_property
    def allowed(self) -> str:
        """The host and port of the player."""
        place = _place(self.prefix, _HTTP_PORT)
        if not place:
            raise UsageError(
                f"playback is at {self.prefix!r}: it must be an address such as"
                " http://127.0.0.1:8081/replay"
            )
        return place

    @cached_property
    def _own(self) -> re.Pattern[str]:
        path = urlsplit(self.prefix).path.strip("/")
        return re.compile(rf"http://{re.escape(self._host)}/{re.escape(path)}/{_MODE}(.*)", re.S)

    @cached_property
    def _anywhere(self) -> re.Pattern[str]:
        path = re.escape("/" + urlsplit(self.prefix).path.strip("/"))
        host = rf"(?:http:)?//{re.escape(self._host)}"
        return re.compile(rf"(?:{host})?{path}/\d{{0,14}}(?:[a-z]{{2}}_)?/(?=https?:|//)")

    @property
    def _host(self) -> str:
        """The host as browsers write it in addresses, without the usual port."""
        return self.allowed.removesuffix(":80")

    def check(self) -> None:
        """Raise UsageError if the address is invalid, SourceError if playback does not answer."""
        _check_place(self.allowed, f"playback at {self.prefix}")

    def answers(self) -> bool:
        """Return whether a server listens at the address of playback."""
        try:
            self.check()
        except SourceError:
            return False
        return True

    def address_of(self, task: RenderTask) -> str:
        """Return the playback address of a task's capture, without the frame around it."""
        return f"{self.prefix.rstrip('/')}/{task.timestamp}mp_/{task.url}"

    def archived(self, address: str) -> tuple[str, str] | None:
        found = self._own.match(address)
        if not found:
            return None
        url = found[3]
        if url.startswith("//"):
            url = f"http:{url}"
        elif not _SCHEME.match(url):
            url = f"http://{url}"
        return url, found[1]

    def is_frame(self, address: str) -> bool:
        found = self._own.match(address)
        return bool(found) and not (found and found[2])

    def answered(self, headers: Mapping[str, str]) -> str:
        """Return the timestamp of the capture that answered, from `Memento-Datetime`."""
        try:
            return to_timestamp(parsedate_to_datetime(headers.get("memento-datetime", "")))
        except (ValueError, TypeError, IndexError):
            return ""

    def original(self, html: str) -> str:
        """Return a DOM with archived addresses and without pywb's scripts."""
        return self._anywhere.sub("", _without_insert(html))


def _without_insert(html: str) -> str:
    """Return a DOM without pywb's scripts; in one without a head their first mark is outside."""
    end = html.find(_INSERT_END)
    begin = html.find(_INSERT)
    if end < 0:
        return html
    if not 0 <= begin < end:
        begin = html.rfind("<script", 0, max(0, html.find("wbinfo = {}", 0, end)))
    return html if begin < 0 else html[:begin] + html[end + len(_INSERT_END) :]


def _place(address: str, usual_port: int = 0) -> str:
    """Return host and port of an HTTP address, "" if it is not one."""
    try:
        parts = urlsplit(address)
        port = parts.port or usual_port
    except ValueError:
        return ""
    if parts.scheme != "http" or not parts.hostname or not port:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{port}"


def _check_place(place: str, what: str) -> None:
    """Raise SourceError if no server listens at a host and port."""
    host, _, port = place.rpartition(":")
    with SourceError.instead_of(OSError, f"{what} cannot be reached"):
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()


@dataclass(frozen=True)
class LiveWeb(PlaybackTarget):
    """The live web through a WARC-writing proxy at `http://host:port`.

    Local and private addresses are refused except `local` ones, as host:port, and with
    `trusts_pages` those of the pages themselves.
    """

    address: str
    local: tuple[str, ...] = ()
    trusts_pages: bool = False

    @cached_property
    def proxy(self) -> str:
        place = _place(self.address)
        if not place:
            raise UsageError(
                f"the proxy is {self.address!r}: it must be an address such as"
                " http://127.0.0.1:8000"
            )
        return place

    def check(self) -> None:
        """Raise SourceError if the proxy does not answer, UsageError on an invalid address."""
        for place in self.local:
            if _place(f"http://{place}") != place:
                raise UsageError(f"{place!r} is not a host and port; write them as localhost:8080")
        _check_place(self.proxy, f"the proxy {self.address}")
