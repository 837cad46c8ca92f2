"""Authentication options of a service."""

from ipaddress import ip_network

import pytest

from nwx.access.user_options import UserMode, UserOptions, network_of, user_options
from nwx.errors import SettingsError


def test_nobody_is_known_by_default() -> None:
    assert user_options() == user_options("none") == UserOptions()
    assert not UserOptions().has_users


def test_a_proxy_is_named_by_its_addresses() -> None:
    found = user_options("proxy=127.0.0.1,10.0.0.0/24", ["[::1]"])
    assert found.mode is UserMode.PROXY
    assert found.naming_proxies == (ip_network("127.0.0.1"), ip_network("10.0.0.0/24"))
    assert found.trusted_proxies == (*found.naming_proxies, ip_network("::1"))


def test_accounts_may_be_behind_a_proxy() -> None:
    found = user_options("accounts", ["10.0.0.1"])
    assert found.has_users
    assert found.naming_proxies == ()
    assert found.trusted_proxies == (ip_network("10.0.0.1"),)


def test_a_token_is_not_printed() -> None:
    found = user_options("token", access_token="x" * 20)
    assert found.access_token not in repr(found)


@pytest.mark.parametrize(
    "text", ["proxy", "proxy=", "everybody", "accounts=x", "token=x", "proxy=host.example", "=x"]
)
def test_others_are_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        user_options(text)


@pytest.mark.parametrize("token", ["", "short"])
def test_a_token_cannot_be_short(token: str) -> None:
    with pytest.raises(SettingsError, match="NWX_ACCESS_TOKEN"):
        user_options("token", access_token=token)


@pytest.mark.parametrize("text", ["0.0.0.0/0", "::/0", "10.0.0.1/8", ""])
def test_networks_that_are_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        network_of(text)
