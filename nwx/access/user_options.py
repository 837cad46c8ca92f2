"""How a service identifies its users: not at all, by token, reverse proxy or accounts."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from nwx.errors import SettingsError

LEAST_TOKEN_CHARACTERS = 20
"""Shorter tokens can be guessed."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class UserMode(StrEnum):
    """How a service identifies its users.

    `none`: everybody is a reader. `token`: whoever logs in with the token is an administrator.
    `proxy`: a reverse proxy sends the user name. `accounts`: name and password.
    """

    NONE = "none"
    TOKEN = "token"
    PROXY = "proxy"
    ACCOUNTS = "accounts"


@dataclass(frozen=True, slots=True)
class UserOptions:
    """How users are identified, and which proxies are trusted.

    `naming_proxies` are the proxies that name users, `trusted_proxies` those trusted only for the
    client's address and scheme (X-Forwarded-For, X-Forwarded-Proto).
    """

    mode: UserMode = UserMode.NONE
    naming_proxies: tuple[Network, ...] = ()
    trusted_proxies: tuple[Network, ...] = ()
    access_token: str = field(default="", repr=False)

    @property
    def has_users(self) -> bool:
        """Return whether anybody can be identified as a user."""
        return self.mode is not UserMode.NONE


def user_options(
    users: str = "", trusted_proxies: Iterable[str] = (), access_token: str = ""
) -> UserOptions:
    """Return the options for `none`, `token`, `accounts` or `proxy=ADDRESS,…`.

    Raises SettingsError on anything else, and on a missing or short token.
    """
    name, _, addresses = users.partition("=")
    if (name or "none") not in set(UserMode) or (addresses and name != UserMode.PROXY):
        raise SettingsError(
            f"users is {users[:100]!r}; it must be none, token, accounts or proxy=ADDRESS,…"
        )
    mode = UserMode(name or "none")
    naming = tuple(map(network_of, filter(None, addresses.split(","))))
    if mode is UserMode.PROXY and not naming:
        raise SettingsError(
            "users by proxy needs the addresses of the proxy: proxy=127.0.0.1,10.0.0.0/24"
        )
    if mode is UserMode.TOKEN and len(access_token) < LEAST_TOKEN_CHARACTERS:
        raise SettingsError(
            f"users by token needs a token of at least {LEAST_TOKEN_CHARACTERS} characters; set "
            "NWX_ACCESS_TOKEN, for example to the output of `openssl rand -hex 32`"
        )
    trusted = tuple(map(network_of, trusted_proxies))
    return UserOptions(mode, naming, (*naming, *trusted), access_token)


def network_of(text: str) -> Network:
    """Return the network of an address or network.

    Raises SettingsError on anything else, and on the network of all addresses: anybody could name
    any user.
    """
    try:
        found = ipaddress.ip_network(text.strip().strip("[]"))
    except ValueError as error:
        raise SettingsError(
            f"{text[:60]!r} is not the address of a proxy; write 127.0.0.1, ::1 or 10.0.0.0/24"
        ) from error
    if not found.prefixlen:
        raise SettingsError(f"{text[:60]} covers all addresses; name only those of the proxy")
    return found
