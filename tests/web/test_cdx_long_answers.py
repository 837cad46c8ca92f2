"""Queries that read many captures and find few block no other client."""

import http.client
import threading
from collections.abc import Iterator, Sequence
from itertools import count

import pytest
from flask import Flask
from flask.testing import FlaskClient

from nwx.cdx.rows import CdxRow
from nwx.cdxserver.server import CdxServer
from nwx.engine.capture_index import CdxSpan
from webapp.cdx import streams
from webapp.cdx.service import CdxService
from webapp.server.connections import listen, port_of
from webapp.server.small_servers import create_cdx_app
from webapp.server.worker import make_server

FRUITLESS = "/cdx/ia?url=*.example&collapse=urlkey:1&filter=~urlkey:.*q"


class EndlessSource:
    """Endless captures; sets `read` after reading many of them, and `ended` when reading stops."""

    name = "endless"
    is_local = True

    def __init__(self) -> None:
        self.read, self.ended = threading.Event(), threading.Event()

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        del span
        try:
            for number in count():
                if number == 100_000:
                    self.read.set()
                key = f"example,{number:09})/"
                place = ("-", "-", "-", "-", str(number), "f")
                yield CdxRow(key, "20200101000000", "http://a.example/", "-", "200", *place)
        finally:
            self.ended.set()

    def blocks(self, span: CdxSpan, form: object) -> None:
        """Return None, as there are only rows."""

    def marks(self, span: CdxSpan) -> Iterator[str]:
        return iter(row.urlkey for row in self.rows(span))

    def collections(self) -> Sequence[str]:
        return ("web",)

    def close(self) -> None:
        pass


@pytest.fixture
def source() -> EndlessSource:
    return EndlessSource()


@pytest.fixture
def app(source: EndlessSource) -> Flask:
    places = threading.BoundedSemaphore(1)
    return create_cdx_app(CdxService(CdxServer([source]), streams=places))


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.mark.parametrize(
    "address", [FRUITLESS, "/cdx/ia?url=*.example&showNumPages=true", "/cdx?url=*.example&page=1"]
)
def test_reading_that_finds_nothing_is_ended(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(streams, "SILENT_SECONDS", 0.05)
    for _ in range(2):  # the slot of the first is free again
        answer = client.get(address)
        assert answer.status_code == 503
        assert "nothing was found" in answer.text


def test_what_is_found_is_sent_and_reading_goes_on(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.cdxserver.output._HELD_SECONDS", 0.0)
    monkeypatch.setattr(streams, "HELD_SECONDS", 0.0)
    address = "/cdx/ia?url=*.example&filter=~urlkey:0000&fl=urlkey"
    for headers in ({}, {"Accept-Encoding": "gzip"}):
        answer = client.get(address, buffered=False, headers=headers)
        pieces = iter(answer.response)
        assert all(next(pieces) for _ in range(100))
        answer.close()


def test_a_question_whose_client_leaves_is_ended_and_others_are_answered(
    app: Flask, source: EndlessSource
) -> None:
    listening = listen("127.0.0.1", 0)
    server = make_server(app, listening, 2)
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    _check(port_of(listening), source)
    server.close()
    running.join(60)


def _check(port: int, source: EndlessSource) -> None:
    leaver = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    leaver.request("GET", FRUITLESS)
    assert source.read.wait(60)
    assert _get(port, FRUITLESS) == 503
    assert _get(port, "/health") == 200
    assert _get(port, "/cdx/ia?url=*.example&limit=1") == 200
    source.ended.clear()
    leaver.close()
    assert source.ended.wait(60)
    other = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    other.request("GET", "/cdx/ia?url=*.example")
    assert other.getresponse().status == 200
    other.close()


def _get(port: int, address: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", address)
    status = connection.getresponse().status
    connection.close()
    return status
