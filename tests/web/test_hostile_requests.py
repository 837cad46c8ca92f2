"""Every request gets an answer of the service, never an unhandled error."""

import re
from collections.abc import Iterable
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

import pytest
from flask import Flask, Request
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.datastructures import MultiDict
from werkzeug.test import EnvironBuilder, run_wsgi_app

from nwx.engine.base import Engine
from tests.web.addresses import FIRST
from webapp import create_app

HOSTS = ("my_host", "my_host:8080", "a_b.example", "nwx_web")
"""Names of containers, forbidden by standards and widely used."""

BAD_HOSTS = (
    "",
    "a b",
    "ä.example",
    "[::1",
    "a.example:port",
    "a.example/path",
    "user@a.example",
    "<script>",
    "a\x00b",
    "x" * 300,
    ".".join("x" * 60 for _ in range(10)),
)

TEXTS = (
    "",
    " ",
    "*",
    "?",
    "0",
    "-1",
    "1e9",
    "9" * 30,
    "٣",
    "true",
    "\x00",
    "\ud800",
    "\ufffe\U0010ffff",
    "%",
    "%00",
    "%ff%fe",
    "é",
    "a" * 5_000,
    "status=oktitle:oldest",
    "site=a^-1site:*",
    "http://[::1",
    "http://[v1.x]/",
    "http://a:b:c/",
    "http://" + "x" * 70 + ".example/",
    "http://..",
    "http://xn--/",
    "http://xn--a-\u00e9.example/",
    "http://1.2.3.4.5/",
    "http://0x7f.1/",
    "dns:",
    "urn:x:y",
    "mailto:a@b",
    "//",
    "://",
    "http:///",
    "http://a.example/*",
    "*.example.org",
    "(",
    '"',
    "a AND",
    "url:",
    "text:[a TO",
    "date:20xx..",
    "/[/",
    "a~99",
    "^9",
    "a:b:c",
    "\\",
    "site=a",
    "site!=",
    "month=2010..",
    "month=999999",
    "month=99999999999999999999",
    "status=99999999999999999999",
    "status=a",
    "size=-1",
    "=",
    "2010",
    "20101399",
    "99999999999999",
    "sha1:",
    "sha1:" + "A" * 32,
    "sha256:" + "é" * 32,
    "status:[",
    "~status:(",
    "!~urlkey:((((",
    "urlkey:1",
    "exact",
    "prefix",
    "domain",
    "json",
    "link",
    "csv",
    "type",
    "month,type",
    "bytes",
    "__proto__",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "{{7*7}}",
    FIRST,
    "0" * 32,
    "http://www.example.org/",
)

CDX_NAMES = (
    *("url", "urlkey", "matchType", "output", "fl", "filter", "dialect", "pageSize", "page"),
    *("showNumPages", "closest", "resumeKey", "showResumeKey", "withOriginals", "gzip", "method"),
    *("requestBody", "collapseTime", "collapse", "from", "to", "limit", "offset", "sort", "q"),
)
"""Parameters read by the CDX server, which parses query strings itself."""

_PATHS = re.compile(r"<[^>]*>")


class _Noted(MultiDict[str, str]):
    """Parameters that record which of them are read."""

    names: ClassVar[set[str]] = set()

    def __getitem__(self, key: str) -> str:
        self.names.add(key)
        return super().__getitem__(key)

    def get(self, key: str, *arguments: Any, **named: Any) -> Any:
        self.names.add(key)
        return super().get(key, *arguments, **named)

    def getlist(self, key: str, *arguments: Any, **named: Any) -> Any:
        self.names.add(key)
        return super().getlist(key, *arguments, **named)


class _Request(Request):
    parameter_storage_class = _Noted  # type: ignore[assignment]


@pytest.fixture(scope="module")
def watched(engine: Engine) -> Flask:
    """An application that records which parameters are read."""
    app = create_app(engine, replay_port=9_999)
    app.request_class = _Request
    return app


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("address", ["/search?q=quarry", "/nowhere", "/cdx?url=a.example"])
def test_hosts_with_an_underscore_are_served(app: Flask, host: str, address: str) -> None:
    assert _ask(app, address, host=host) == _ask(app, address, host="localhost")


def test_addresses_name_the_host_that_was_asked(app: Flask) -> None:
    _, text = _ask(app, "/opensearch.xml", host="my_host:8080")
    assert 'template="http://my_host:8080/search?q=' in text
    _, text = _ask(app, "/replay/2014/http://a.example/", host="my_host:8080")
    assert "http://my_host:9999/replay/2014/http://a.example/" in text
    _, text = _ask(app, "/timemap/link/http://www.example.org/", host="my_host:8080")
    assert "<http://my_host:8080/replay/20090304050607/http://www.example.org/>" in text


@pytest.mark.parametrize("host", BAD_HOSTS)
@pytest.mark.parametrize("address", ["/", "/nowhere", "/api/search", "/cdx?url=a.example"])
def test_what_names_no_host_is_refused(app: Flask, host: str, address: str) -> None:
    status, text = _ask(app, address, host=host)
    assert status == 400
    assert "names no host" in text


@pytest.mark.parametrize("address", ["/", "/nowhere", "/api/search", "/documents/compare"])
def test_errors_need_no_request_that_is_good(engine: Engine, address: str) -> None:
    app = create_app(engine)
    app.config["TRUSTED_HOSTS"] = ["archive.example"]
    status, text = _ask(app, address, host="other.example")
    assert status == 400
    assert text.strip()


@pytest.mark.parametrize(
    "address", ["/api/versions", "/documents/of", f"/dedup?digest=sha1:{'A' * 32}"]
)
@pytest.mark.parametrize("url", ["status=oktitle:oldest", "site=a^-1site:*"])
def test_what_has_no_urlkey_is_refused(app: Flask, address: str, url: str) -> None:
    joint = "&" if "?" in address else "?"
    status, text = _ask(app, f"{address}{joint}{urlencode({'url': url})}")
    assert status == 400
    assert "has no urlkey" in text


def _names(app: Flask, rule: str) -> list[str]:
    """Return the parameters read at an address, including those used only with others."""
    if "cdx" in rule or rule == "/<collection:collection>":
        return list(CDX_NAMES)
    _Noted.names.clear()
    for part in (FIRST, "csv", "default"):
        _ask(app, _PATHS.sub(part, rule))
        _ask(app, f"{_PATHS.sub(part, rule)}?{urlencode(dict.fromkeys(_Noted.names, '1'))}")
    return sorted(_Noted.names) or ["q"]


def _ask(app: Flask, target: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    """Return status and text of an answer; unhandled errors are raised."""
    path, _, query = target.partition("?")
    builder = EnvironBuilder(path="/", method=method)
    environ = builder.get_environ()
    builder.close()
    # As a server passes it: the path unquoted, its bytes as Latin-1.
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), path.encode())
    environ |= {"PATH_INFO": raw.decode("latin-1"), "QUERY_STRING": query, "REQUEST_URI": target}
    environ |= {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    body, status, _ = run_wsgi_app(app.wsgi_app, environ, buffered=True)
    return int(status.split()[0]), b"".join(body).decode("utf-8", "replace")


def _quoted(value: str) -> str:
    return quote(value.encode("utf-8", "surrogatepass"), safe="/:?*")


def _target(rule: str, part: str, query: Iterable[tuple[str, str]]) -> str:
    """Return the address of a rule, with a value for each of its variables."""
    path = _PATHS.sub(lambda _: _quoted(part) or "a", rule)
    encoded = urlencode([(name, value.encode("utf-8", "surrogatepass")) for name, value in query])
    return f"{path}?{encoded}" if encoded else path


def test_any_value_of_any_parameter_gets_an_answer(watched: Flask) -> None:
    rules = sorted({rule.rule for rule in watched.url_map.iter_rules()})
    values = st.sampled_from(TEXTS) | st.text(max_size=30)
    parts = st.sampled_from((FIRST, "default", "csv")) | values
    names = {rule: _names(watched, rule) for rule in rules}

    methods = st.sampled_from((*("GET",) * 7, "HEAD", "OPTIONS", "POST", "PUT"))

    def questions(rule: str) -> st.SearchStrategy[tuple[str, str]]:
        pairs = st.tuples(st.sampled_from(names[rule]), values)
        target = st.builds(_target, st.just(rule), parts, st.lists(pairs, max_size=3))
        return st.tuples(methods, target)

    @settings(
        derandomize=True,
        max_examples=500,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(rules).flatmap(questions))
    def ask(question: tuple[str, str]) -> None:
        method, target = question
        status, text = _ask(watched, target, method)
        assert status < 500, text[-500:]

    ask()
