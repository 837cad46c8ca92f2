"""Headers of reverse proxies, and of clients that pretend to be one."""

from ipaddress import ip_network
from typing import Any

import pytest

from webapp.site.viewer import BAD_REMOTE_USER, REMOTE_USER, ProxyHeaders

HEADERS = ProxyHeaders(
    trusted=(ip_network("127.0.0.1"), ip_network("10.0.0.0/24")), naming=(ip_network("127.0.0.1"),)
)


def _read(peer: str, headers: ProxyHeaders = HEADERS, **sent: str) -> dict[str, Any]:
    environ: dict[str, Any] = {"REMOTE_ADDR": peer, "wsgi.url_scheme": "http"}
    environ |= {f"HTTP_X_{name.upper()}": value for name, value in sent.items()}
    headers.read(environ)
    assert not {name for name in environ if name.startswith("HTTP_X_")}
    return environ


@pytest.mark.parametrize("headers", [HEADERS, ProxyHeaders()])
def test_others_are_not_believed(headers: ProxyHeaders) -> None:
    environ = _read(
        "192.0.2.9",
        headers,
        forwarded_for="127.0.0.1",
        forwarded_proto="https",
        remote_user="admin",
    )
    assert environ["REMOTE_ADDR"] == "192.0.2.9"
    assert environ["wsgi.url_scheme"] == "http"
    assert environ[REMOTE_USER] == ""


def test_a_proxy_tells_of_its_client() -> None:
    environ = _read(
        "127.0.0.1", forwarded_for="192.0.2.9", forwarded_proto="https", remote_user="ada"
    )
    assert environ["REMOTE_ADDR"] == "192.0.2.9"
    assert environ["wsgi.url_scheme"] == "https"
    assert environ[REMOTE_USER] == "ada"


def test_not_every_trusted_proxy_names_users() -> None:
    environ = _read("10.0.0.7", forwarded_for="192.0.2.9", remote_user="ada")
    assert environ["REMOTE_ADDR"] == "192.0.2.9"
    assert environ[REMOTE_USER] == ""


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("198.51.100.1, 192.0.2.9", "192.0.2.9"),
        ("192.0.2.9, 10.0.0.7", "192.0.2.9"),
        ("127.0.0.1, 192.0.2.9, 10.0.0.7, 10.0.0.8", "192.0.2.9"),
        ("192.0.2.9:4711", "192.0.2.9"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:192.0.2.9", "192.0.2.9"),
        ("192.0.2.9, unknown", ""),
        ("<script>", ""),
        ("10.0.0.7, 127.0.0.1", ""),
        ("", ""),
        ("192.0.2.9" + ", 10.0.0.7" * 100, ""),
    ],
)
def test_the_client_is_the_last_that_is_no_proxy(forwarded: str, client: str) -> None:
    assert _read("127.0.0.1", forwarded_for=forwarded)["REMOTE_ADDR"] == client


def test_a_proxy_that_does_not_tell_is_not_the_client() -> None:
    assert _read("127.0.0.1")["REMOTE_ADDR"] == ""
    assert _read("::ffff:127.0.0.1")["REMOTE_ADDR"] == ""
    assert _read("127.0.0.1", ProxyHeaders())["REMOTE_ADDR"] == "127.0.0.1"


@pytest.mark.parametrize("name", ["admin, ada", "a b", "x" * 200, "a\x00"])
def test_names_that_cannot_be_are_told(name: str) -> None:
    environ = _read("127.0.0.1", remote_user=name)
    assert environ[REMOTE_USER] == ""
    assert environ[BAD_REMOTE_USER]


def test_names_are_utf_8() -> None:
    sent = "ädä".encode().decode("latin-1")
    assert _read("127.0.0.1", remote_user=sent)[REMOTE_USER] == "ädä"


def test_a_request_is_read_once() -> None:
    environ = _read("127.0.0.1", forwarded_for="192.0.2.9")
    environ["HTTP_X_FORWARDED_FOR"] = "198.51.100.1"
    HEADERS.read(environ)
    assert environ["REMOTE_ADDR"] == "192.0.2.9"


def test_short_answers_know_it_too() -> None:
    seen: list[str] = []

    def answers(environ: dict[str, Any], start_response: object) -> None:
        seen.append(environ["REMOTE_ADDR"])

    environ = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "192.0.2.9"}
    assert HEADERS.read_before(answers)(environ, lambda *_: None) is None
    assert seen == ["192.0.2.9"]
