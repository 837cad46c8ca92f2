"""The log of requests: a line of JSON for each."""

import json
import logging
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nwx.errors import SettingsError

REQUEST_ID = "nwx.request-id"
"""The key of the id of a request in its environment."""

_MOST_CHARACTERS = 2_000
_ID_CHARACTERS = 64
_logger = logging.getLogger("nwx.server")


def request_id(environ: dict[str, Any]) -> str:
    """Return the id of a request: that which a proxy gave it in X-Request-Id, or a new one."""
    found = environ.get(REQUEST_ID)
    if found is None:
        given = str(environ.get("HTTP_X_REQUEST_ID", ""))
        is_usable = given.isascii() and given.replace("-", "").isalnum()
        found = given[:_ID_CHARACTERS] if is_usable else secrets.token_hex(8)
        environ[REQUEST_ID] = found
    return str(found)


class RequestLog:
    """Appends to a file, `-` for standard error; processes share one, a write for each line.

    Raises SettingsError where the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        try:
            if path == "-":
                self._file = os.fdopen(os.dup(2), "wb", buffering=0)
            else:
                self._file = Path(path).open("ab", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise SettingsError(f"the log of requests {path}: {error.strerror}") from error
        self._has_failed = False

    def add(self, environ: dict[str, Any], status: int, seconds: float) -> None:
        """Write the line of a request; the first line that finds no room is reported."""
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "id": request_id(environ),
            "client": environ.get("REMOTE_ADDR", ""),
            "method": environ.get("REQUEST_METHOD", ""),
            "path": f"{environ.get('SCRIPT_NAME', '')}{environ.get('PATH_INFO', '')}",
            "query": environ.get("QUERY_STRING", ""),
            "status": status,
            "seconds": round(seconds, 6),
            "agent": environ.get("HTTP_USER_AGENT", ""),
        }
        kept = {
            name: value[:_MOST_CHARACTERS] if isinstance(value, str) else value
            for name, value in line.items()
        }
        try:
            self._file.write(json.dumps(kept).encode() + b"\n")
        except OSError as error:
            if not self._has_failed:
                _logger.warning("the log of requests cannot be written: %s", error.strerror)
            self._has_failed = True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
