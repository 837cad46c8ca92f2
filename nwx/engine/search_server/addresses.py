"""Addresses of search servers, and the user and the trust that go with them."""

import ssl
from urllib.parse import unquote, urlsplit, urlunsplit

from nwx.engine.search_server.refusals import DEFAULT_PORTS
from nwx.errors import SettingsError
from nwx.settings import ServerSettings


def without_secrets(address: str) -> str:
    """Return an address without user and password."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def with_port(address: str) -> str:
    """Return what a client takes: with a port, without secrets, which it would log.

    Raises SettingsError on what is no address.
    """
    parts = urlsplit(without_secrets(address))
    try:
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 9200)
    except ValueError as error:
        raise SettingsError(f"{without_secrets(address)} is no address: {error}") from error
    if not parts.hostname:
        raise SettingsError(f"{without_secrets(address)!r} names no server; write http://HOST:9200")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return urlunsplit((parts.scheme, f"{host}:{port}", parts.path.rstrip("/"), "", ""))


def user_of(address: str, settings: ServerSettings) -> tuple[str, str] | None:
    """Return user and password of the settings, else those of the address."""
    if settings.username:
        return settings.username, settings.password
    parts = urlsplit(address)
    if parts.username:
        return unquote(parts.username), unquote(parts.password or "")
    return None


def trusted_authorities(settings: ServerSettings) -> ssl.SSLContext | None:
    """Return whose certificates are trusted, None is those that the system trusts.

    Raises SettingsError where the file cannot be used.
    """
    if not settings.ca_file:
        return None
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        raise SettingsError(f"the CA file {settings.ca_file} cannot be used: {error}") from error
