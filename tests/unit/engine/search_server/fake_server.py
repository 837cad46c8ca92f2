"""A server with predefined answers in place of Elasticsearch."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from nwx.engine.search_server.server import Server
from nwx.engine.server_engines import ElasticServer
from nwx.settings import ServerSettings

Reply = tuple[int, Any]


class FakeServer:
    """A server with predefined answers that records the requests."""

    def __init__(
        self, answer: Callable[[int, str, bytes], Reply], certificate: Path | None = None
    ) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def reply(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                fake.requests.append((self.path, dict(self.headers), body))
                status, found = answer(len(fake.requests), self.path, body)
                data = found if isinstance(found, bytes) else json.dumps(found).encode()
                self.send_response(status)
                if isinstance(found, dict):
                    self.send_header("X-Elastic-Product", "Elasticsearch")
                kind = "text/html" if isinstance(found, bytes) else "application/json"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = reply  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving(
    answer: Callable[[int, str, bytes], Reply], settings: ServerSettings | None = None
) -> Iterator[tuple[FakeServer, Server]]:
    """Yield a fake server, and a connection to it."""
    fake = FakeServer(answer)
    server = ElasticServer(f"http://{fake.address}", settings or ServerSettings())
    try:
        yield fake, server
    finally:
        server.close()
        fake.close()


def refusal(kind: str, reason: str = "because") -> dict[str, Any]:
    return {"error": {"type": kind, "reason": reason, "root_cause": []}}


def item(status: int, result: str = "created", error: object = None) -> dict[str, Any]:
    return {"index": {"status": status} | ({"error": error} if error else {"result": result})}
