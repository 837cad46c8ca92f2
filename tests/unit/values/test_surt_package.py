"""Urlkeys by the surt package, bounded."""

import socket

import pytest

from nwx.errors import UrlError
from nwx.values.surt_package import package_urlkey


def test_something_else_for_a_port_is_its_own_key() -> None:
    assert package_urlkey("http://mhtml:d.example.org/") == "http://mhtml:d.example.org/"


def test_what_the_package_cannot_take_is_an_error_that_names_it() -> None:
    with pytest.raises(UrlError, match=r"ud800\.com"):
        package_urlkey("http://\ud800.com/")


def test_a_blank_is_no_url() -> None:
    with pytest.raises(UrlError, match="has no urlkey: not a URL"):
        package_urlkey(" ")


def test_nested_escapes_are_refused_before_they_are_undone() -> None:
    with pytest.raises(UrlError, match="escaped many times"):
        package_urlkey("http://a.example/" + "%" + "25" * 70)


def test_numeric_hosts_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a host name was looked up")

    monkeypatch.setattr(socket, "gethostbyname_ex", refuse)
    monkeypatch.setattr(socket, "gethostbyname", refuse)
    assert package_urlkey("http://0x7f.0.0.1/a").endswith(")/a")
    assert package_urlkey("http://192.0.2.7/") == "7,2,0,192)/"
