"""Pages that attack the browser rendering them, and renders that attack their reader.

The pages are data: `write_hostile_warc` writes them to a WARC for playback, `running_hostile_site`
serves them as a live web. Their expected outcome is in `refused` (keys of `PageRender.refused`) and
`problem` (possible parts of its `problem`): a page without a problem is rendered completely.
"""

import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from isal import isal_zlib

from tests.warcs import Page, write_warc

HOST = "hostile.example"
TIMESTAMP = "20200102030405"
SERVED_AT = "127.0.0.3"
"""Address of the served pages; not 127.0.0.1, as warcprox refuses to fetch from it."""

LOCAL_ADDRESSES = (
    "http://127.0.0.1:9200/",
    "http://localhost:9200/_cat/indices",
    "http://[::1]:9200/",
    "http://0.0.0.0:9200/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2130706433:9200/",
)
"""Addresses of the browser's machine or network that pages request."""


@dataclass(frozen=True, slots=True)
class HostilePage:
    """A page, the actions of its script, and their outcome.

    `refused` lists what is refused and counted at least once, `problem` texts of which one is in
    the problem of its render.
    """

    name: str
    script: str = ""
    markup: str = ""
    refused: tuple[str, ...] = ()
    problem: tuple[str, ...] = ()
    content_type: str = "text/html; charset=utf-8"
    payload: bytes = b""
    status: str = "200 OK"
    headers: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The URL of the archived page."""
        return f"http://{HOST}/{self.name}"

    @property
    def body(self) -> bytes:
        """The payload that is served."""
        if self.payload:
            return self.payload
        return (
            f"<!doctype html><html><head><title>{self.name}</title></head>"
            f"<body><h1>{self.name}</h1>{self.markup}<script>{self.script}</script></body></html>"
        ).encode()


_SUFFER = "try { %s } catch (error) { console.log(String(error)) }"
_ASK_LOCAL = "".join(
    f"fetch('{address}').then(a => a.text()).then(t => document.body.append('GOT ' + t))"
    f".catch(e => 0); new Image().src = '{address}?image'; "
    f"navigator.sendBeacon('{address}?beacon', 'x'); "
    for address in LOCAL_ADDRESSES
)
_MINE = (
    "const mine = 'let n = 0; while (true) n = Math.imul(n, 31)';"
    "const source = URL.createObjectURL(new Blob([mine]));"
    "for (let i = 0; i < 64; i++) " + _SUFFER % "new Worker(source)"
)
_RTC = (
    "const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:9200'}]});"
    "peer.createDataChannel('x'); peer.createOffer().then(o => peer.setLocalDescription(o))"
)
_ASK_PERMISSIONS = (
    "navigator.geolocation && navigator.geolocation.getCurrentPosition(() => 0);"
    "window.Notification && Notification.requestPermission();"
    "navigator.mediaDevices && navigator.mediaDevices.getUserMedia({video: true});"
    "navigator.clipboard && navigator.clipboard.readText();"
    "document.documentElement.requestFullscreen(); document.body.requestPointerLock()"
)

GENTLE = HostilePage("gentle", markup="<p>an ordinary page, which is rendered after all others</p>")

SETTLING = (
    HostilePage(
        "never-settles",
        "let n = 0; setInterval(() => { document.title = n++; "
        "fetch('/poll?' + n).catch(() => 0); document.body.append(n + ' ') }, 20)",
    ),
    HostilePage("never-loads", markup='<img src="/hang" alt="hangs">'),
    HostilePage(
        "scrolls-forever",
        "addEventListener('scroll', () => { for (let i = 0; i < 50; i++) { "
        "const p = document.createElement('p'); p.textContent = 'more'; p.style.height = '900px';"
        " document.body.append(p) } })",
        '<div style="height:5000px">scroll</div>',
    ),
    HostilePage(
        "requests-without-end", "for (let i = 0; i < 20000; i++) new Image().src = '/i' + i"
    ),
    HostilePage("shouts", "for (let i = 0; i < 20000; i++) console.error('x'.repeat(10000))"),
    HostilePage("endless-loop", "while (true) {}", problem=("timeout", "crash")),
    HostilePage("mines-coins", _MINE),
    HostilePage(
        "recurses",
        markup="".join(f'<iframe src="/recurses?{n}"></iframe>' for n in range(4)),
    ),
)
"""Pages that never settle."""

ESCAPING = (
    HostilePage(
        "dialogs",
        "for (let i = 0; i < 50; i++) { alert(i); confirm(i); prompt(i) }"
        "onbeforeunload = event => { event.preventDefault(); return 'stay' }",
        refused=("dialogs",),
    ),
    HostilePage(
        "downloads",
        "const a = document.createElement('a'); a.download = 'evil.exe';"
        "a.href = URL.createObjectURL(new Blob(['MZ'])); document.body.append(a);"
        "for (let i = 0; i < 20; i++) a.click()",
        '<iframe src="/attachment"></iframe>',
        refused=("downloads",),
    ),
    HostilePage(
        "popups",
        "let n = 0; setInterval(() => { for (let i = 0; i < 50; i++) "
        "window.open('/gentle?' + n++, '_blank') }, 10)",
        refused=("popups",),
    ),
    HostilePage("prints", "for (let i = 0; i < 20; i++) window.print()"),
    HostilePage(
        "service-worker",
        _SUFFER % "navigator.serviceWorker.register('/worker.js').catch(e => 0)",
        refused=("service_workers",),
    ),
    HostilePage(
        "sockets",
        "for (let i = 0; i < 20; i++) " + _SUFFER % "new WebSocket('ws://127.0.0.1:9200/')"
        "; new EventSource('http://127.0.0.1:9200/')",
        refused=("sockets",),
    ),
    HostilePage("peer-connection", _RTC),
    HostilePage(
        "local-addresses",
        _ASK_LOCAL,
        "".join(
            f'<link rel="prefetch" href="{address}?prefetch">'
            f'<link rel="preconnect" href="{address}">'
            f'<iframe src="{address}?frame"></iframe><img src="{address}?markup" alt="">'
            for address in LOCAL_ADDRESSES
        )
        + '<iframe src="file:///etc/passwd"></iframe>',
    ),
    HostilePage(
        "goes-away",
        "setTimeout(() => { location.href = 'http://127.0.0.1:9200/' }, 50)",
    ),
    HostilePage(
        "other-protocols", "location.href = 'mailto:x@y.example'; location.href = 'steam:1'"
    ),
    HostilePage("asks-permissions", _ASK_PERMISSIONS),
)
"""Pages that try to escape the page."""

CIRCLING = (
    HostilePage("reloads", "location.reload()"),
    HostilePage("refreshes", markup='<meta http-equiv="refresh" content="0">'),
    HostilePage(
        "redirects", status="302 Found", headers=("Location: /redirects",), payload=b"round"
    ),
    HostilePage(
        "writes-history", "for (let i = 0; i < 5000; i++) history.pushState(i, '', '#' + i)"
    ),
)
"""Pages that navigate to themselves."""

HOARDING = (
    HostilePage(
        "memory",
        "const all = []; function more() { for (let i = 0; i < 8; i++) "
        "all.push(new Uint8Array(64 << 20).fill(all.length)); setTimeout(more, 0) } more()",
        problem=("memory", "crash", "timeout"),
    ),
    HostilePage(
        "many-elements",
        "for (let i = 0; i < 3000000; i++) document.body.append(document.createElement('b'))",
    ),
    HostilePage("tall", markup='<div style="height:30000000px;background:#ace"></div>'),
    HostilePage(
        "wide", markup='<div style="width:30000000px;height:9000px;background:#ace"></div>'
    ),
    HostilePage("long-text", "document.body.append('long '.repeat(10 << 20))"),
    HostilePage("long-title", "document.title = 'long '.repeat(4 << 20)"),
    HostilePage("image-bomb", markup='<img src="/bomb.png" alt="" width="100" height="100">'),
    HostilePage(
        "big-canvas",
        "for (let i = 0; i < 40; i++) { const c = document.createElement('canvas');"
        "c.width = c.height = 16000; c.getContext('2d').fillRect(0, 0, 9, 9);"
        "document.body.append(c) }",
    ),
)
"""Pages that use too much memory."""

PAGES = (*SETTLING, *ESCAPING, *CIRCLING, *HOARDING, GENTLE)


@cache
def bomb_png(side: int = 40_000) -> bytes:
    """Return a white PNG of `side` pixels per side: a gigabyte and a half in 1 MB."""
    packer = isal_zlib.compressobj(1)
    row = b"\0" + b"\xff" * (side // 8)
    rows = b"".join(packer.compress(row * 1_000) for _ in range(side // 1_000))
    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", rows + packer.flush()), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def broken_pictures() -> dict[str, bytes]:
    """Return invalid images of renders, by their defect."""
    whole = bomb_png(1_000)
    return {
        "empty": b"",
        "text": b"<html>not a picture</html>",
        "cut": whole[: len(whole) // 2],
        "wrong rows": whole[:-40] + b"\0" * 28 + whole[-12:],
        "no rows": whole[:33] + _chunk(b"IEND", b""),
        "no width": whole[:16] + b"\0\0\0\0" + whole[20:],
        "bomb": bomb_png(),
        "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
        "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    }


def har_parts(size: int) -> Iterator[bytes]:
    """Yield the parts of a HAR of at least `size` bytes: one entry repeated."""
    entry = (
        b'{"request":{"method":"GET","url":"http://%s/%%012d"},"response":{"status":200,'
        b'"content":{"mimeType":"image/png","text":"%s"}}},' % (HOST.encode(), b"A" * 60_000)
    )
    yield b'{"log":{"version":"1.2","entries":['
    for number in range(size // len(entry) + 1):
        yield entry % number
    yield b'{"request":{"url":"http://end.example/"},"response":{"status":200}}]}}'


def nested_json(depth: int = 1_000_000) -> bytes:
    """Return deeply nested lists, to be read as a HAR or as page information."""
    return b'{"log":{"entries":' + b"[" * depth + b"]" * depth + b"}}"


def resources() -> tuple[HostilePage, ...]:
    """Return the resources that the pages request in addition to other pages."""
    attached = ("Content-Disposition: attachment; filename=evil.exe",)
    return (
        HostilePage("bomb.png", content_type="image/png", payload=bomb_png()),
        HostilePage("worker.js", content_type="text/javascript", payload=b"onfetch = () => 0"),
        HostilePage(
            "attachment",
            content_type="application/x-msdownload",
            payload=b"MZ" * 99,
            headers=attached,
        ),
    )


def write_hostile_warc(path: Path, pages: tuple[HostilePage, ...] = PAGES) -> Path:
    """Write a WARC of pages and their resources, captured at TIMESTAMP."""
    return write_warc(path, [_archived(page) for page in (*pages, *resources())])


def _archived(page: HostilePage) -> Page:
    # The type is the first HTTP header of a record; others follow it.
    content_type = "\r\n".join((page.content_type, *page.headers))
    return Page(page.url, TIMESTAMP, page.body, content_type, page.status)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/hang":
            self.server.over.wait(600)
            self.close_connection = True
            return
        page = self.server.pages.get(path)
        if page is None:
            self.send_error(404)
            return
        self.send_response(int(page.status[:3]))
        self.send_header("Content-Type", page.content_type)
        for header in page.headers:
            self.send_header(*header.split(": ", 1))
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        self.wfile.write(page.body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((SERVED_AT, 0), _Handler)
        self.pages = {f"/{page.name}": page for page in (*PAGES, *resources())}
        self.over = threading.Event()


@contextmanager
def running_hostile_site() -> Iterator[str]:
    """Serve the pages; yield their address without a trailing slash. `/hang` never answers."""
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://{SERVED_AT}:{server.server_address[1]}"
        finally:
            server.over.set()
            server.shutdown()
            thread.join(10)
