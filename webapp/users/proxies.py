"""Client address, scheme and user from headers of trusted reverse proxies.

Anybody can send these headers. They are removed from each request; no code
after this reads them.
"""

import ipaddress
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from nwx.accounts.account_store import is_account_name
from nwx.accounts.user_options import Network
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
