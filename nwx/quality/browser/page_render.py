"""What is asked of the browser, and what it gives: the values of this package."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

_MIB = 1 << 20


class RenderTask(NamedTuple):
    """A page to render; `timestamp` "" is now, `key` is given back with the render."""

    url: str
    timestamp: str
    width: int = 1920
    height: int = 1080
    key: str = ""


class PlayedResource(NamedTuple):
    """A played resource: what a page asked for, by its archived URL.

    `status` 0: nothing came. `type` is Chromium's, such as `stylesheet`.
    `timestamp` is that of the capture that answered, "" where it is unknown.
    """

    url: str
    status: int
    mime: str = ""
    type: str = ""
    timestamp: str = ""


@dataclass(frozen=True, slots=True)
class PageRender:
    """What the browser showed of a page, as far as it came.

    `view` and `full_page` are PNG, `thumbnail` is JPEG, all b"" where there
    is none. `leaks` are addresses outside the archive that the page asked
    for; nothing came of these. `refused` counts, by kind, what was not
    allowed: dialogs, downloads, popups, prints, service_workers, sockets,
    webrtc, and what was cut: requests, text, dom, height, scrolling;
    `unloaded` and `unsettled` tell that the page, or its network, did not
    come to rest. `js_errors` counts what the page logged as errors itself,
    as Browsertrix does; `console_errors` are their texts and those of
    uncaught exceptions, bounded. `problem` is why the visit ended early, ""
    where it did not: timeout, crash, memory, bytes,
    dialogs, redirect loop, download, or navigation with the browser's words.
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
    """How pages are rendered, and what one page may use.

    `browser` is the path of a Chromium, "" for that on the PATH. So long as
    `quiet_seconds` without a request are quiet, which is waited for
    `settle_seconds` at most. `most_bytes` come over the network for one
    page; `most_memory` bytes one browser takes with all its processes, of
    which V8 has a third. `full_page` off leaves the whole page out.
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
