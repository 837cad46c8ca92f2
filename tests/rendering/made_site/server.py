"""The synthetic web as a SOCKS proxy that reaches all of its hosts.

A crawling proxy that uses it (`warcprox --socks-proxy`) reaches the hosts by name on port 80, so
that all URLs are the same in each crawl.
"""

import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.rendering.made_site.addresses import HOSTS
from tests.rendering.made_site.answers import MadeSite

_GRANTED, _UNREACHABLE = 0, 4
_NAME = 3
"""Address type of a host name (RFC 1928)."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def handle(self) -> None:
        """Answer first as a SOCKS proxy, then as the requested host."""
        if self._reached():
            super().handle()

    def _reached(self) -> bool:
        methods = self.rfile.read(2)
        self.rfile.read(methods[1] if len(methods) == 2 else 0)
        self.wfile.write(b"\x05\x00")
        request = self.rfile.read(4)
        if len(request) < 4 or request[3] != _NAME:
            return False
        host = self.rfile.read(self.rfile.read(1)[0]).decode()
        (port,) = struct.unpack(">H", self.rfile.read(2))
        code = _GRANTED if host in HOSTS and port == 80 else _UNREACHABLE
        self.wfile.write(bytes((5, code, 0, 1)) + bytes(6))
        return code == _GRANTED

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length:
            self.rfile.read(length)
        url = f"http://{self.headers['Host']}{self.path}"
        answer = self.server.site.answer(self.command, url, self.headers.get("Cookie", ""))
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "*")
        if answer.location:
            self.send_header("Location", answer.location)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_POST = do_HEAD = do_OPTIONS = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, site: MadeSite) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.site = site

    def server_bind(self) -> None:
        """Bind without resolving the host name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "made", self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect in the middle of a response."""


@contextmanager
def running_made_site(site: MadeSite) -> Iterator[str]:
    """Serve the synthetic web; yield host and port of its SOCKS proxy."""
    with _Server(site) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(10)
