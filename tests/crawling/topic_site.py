"""The synthetic web of benchmarks/topic_pages.py, served with each site at a separate address."""

import errno
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.topic_pages import HOSTS, TopicPages

_FIRST_ADDRESS = 11
_STYLE = b"main { max-width: 40em }"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        status, content_type, body = self.server.site.answer(self.server.site_name, self.path)
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, site: "TopicSite", name: str, address: str, port: int) -> None:
        super().__init__((address, port), _Handler)
        self.site, self.site_name = site, name


class TopicSite:
    """The running sites, and their requests."""

    def __init__(self) -> None:
        self.made = TopicPages()
        self.fetched: list[str] = []
        """The URLs of the served pages in order, without style sheets."""
        self._lock = threading.Lock()

    @property
    def quarter(self) -> int:
        """A quarter of the number of pages, traps not counted."""
        return len(self.made.pages) // 4

    def answer(self, host: str, path: str) -> tuple[int, str, bytes]:
        """Return the status, type and content at a path of a site."""
        if path == "/style.css":
            return 200, "text/css", _STYLE
        body = self.made.body(host, path)
        if body is None:
            return 404, "text/html", b"<title>nothing here</title>"
        with self._lock:
            self.fetched.append(self.made.addresses[host] + path)
        return 200, "text/html; charset=utf-8", body

    def relevant_of(self, count: int) -> int:
        """Count the distinct relevant pages among the first `count` fetched ones."""
        with self._lock:
            return len(set(self.fetched[:count]) & self.made.relevant)


@contextmanager
def running_topic_site() -> Iterator[TopicSite]:
    """Serve all sites, from 127.0.0.11 on, on one port."""
    site = TopicSite()
    with ExitStack() as stack:
        servers = [stack.enter_context(server) for server in _servers(site)]
        for server in servers:
            thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
            thread.start()
            stack.callback(thread.join, 10)
            stack.callback(server.shutdown)
        yield site


def _servers(site: TopicSite) -> list[_Server]:
    """Return a server for each site, all on one port that is free on all addresses."""
    for _ in range(20):
        servers: list[_Server] = []
        try:
            for number, host in enumerate(HOSTS, _FIRST_ADDRESS):
                port = servers[0].server_address[1] if servers else 0
                servers.append(_Server(site, host, f"127.0.0.{number}", int(port)))
        except OSError as error:
            for server in servers:
                server.server_close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        site.made.addresses = {
            server.site_name: f"http://{server.server_address[0]}:{server.server_address[1]}"
            for server in servers
        }
        return servers
    raise AssertionError("no port is free at all addresses")
