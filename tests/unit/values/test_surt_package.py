"""Urlkeys by the surt package, bounded, and loaded without its unneeded dependencies."""

import socket
import subprocess
import sys

import pytest

from nwx.errors import UrlError
from nwx.values.surt_package import loaded_lazily, package_urlkey


def test_something_else_for_a_port_is_its_own_key() -> None:
    assert package_urlkey("http://mhtml:d.example.org/") == "http://mhtml:d.example.org/"


def test_what_the_package_cannot_take_is_an_error_that_names_it() -> None:
    with pytest.raises(UrlError, match=r"ud800\.com"):
        package_urlkey("http://\ud800.com/")


def test_a_blank_is_no_url() -> None:
    with pytest.raises(UrlError, match="has no urlkey: not a URL"):
        package_urlkey(" ")


def test_nested_escapes_are_refused_before_they_are_undone() -> None:
    with pytest.raises(UrlError, match="escaped too many times"):
        package_urlkey("http://a.example/" + "%" + "25" * 70)


def test_numeric_hosts_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a host name was looked up")

    monkeypatch.setattr(socket, "gethostbyname_ex", refuse)
    monkeypatch.setattr(socket, "gethostbyname", refuse)
    assert package_urlkey("http://0x7f.0.0.1/a").endswith(")/a")
    assert package_urlkey("http://192.0.2.7/") == "7,2,0,192)/"


def test_a_module_is_loaded_when_it_is_used() -> None:
    sys.modules.pop("colorsys", None)
    with loaded_lazily("colorsys"):
        import colorsys as stub
    assert "colorsys" not in sys.modules
    assert stub.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert "colorsys" in sys.modules


def test_a_module_that_is_used_at_once_is_loaded_at_once() -> None:
    sys.modules.pop("colorsys", None)
    with loaded_lazily("colorsys"):
        from colorsys import rgb_to_hsv
    assert rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert "colorsys" in sys.modules


def test_a_loaded_module_stays() -> None:
    with loaded_lazily("sys"):
        import sys as same
    assert same is sys


def test_a_module_that_is_missing_is_told_when_it_is_used() -> None:
    with loaded_lazily("no_such_module"):
        import no_such_module as stub  # type: ignore[import-not-found]
    with pytest.raises(ModuleNotFoundError):
        _ = stub.anything


def test_urlkeys_need_no_http_client() -> None:
    asked = "import sys, nwx.values.urlkeys; print('requests' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True, text=True)
    assert ran.stdout.strip() == "False"
