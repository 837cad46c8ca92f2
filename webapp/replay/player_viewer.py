"""Who asks playback: by the address of a request, and by the cookie that playback keeps."""

from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from webapp.site.viewer_passes import PASS_COOKIE_SECONDS, ViewerPasses
from webapp.users.proxies import REMOTE_USER

ARRIVAL = "/nwx-viewer"
"""Where a reader arrives with a link that names them."""

_COOKIE = "nwx_playback"
_START = "/replay/"


class PlayerViewers:
    """Knows who sends a request to playback."""

    def __init__(self, passes: ViewerPasses) -> None:
        self._passes = passes

    def header(self, environ: dict[str, Any]) -> str:
        """Return the header by which playback asks in place of whoever sends a request."""
        user = environ.get(REMOTE_USER) or self._passes.user_of_cookie(_cookie(environ))
        return self._passes.header(str(environ.get("REMOTE_ADDR", "")), str(user))

    def nobody(self) -> str:
        """Return the header of a question that nobody in particular asks."""
        return self._passes.header("", "")

    def arrived(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes] | None:
        """Keep the user of a link, and lead on to the capture; None for all other requests.

        The cookie is for this process alone: scripts of archived pages
        cannot read it.
        """
        if environ.get("PATH_INFO") != ARRIVAL:
            return None
        asked = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        to = asked.get("to", [""])[0]
        user = self._passes.user_of_link(asked.get("pass", [""])[0])
        if user is None or not to.startswith(_START) or not to.isprintable() or not to.isascii():
            start_response("400 Bad Request", [("Content-Type", "text/plain")])
            return (b"this link to playback is too old; open the capture again\n",)
        cookie = self._set_cookie(user, environ)
        headers = [("Location", to), ("Cache-Control", "no-store"), ("Set-Cookie", cookie)]
        start_response("302 Found", headers)
        return (b"",)

    def _set_cookie(self, user: str, environ: dict[str, Any]) -> str:
        secure = "; Secure" if environ.get("wsgi.url_scheme") == "https" else ""
        age = PASS_COOKIE_SECONDS if user else 0
        value = self._passes.cookie(user) if user else ""
        return f"{_COOKIE}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}"


def _cookie(environ: dict[str, Any]) -> str:
    try:
        found = SimpleCookie(environ.get("HTTP_COOKIE", ""))
    except CookieError:
        return ""
    return found[_COOKIE].value if _COOKIE in found else ""
