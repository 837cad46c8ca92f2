"""The handler of playback requests: policies on all responses, no waiting for lost bytes."""

from typing import Any, ClassVar

from pywb.utils.geventserver import RequestURIWSGIHandler

from webapp.headers import KEPT_PRIVATE, ROBOTS
from webapp.replay.rewriter import BARE, POLICY_HEADER
from webapp.replay.routes import COLLECTION
from webapp.server.metrics import RequestCounts


class ConfinedHandler(RequestURIWSGIHandler):  # type: ignore[misc]
    """Adds a policy to every response of the playback origin, including the server's errors."""

    counts: ClassVar[RequestCounts | None] = None
    body_bytes = 0

    def start_response(self, status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        """Begin a response, with a policy, and headers for robots and caches."""
        given = dict(headers)
        if POLICY_HEADER not in given:
            headers = [*headers, (POLICY_HEADER, BARE)]
        if "Cache-Control" not in given and not self.path.startswith("/static/"):
            headers = [*headers, KEPT_PRIVATE]
        return super().start_response(status, [*headers, ROBOTS], *more)

    def log_request(self) -> None:
        """Count a request instead of logging it: a second log would grow without bound."""
        if self.counts is not None:
            seconds = max(0.0, self.time_finish - self.time_start)
            self.counts.add(COLLECTION, abs(self.code or 400), seconds)

    def handle_one_request(self) -> Any:
        """Answer a request; the server's refusals get a policy too."""
        refused = super().handle_one_request()
        if not isinstance(refused, tuple):
            return refused
        status, head = refused
        line = f"\r\n{POLICY_HEADER}: {BARE}\r\n\r\n".encode()
        return status, head.replace(b"\r\n\r\n", line, 1)

    def write(self, data: bytes) -> None:
        """Send a part of the body."""
        self.body_bytes += len(data)
        super().write(data)

    def process_result(self) -> None:
        """Send the body; close the connection if it is shorter than the header says.

        Else the client waits for the rest, such as of a file cut off since its import.
        """
        self.body_bytes = 0
        super().process_result()
        promised = int(self.provided_content_length or 0)
        if self.body_bytes < promised and self.command != "HEAD":
            self.close_connection = True
