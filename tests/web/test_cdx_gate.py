"""Short answers take the fast path, and equal those of the usual one."""

import gzip
from collections.abc import Iterator, Sequence
from itertools import count

import pytest
from flask import Flask
from werkzeug.test import Client

from nwx.cdx.rows import CdxRow
from nwx.cdxserver.server import CdxServer
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxSpan
from nwx.errors import SettingsError
from webapp import create_app
from webapp.cdx import streams
from webapp.cdx.gate import Gate
from webapp.cdx.routes import at_once_of
from webapp.cdx.service import CDX_EXTENSION, CdxService, origins_of
from webapp.cdx.streams import WHOLE_BYTES
from webapp.server.small_servers import create_cdx_app

HOME = "url=http://www.example.org/"


@pytest.mark.parametrize(
    ("address", "short"),
    [
        (f"/cdx?{HOME}", True),
        (f"/cdx/ia?{HOME}&limit=-1", True),
        (f"/cdx/hex?{HOME}&fl=timestamp,digest", True),
        (f"/default/cdx?{HOME}&output=json", True),
        (f"/default/cdx/outback?{HOME}&output=json&sort=reverse", True),
        (f"/cdx?{HOME}&dialect=ia", True),
        ("/cdx/ia?url=http://nowhere.example/", True),
        ("/cdx/ia?url=*.example.org", True),
        (f"/cdx/ia?{HOME}&filter=status:(", False),
        (f"/nothing/cdx?{HOME}", False),
        (f"/cdx?{HOME}&withOriginals=true&limit=1", False),
        (f"/cdx?q=type:urlquery+{HOME}", False),
        ("/cdx", False),
        ("/search?q=", False),
    ],
)
def test_both_ways_lead_to_one_answer(app: Flask, address: str, short: bool) -> None:
    gate = app.wsgi_app._application._application  # type: ignore[attr-defined]
    assert isinstance(gate, Gate)
    behind: list[str] = []

    def usual(environ: dict[str, object], start_response: object) -> object:
        behind.append(str(environ["PATH_INFO"]))
        return gate._application(environ, start_response)  # type: ignore[arg-type]

    watched = Client(Gate(gate._app, usual, gate._service))  # type: ignore[arg-type]
    ours, theirs = watched.get(address), Client(gate._application).get(address)  # type: ignore[arg-type]
    assert (behind == []) is short
    assert (ours.status_code, ours.data) == (theirs.status_code, theirs.data)
    for name in ("Content-Type", "Access-Control-Allow-Origin", "X-Content-Type-Options"):
        assert ours.headers.get(name) == theirs.headers.get(name)
    assert "no-cache" in ours.headers["Cache-Control"]
    assert not short or "private" in ours.headers["Cache-Control"]


@pytest.mark.parametrize("accepted", ["", "gzip, deflate, br", "gzip;q=0", "identity"])
@pytest.mark.parametrize(
    "address",
    [
        f"/cdx?{HOME}",
        "/cdx?url=*.example.com",
        "/cdx?url=*.example.com&limit=3",
        "/cdx/ia?url=*.example.com&filter=status:(",
        "/default/cdx/outback?url=http://nowhere.example/",
        "/blogs/cdx?url=*.example.com&showNumPages=true",
    ],
)
def test_nothing_is_computed_twice(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, address: str, accepted: str
) -> None:
    monkeypatch.setattr(streams, "WHOLE_BYTES", 3_000)
    app = create_app(engine)
    server = app.extensions[CDX_EXTENSION].server
    asked: list[object] = []
    answer = server.answer
    monkeypatch.setattr(
        server, "answer", lambda *given, **named: asked.append(given) or answer(*given, **named)
    )
    headers = {"Accept-Encoding": accepted}
    ours = app.test_client().get(address, headers=headers)
    assert len(asked) == 1
    gate = app.wsgi_app._application._application  # type: ignore[attr-defined]
    theirs = Client(gate._application).get(address, headers=headers)
    assert (ours.status_code, ours.content_encoding) == (
        theirs.status_code,
        theirs.content_encoding,
    )
    bodies = [
        gzip.decompress(one.data) if one.content_encoding else one.data for one in (ours, theirs)
    ]
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("address", [f"/cdx?{HOME}", f"/cdx?{HOME}&gzip=false"])
@pytest.mark.parametrize(
    ("allowed", "asking", "answered"),
    [
        ((), "https://a.example", None),
        (("https://a.example/",), "https://a.example", "https://a.example"),
        (("https://a.example",), "https://b.example", None),
        (("https://a.example",), "", None),
        (("*",), "https://b.example", "*"),
    ],
)
def test_only_named_origins_may_read_answers(
    engine: Engine, address: str, allowed: tuple[str, ...], asking: str, answered: str | None
) -> None:
    client = create_app(engine, cdx_origins=allowed).test_client()
    answer = client.get(address, headers={"Origin": asking})
    assert answer.status_code == 200
    assert answer.headers.get("Access-Control-Allow-Origin") == answered
    assert ("Origin" in answer.vary) == bool(allowed and "*" not in allowed)


@pytest.mark.parametrize("origin", ["a.example", "https://a.example/path", "https://", "null x"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(SettingsError, match="is not an origin"):
        origins_of([origin])


class Endless:
    """An endless source that counts the rows taken from it."""

    name = "endless"
    is_local = True

    def __init__(self) -> None:
        self.taken = 0

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        for number in count():
            self.taken += 1
            place = (f"example,a)/{number:09}", "20100101000000", f"http://a.example/{number}")
            yield CdxRow(*place, "text/html", "200", "-", "-", "-", "1", str(number), "f", "web")

    def blocks(self, span: CdxSpan, form: object) -> None:
        """Return None, as there are only rows."""

    def marks(self, span: CdxSpan) -> Iterator[str]:
        return iter(())

    def collections(self) -> Sequence[str]:
        return ("web",)

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("output", ["text", "json", "cdxj"])
@pytest.mark.parametrize(
    ("headers", "most_bytes"),
    [({}, 8 * WHOLE_BYTES), ({"Accept-Encoding": "gzip"}, 128 * WHOLE_BYTES)],
)
def test_no_more_is_read_than_is_sent(
    output: str, headers: dict[str, str], most_bytes: int
) -> None:
    source = Endless()
    client = create_cdx_app(CdxService(CdxServer([source]))).test_client()
    address = f"/web/cdx/ia?url=*.example&output={output}"
    with client.get(address, headers=headers, buffered=False) as answer:
        pieces = answer.iter_encoded()
        assert sum(len(next(pieces)) for _ in range(5))
        least_bytes_of_a_line = 60
        assert 0 < source.taken * least_bytes_of_a_line < most_bytes


@pytest.mark.parametrize(
    ("address", "at_once"),
    [
        (f"/cdx/ia?{HOME}&limit=-1&fl=timestamp", True),
        (f"/default/cdx?{HOME}&filter=status:200", True),
        ("/cdx/ia?url=*.example.org", False),
        ("/cdx/ia?url=%2a.example.org", False),
        ("/cdx/ia?url=http://www.example.org/*", False),
        ("/cdx/ia?url=http://www.example.org/%2A%20", False),
        (f"/cdx/ia?{HOME}&matchType=prefix", False),
        (f"/cdx/ia?{HOME}&collapse=urlkey", False),
        (f"/cdx/ia?{HOME}&showNumPages=true", False),
        (f"/cdx/ia?{HOME}&limit=x", False),
    ],
)
def test_only_questions_for_one_url_are_answered_at_once(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, address: str, at_once: bool
) -> None:
    for is_local in (True, False):
        app = create_app(engine)
        usual = app.test_client().get(address)
        monkeypatch.setattr(app.extensions[CDX_EXTENSION].server.source, "is_local", is_local)
        path, _, query = address.partition("?")
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query}
        environ["HTTP_HOST"] = "localhost"
        told: list[str] = []
        found = at_once_of(app)(environ, lambda status, _, told=told: told.append(status))
        assert (found is not None) is (at_once and is_local)
        if found is not None:
            assert (told, b"".join(found)) == ([usual.status], usual.data)
