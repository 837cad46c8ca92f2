"""The viewer of a request: from headers of trusted proxies, or from passes signed for playback."""

import ipaddress
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from flask import Flask, current_app, request
from itsdangerous import BadData, URLSafeTimedSerializer
from werkzeug.http import parse_cookie

from nwx.access.account_store import is_account_name
from nwx.access.user_options import Network
from nwx.engine.access.rules import Viewer
from webapp.headers import Application, ShortAnswers

REMOTE_USER = "nwx.remote-user"
"""The environment key of the user named by a proxy; "" is nobody."""

BAD_REMOTE_USER = "nwx.bad-remote-user"
"""Set in the environment if a proxy sends an invalid user, such as several at once."""

FORWARDED = "nwx.forwarded"
"""Set in the environment if a request has headers of a proxy, trusted or not."""

_REFUSED = b"the X-Remote-User of the proxy names several users, or nobody that can be\n"

_PEER = "nwx.peer"
_FOR = "HTTP_X_FORWARDED_FOR"
_PROTOCOL = "HTTP_X_FORWARDED_PROTO"
_USER = "HTTP_X_REMOTE_USER"
_MOST_HOPS = 30
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class ProxyHeaders:
    """Reads headers of proxies at trusted addresses, and drops those of all others.

    Anybody can send these headers. They are removed from each request; no
    code after this reads them.
    X-Forwarded-For and X-Forwarded-Proto are accepted from `trusted` proxies,
    X-Remote-User only from those that are also in `naming`.
    """

    def __init__(self, trusted: Sequence[Network] = (), naming: Sequence[Network] = ()) -> None:
        self._trusted, self._naming = tuple(trusted), tuple(naming)

    def read(self, environ: dict[str, Any]) -> None:
        """Set the address, scheme and remote user of a request; may be called twice.

        The address is "" if a proxy does not name the client: the proxy's
        address, often this machine's, must not count as the client's.
        """
        if _PEER in environ:
            return
        peer = environ[_PEER] = str(environ.get("REMOTE_ADDR", ""))
        forwarded = str(environ.pop(_FOR, ""))
        protocol = str(environ.pop(_PROTOCOL, ""))
        user = str(environ.pop(_USER, ""))
        environ[REMOTE_USER] = ""
        if forwarded or protocol or user:
            environ[FORWARDED] = True
        if not _is_in(peer, self._trusted):
            return
        environ["REMOTE_ADDR"] = self._client(forwarded)
        if protocol.strip().lower() in ("http", "https"):
            environ["wsgi.url_scheme"] = protocol.strip().lower()
        if user and _is_in(peer, self._naming):
            self._name_user(environ, user)

    def _client(self, forwarded: str) -> str:
        """Return the last address that is not a proxy's: clients can forge those before it."""
        for text in reversed(forwarded.rsplit(",", _MOST_HOPS)):
            address = _address(_host(text))
            if address is None:
                return ""
            if not _is_in(str(address), self._trusted):
                return str(address)
        return ""

    def _name_user(self, environ: dict[str, Any], sent: str) -> None:
        try:
            name = sent.strip().encode("latin-1").decode("utf-8")
        except UnicodeError:
            name = sent
        if is_account_name(name):
            environ[REMOTE_USER] = name
        else:
            environ[BAD_REMOTE_USER] = True

    def read_before(self, answers: ShortAnswers) -> ShortAnswers:
        """Return `answers` with the headers of proxies read before."""

        def answer(
            environ: dict[str, Any], start_response: Callable[..., Any]
        ) -> Iterable[bytes] | None:
            self.read(environ)
            return None if environ.get(BAD_REMOTE_USER) else answers(environ, start_response)

        return answer


class BehindProxies:
    """WSGI middleware that reads the headers of proxies."""

    def __init__(self, application: Application, headers: ProxyHeaders) -> None:
        self._application = application
        self._headers = headers

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request; 400 if the proxy sends an invalid user."""
        self._headers.read(environ)
        if environ.get(BAD_REMOTE_USER):
            head = [("Content-Type", "text/plain"), ("Content-Length", str(len(_REFUSED)))]
            start_response("400 Bad Request", head)
            return (_REFUSED,)
        return self._application(environ, start_response)


def _host(text: str) -> str:
    """Return the address in an entry of X-Forwarded-For, without port and brackets."""
    text = text.strip()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


@lru_cache(4_096)
def _address(text: str) -> _Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        return found.ipv4_mapped
    return found


def _is_in(text: str, networks: Sequence[Network]) -> bool:
    address = _address(text) if networks else None
    return address is not None and any(address in network for network in networks)


PASS_HEADER = "X-Nwx-Viewer"
PASS_ENVIRON = "HTTP_X_NWX_VIEWER"
_LINK_SECONDS, _HEADER_SECONDS = 60, 300
PASS_COOKIE_SECONDS = 8 * 3_600
"""How long playback remembers a logged-in user; roles are always current."""


class ViewerPasses:
    """Signs and verifies passes with the key of a running playback."""

    def __init__(self, key: str) -> None:
        self._links = URLSafeTimedSerializer(key, salt="playback link")
        self._cookies = URLSafeTimedSerializer(key, salt="playback cookie")
        self._headers = URLSafeTimedSerializer(key, salt="playback question")

    def link(self, user: str) -> str:
        """Return the pass in a link to playback for a user; "" is nobody."""
        return _text(self._links.dumps(user))

    def user_of_link(self, text: str) -> str | None:
        """Return the user of a link's pass, None if it is invalid or too old."""
        return _user(_read(self._links, text, _LINK_SECONDS))

    def cookie(self, user: str) -> str:
        """Return the pass that playback stores in the browser's cookie."""
        return _text(self._cookies.dumps(user))

    def user_of_cookie(self, text: str) -> str:
        """Return the user of a cookie's pass, "" if it is invalid or too old."""
        return _user(_read(self._cookies, text, PASS_COOKIE_SECONDS)) or ""

    def header(self, address: str, user: str) -> str:
        """Return the value of the header for a request of playback on behalf of a viewer."""
        return _text(self._headers.dumps([address, user]))

    def asker(self, text: str) -> tuple[str, str] | None:
        """Return the address and the user of a header's pass, None if it is invalid."""
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


VIEWER_EXTENSION = "nwx-viewer"
"""The application's `FindViewer`; without it, there are no users."""

FindViewer = Callable[[], Viewer]
"""Returns the viewer of the current request; called within its context."""

NAMED_EXTENSION = "nwx-named-viewer"
"""The application's `PlaybackNames`; without it, playback has no users."""

PASSES_EXTENSION = "nwx-viewer-passes"
"""The passes of the application's playback process."""


@dataclass(frozen=True, slots=True)
class PlaybackNames:
    """The names of users in playback.

    `name` returns the name of a request's viewer, "" for nobody; `find`
    returns the viewer for an address and such a name, with the current role.
    """

    name: Callable[[], str]
    find: Callable[[str, str], Viewer]


_FOUND = "nwx.viewer"


def viewer() -> Viewer:
    """Return the viewer of the current request.

    Without accounts, that is a reader at the client's address. The result is
    cached for the request.
    """
    environ = request.environ
    found: Viewer | None = environ.get(_FOUND)
    if found is None and PASS_ENVIRON in environ:
        found = environ[_FOUND] = _passed(current_app.extensions, environ)
    if found is None:
        find: FindViewer = current_app.extensions.get(VIEWER_EXTENSION, viewer_at_address)
        found = environ[_FOUND] = find()
    return found


def found_viewer() -> Viewer | None:
    """Return the viewer of the request if it has been looked up, else None."""
    found: Viewer | None = request.environ.get(_FOUND)
    return found


def viewer_of(app: Flask, environ: dict[str, Any]) -> Viewer:
    """Return the viewer of a request outside the application's routes."""
    found: Viewer | None = environ.get(_FOUND)
    if found is not None:
        return found
    if PASS_ENVIRON in environ:
        with app.app_context():
            found = environ[_FOUND] = _passed(app.extensions, environ)
        return found
    if VIEWER_EXTENSION not in app.extensions:
        found = environ[_FOUND] = Viewer(environ.get("REMOTE_ADDR", ""))
        return found
    with app.request_context(environ):
        return viewer()


def _passed(extensions: dict[str, Any], environ: dict[str, Any]) -> Viewer:
    """Return the viewer on whose behalf playback sends a request.

    The sender of a forged header is nobody at the client's address, and
    sees neither more nor less than anybody there.
    """
    passes: ViewerPasses | None = extensions.get(PASSES_EXTENSION)
    asker = passes.asker(environ[PASS_ENVIRON]) if passes is not None else None
    if asker is None:
        return Viewer(_far_address(environ))
    address, user = asker
    names: PlaybackNames | None = extensions.get(NAMED_EXTENSION)
    return names.find(address, user) if user and names is not None else Viewer(address)


def _far_address(environ: dict[str, Any]) -> str:
    """Return the address of a request, "" for loopback addresses, which playback uses."""
    address = str(environ.get("REMOTE_ADDR", ""))
    try:
        is_near = ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return ""
    return "" if is_near else address


def playback_name() -> str | None:
    """Return the viewer's name in playback, "" for nobody, None if there are no users."""
    names: PlaybackNames | None = current_app.extensions.get(NAMED_EXTENSION)
    return None if names is None else names.name()


def is_for_another() -> bool:
    """Return whether playback sends the request on behalf of a reader; it may only read."""
    return PASS_ENVIRON in request.environ


def viewer_at_address() -> Viewer:
    """Return a reader known only by the client's address."""
    return Viewer(request.remote_addr or "")


def forget_viewer() -> None:
    """Drop the cached viewer of the request, after a login or logout."""
    request.environ.pop(_FOUND, None)


ARRIVAL = "/nwx-viewer"
"""The path of playback for links with a pass."""

_COOKIE = "nwx_playback"
_START = "/replay/"


class PlayerViewers:
    """Identifies the senders of requests to playback."""

    def __init__(self, passes: ViewerPasses) -> None:
        self._passes = passes

    def user(self, environ: dict[str, Any]) -> str:
        """Return the name of a request's sender, "" for nobody."""
        cookies = parse_cookie(environ).getlist(_COOKIE)
        # Captures can set cookies of this name for their paths; these are invalid.
        known = filter(None, map(self._passes.user_of_cookie, cookies))
        return str(environ.get(REMOTE_USER) or next(known, ""))

    def header(self, environ: dict[str, Any]) -> str:
        """Return the header with which playback acts on behalf of a request's sender."""
        return self._passes.header(str(environ.get("REMOTE_ADDR", "")), self.user(environ))

    def nobody(self) -> str:
        """Return the header of a request without a viewer."""
        return self._passes.header("", "")

    def arrived(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes] | None:
        """Store the user of a link in a cookie and redirect to the capture; else return None.

        Scripts of archived pages cannot read the cookie (HttpOnly).
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


def host_of(url: str) -> str:
    """Return the host of a URL, or ""."""
    try:
        return urlsplit(url if "://" in url else f"http://{url}").hostname or ""
    except ValueError:
        return ""
