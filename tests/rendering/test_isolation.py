"""Pages in playback reach nothing but the player."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from nwx.quality.browser.pool import BrowserPool
from nwx.quality.browser.targets import ArchivePlayback, BrowserOptions, PageRender, RenderTask
from tests.rendering.made_player import PLAYED_TIMESTAMP, Answer, made_player
from tests.web.chromium import find_browser

HOME = "http://made.example/"


class Eavesdropper:
    """A TCP and UDP port of this machine that counts connections."""

    def __init__(self) -> None:
        self.came = 0
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._tcp.getsockname()[1])
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        for listen in (self._accept, self._receive):
            threading.Thread(target=listen, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._tcp.accept()
            except OSError:
                return
            self.came += 1
            accepted.close()

    def _receive(self) -> None:
        while True:
            try:
                self._udp.recvfrom(10)
            except OSError:
                return
            self.came += 1

    def close(self) -> None:
        """Close the port."""
        for each in (self._tcp, self._udp):
            # Closing alone wakes no waiting thread.
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


PAGES = {
    "asks": (
        "<script>"
        "for (const at of ['http://127.0.0.1:PORT/', 'http://localhost:PORT/', "
        "  'http://live.example/fetched', 'https://live.example/secret']) {"
        "  fetch(at, {mode: 'no-cors'}).catch(() => 0); new Image().src = at + '?image';"
        "  navigator.sendBeacon(at + '?beacon', 'x') }"
        "</script><iframe src='http://127.0.0.1:PORT/frame'></iframe>"
        "<link rel=stylesheet href='http://127.0.0.1:PORT/style.css'>"
        "<script src='http://127.0.0.1:PORT/script.js'></script>",
        ("http://127.0.0.1:PORT/", "http://live.example/fetched", "https://live.example/secret"),
        {},
    ),
    "hints": (
        "<link rel=preconnect href='https://early.example'>"
        "<link rel=preconnect href='http://127.0.0.1:PORT'>"
        "<link rel=dns-prefetch href='//127.0.0.1:PORT'>"
        "<link rel=prefetch href='http://127.0.0.1:PORT/prefetched'>"
        "<script type=speculationrules>"
        '{"prefetch": [{"source": "list", "urls": ["http://127.0.0.1:PORT/next"]}]}</script>',
        ("http://127.0.0.1:PORT/prefetched",),
        {},
    ),
    "sockets": (
        "<script>new WebSocket('ws://127.0.0.1:PORT/'); new EventSource('http://127.0.0.1:PORT/');"
        "try { new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:PORT'}]}) } catch (e) {}"
        "navigator.serviceWorker.register('/worker.js').catch(() => 0);"
        "const inner = document.body.appendChild(document.createElement('iframe')).contentWindow;"
        "try { const peer = new inner.RTCPeerConnection("
        "  {iceServers: [{urls: 'stun:127.0.0.1:PORT'}]}); peer.createDataChannel('x');"
        "  peer.createOffer().then(offer => peer.setLocalDescription(offer)) } catch (e) {}"
        "</script>",
        ("ws://127.0.0.1:PORT/",),
        {"sockets": 1, "webrtc": 2, "service_workers": 1},
    ),
    "leaves": (
        "<script>setTimeout(() => { location = 'http://127.0.0.1:PORT/gone' }, 50);"
        "setTimeout(() => { location.replace('https://live.example/gone') }, 150)</script>",
        ("http://127.0.0.1:PORT/gone", "https://live.example/gone"),
        {},
    ),
    "posts": (
        "<form method=post action='http://127.0.0.1:PORT/form'><input name=a></form>"
        "<script>document.forms[0].submit()</script>",
        ("http://127.0.0.1:PORT/form",),
        {},
    ),
    "opens": (
        "<a id=out target=_blank href='http://127.0.0.1:PORT/popup'>out</a><script>"
        "window.open('http://127.0.0.1:PORT/popup'); document.getElementById('out').click();"
        "print()</script>",
        (),
        {"popups": 1, "prints": 1},
    ),
}
"""By name: markup, expected leaks, and minimum counts of refusals."""


@pytest.fixture(scope="module")
def eavesdropper() -> Iterator[Eavesdropper]:
    listening = Eavesdropper()
    yield listening
    listening.close()


@pytest.fixture(scope="module")
def renders(eavesdropper: Eavesdropper) -> dict[str, PageRender]:
    """Return the renders of all pages, from one browser."""

    def answer(url: str) -> Answer | None:
        markup, *_ = PAGES.get(url.removeprefix(HOME), ("",))
        if not markup:
            return None
        body = f"<!DOCTYPE html><body><h1>here</h1>{markup}".replace("PORT", str(eavesdropper.port))
        return 200, "text/html", body.encode()

    options = BrowserOptions(jobs=1, browser=find_browser(), page_seconds=30, scroll=False)
    tasks = [RenderTask(f"{HOME}{name}", PLAYED_TIMESTAMP, key=name) for name in PAGES]
    with made_player(answer) as prefix, BrowserPool(options, ArchivePlayback(prefix)) as pool:
        return {found.task.key: found for found in pool.render(tasks)}


@pytest.mark.parametrize("name", PAGES)
def test_what_leaves_the_archive_is_refused_and_counted(
    renders: dict[str, PageRender], eavesdropper: Eavesdropper, name: str
) -> None:
    _, leaks, refused = PAGES[name]
    found = renders[name]
    port = str(eavesdropper.port)
    assert found.problem == ""
    assert found.text.startswith("here"), "the page stays"
    assert {each.replace("PORT", port) for each in leaks} <= set(found.leaks)
    assert all(found.refused.get(kind, 0) >= count for kind, count in refused.items())


def test_nobody_came(renders: dict[str, PageRender], eavesdropper: Eavesdropper) -> None:
    assert len(renders) == len(PAGES)
    assert eavesdropper.came == 0
