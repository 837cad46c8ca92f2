"""A web site to crawl, and a crawler that uses a proxy."""

import hashlib
import re
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urljoin

HOST = "127.0.0.2"
"""Not 127.0.0.1, as warcprox refuses to fetch from it."""
CHANGING = ("/news", "/counter")
_LINK = re.compile(rb'(?:href|src)="([^"]+)"')


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        content_type, body = self.server.page(self.path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, pages: int) -> None:
        super().__init__((HOST, 0), _Handler)
        self.pages, self.crawl = pages, 1

    def page(self, path: str) -> tuple[str, bytes]:
        """Return the type and content of a page; b"" if there is none."""
        if path == "/":
            links = [f"/{n}" for n in range(self.pages)] + [f"/{n}.png" for n in range(self.pages)]
            links += ["/copy", "/search?q=a&p=2", *CHANGING]
            return "text/html", "".join(f'<a href="{link}">{link}</a>' for link in links).encode()
        if path.endswith(".png"):
            return "image/png", b"\x89PNG" + _noise(path, 8_000)
        if path == "/copy":
            return self.page("/0")
        said = f"{path} in crawl {self.crawl}" if path in CHANGING else path
        return "text/html; charset=utf-8", f"<title>{path}</title><p>{said}".encode() + _noise(
            said, 2_000
        ).hex().encode()


def _noise(seed: str, size: int) -> bytes:
    """Return incompressible bytes, reproducible from a seed."""
    return hashlib.shake_128(seed.encode()).digest(size)


class Site:
    """A running site."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self.home = f"http://{HOST}:{server.server_address[1]}/"
        self.urls = 2 * server.pages + 5
        """The number of pages and images."""

    def change(self) -> None:
        """Change the content of the pages in CHANGING."""
        self._server.crawl += 1

    def crawl(self, proxy: str) -> int:
        """Fetch all pages through a proxy; return their number."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))
        waiting, seen = [self.home], {self.home}
        while waiting:
            url = waiting.pop()
            with opener.open(url, timeout=60) as answer:
                body = answer.read()
                if answer.headers.get_content_type() != "text/html":
                    continue
            for link in _LINK.findall(body):
                found = urljoin(url, link.decode())
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
        return len(seen)


@contextmanager
def running_site(pages: int) -> Iterator[Site]:
    """Yield a site with `pages` pages and as many images."""
    with _Server(pages) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield Site(server)
        finally:
            server.shutdown()
            thread.join(10)
