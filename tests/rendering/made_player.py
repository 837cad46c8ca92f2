"""A fake player that looks like pywb to the browser: same addresses and headers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PLAYED_TIMESTAMP = "20200101000000"
_MEMENTO = "Wed, 01 Jan 2020 00:00:00 GMT"

Answer = tuple[int, str, bytes]
"""Status, media type (for redirects: the address) and body of a response."""


@contextmanager
def made_player(answer: Callable[[str], Answer | None]) -> Iterator[str]:
    """Yield the prefix of a player that gets the response for each archived URL from a function."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = self.path.partition("_/")[2]
            status, media_type, body = answer(url) or (404, "text/plain", b"not in the archive")
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"/replay/{PLAYED_TIMESTAMP}mp_/{media_type}")
            else:
                self.send_header("Content-Type", media_type)
                self.send_header("Memento-Datetime", _MEMENTO)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name that the server asks for

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/replay"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
