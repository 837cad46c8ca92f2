"""Requests that repeat the headers of the one before, as those of crawlers and players do."""

import re
from typing import Any

# Targets that need no unquoting, and that nobody can take for another host's.
_PLAIN_LINE = re.compile(rb"GET (/(?!/)[!\"$&->@-~]*)(?:\?([!\"$-~]*))? HTTP/1\.1")
_END = b"\r\n\r\n"


class RepeatedHead:
    """The headers of a request that was read and taken, and its WSGI environment.

    What comes next on the connection with the same bytes for headers need not be parsed.
    """

    def __init__(self) -> None:
        self._headers: bytes | None = None
        self._environ: dict[str, Any] = {}

    def remember(self, data: bytes, environ: dict[str, Any]) -> None:
        """Keep the headers of a request without a body where `data` is one, and that all."""
        line, _, headers = data.partition(b"\r\n")
        is_one = headers.find(_END) == len(headers) - len(_END)
        if is_one and b"\n" not in headers.replace(b"\r\n", b"") and _PLAIN_LINE.fullmatch(line):
            self._headers, self._environ = headers, environ

    def environ(self, data: bytes) -> dict[str, Any] | None:
        """Return the environment of a request that repeats the headers, None for any other."""
        line, _, headers = data.partition(b"\r\n")
        if headers != self._headers or (found := _PLAIN_LINE.fullmatch(line)) is None:
            return None
        environ = self._environ.copy()
        environ["PATH_INFO"] = found[1].decode("ascii")
        environ["QUERY_STRING"] = (found[2] or b"").decode("ascii")
        return environ
