"""Signed texts by which the process that plays captures tells for whom it asks.

Playback has an origin of its own, which the session's cookie may not reach,
and asks the CDX server in place of a reader. A link carries the name of who
has logged in to playback, a cookie of playback's own keeps it, and a header
of each question says it, with the address of the reader.
"""

from typing import Any

from itsdangerous import BadData, URLSafeTimedSerializer

PASS_HEADER = "X-Nwx-Viewer"
PASS_ENVIRON = "HTTP_X_NWX_VIEWER"
_LINK_SECONDS, _HEADER_SECONDS = 60, 300
PASS_COOKIE_SECONDS = 8 * 3_600
"""So long playback knows who has logged in; roles are those of now."""


class ViewerPasses:
    """Makes and reads passes with the key of a running playback."""

    def __init__(self, key: str) -> None:
        self._links = URLSafeTimedSerializer(key, salt="playback link")
        self._cookies = URLSafeTimedSerializer(key, salt="playback cookie")
        self._headers = URLSafeTimedSerializer(key, salt="playback question")

    def link(self, user: str) -> str:
        """Return what leads a user to playback; "" is nobody."""
        return _text(self._links.dumps(user))

    def user_of_link(self, text: str) -> str | None:
        """Return the user of a link, None where it is not ours, or too old."""
        return _user(_read(self._links, text, _LINK_SECONDS))

    def cookie(self, user: str) -> str:
        """Return what playback keeps in a browser."""
        return _text(self._cookies.dumps(user))

    def user_of_cookie(self, text: str) -> str:
        """Return the user of a cookie, "" where it is not ours, or too old."""
        return _user(_read(self._cookies, text, PASS_COOKIE_SECONDS)) or ""

    def header(self, address: str, user: str) -> str:
        """Return the value of the header that tells for whom playback asks."""
        return _text(self._headers.dumps([address, user]))

    def asker(self, text: str) -> tuple[str, str] | None:
        """Return the address and the user of a header, None where it is not ours."""
        found = _read(self._headers, text, _HEADER_SECONDS)
        if isinstance(found, list) and [type(part) for part in found] == [str, str]:
            return found[0], found[1]
        return None


def _text(signed: str | bytes) -> str:
    return signed if isinstance(signed, str) else signed.decode()


def _read(signed: URLSafeTimedSerializer, text: str, seconds: int) -> Any:
    try:
        return signed.loads(text, max_age=seconds)
    except BadData:
        return None


def _user(found: Any) -> str | None:
    return found if isinstance(found, str) else None
