"""Kibana's saved objects: complete, consistent, with existing fields; and their upload."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from nwx.errors import UsageError
from nwx.exports.kibana import KibanaError, as_lines, push, saved_objects
from nwx.mappings import properties
from nwx.model import IndexName
from nwx.settings import ServerSettings
from tests.kibana import PANELS, source_of

OBJECTS = saved_objects("nwx")


def _of(type: str) -> list[dict[str, Any]]:
    return [each for each in OBJECTS if each["type"] == type]


def test_there_is_a_dashboard_of_all_charts() -> None:
    (dashboard,) = _of("dashboard")
    charts = {each["id"] for each in (*_of("visualization"), *_of("lens"))}
    assert {reference["id"] for reference in dashboard["references"]} == charts
    panels = json.loads(dashboard["attributes"]["panelsJSON"])
    names = {reference["name"] for reference in dashboard["references"]}
    assert {f"{panel['panelIndex']}:{panel['panelRefName']}" for panel in panels} == names
    places = {(panel["gridData"]["x"], panel["gridData"]["y"]) for panel in panels}
    assert len(places) == len(panels)


def test_whatever_is_referred_to_is_there_and_comes_first() -> None:
    known: set[tuple[str, str]] = set()
    for each in OBJECTS:
        for reference in each["references"]:
            assert (reference["type"], reference["id"]) in known
        known.add((each["type"], each["id"]))
    assert len(known) == len(OBJECTS)


def test_data_views_are_of_indices_and_their_date_fields() -> None:
    views = {each["attributes"]["title"]: each["attributes"] for each in _of("index-pattern")}
    assert set(views) == {
        f"nwx-{name}" for name in ("captures", "documents", "dates", "facets", "inlinks", "quality")
    }
    for title, view in views.items():
        fields = properties(IndexName(title.removeprefix("nwx-")))
        if "timeFieldName" in view:
            assert fields[view["timeFieldName"]]["type"] == "date"
        assert set(json.loads(view["fieldFormatMap"])) <= set(fields)


def _named_fields(value: Any) -> Iterator[str]:
    """Yield the field names in a query: the keys of its `term` clauses and of its sort."""
    if isinstance(value, list):
        for each in value:
            yield from _named_fields(each)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name in ("term", "terms"):
                yield from inner
            elif name == "sort":
                yield from (key for each in inner for key in each)
            else:
                yield from _named_fields(inner)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_every_field_of_a_chart_exists(panel: Any) -> None:
    fields = set(properties(IndexName.FACETS))
    spec = panel.spec()
    named = set(_named_fields(source_of(spec)["url"]["body"]))
    assert "grouping" in named
    assert len(named) >= 2
    assert named <= fields
    texts = [text for text in _texts(spec) if "datum._source." in text]
    read = {name for text in texts for name in _sources(text)}
    assert read
    assert read <= fields


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _sources(text: str) -> list[str]:
    return [
        part.split()[0].rstrip(":?)") for part in text.split("datum._source.")[1:] if part.split()
    ]


def test_live_charts_name_fields_that_exist() -> None:
    for lens in _of("lens"):
        (reference,) = lens["references"]
        fields = properties(IndexName(reference["id"].removeprefix("nwx-")))
        (layer,) = lens["attributes"]["state"]["datasourceStates"]["formBased"]["layers"].values()
        assert reference["name"].endswith("nwx-layer")
        assert set(layer["columnOrder"]) == set(layer["columns"])
        for column in layer["columns"].values():
            assert column["sourceField"] in {*fields, "___records___"}


def test_another_prefix_shares_nothing() -> None:
    others = saved_objects("news")
    assert not {each["id"] for each in OBJECTS} & {each["id"] for each in others}
    assert "nwx-" not in as_lines(others).replace("nwx-layer", "").replace("nwx-build", "")


@dataclass
class Kibana:
    """A server with the checks of Kibana's import that records its input."""

    answer: tuple[int, bytes] = (200, b"")
    secrets: tuple[str, ...] = ()
    objects: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    address: str = ""

    def take(self, path: str, headers: Message, body: bytes) -> tuple[int, dict[str, Any]]:
        """Return Kibana's response to an import."""
        self.paths.append(path)
        if "kbn-xsrf" not in headers:
            return 400, {"statusCode": 400, "message": "Request must contain a kbn-xsrf header."}
        if self.secrets and headers.get("Authorization") not in self.secrets:
            return 401, {"statusCode": 401, "message": "Unauthorized"}
        if not urlsplit(path).path.endswith("/api/saved_objects/_import"):
            return 404, {"statusCode": 404, "message": "Not Found"}
        head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
        (part,) = BytesParser().parsebytes(head + body).get_payload()
        name = part.get_param("filename", header="content-disposition")
        if part.get_param("name", header="content-disposition") != "file" or not name:
            return 400, {"statusCode": 400, "message": "[request body.file]: expected a file"}
        if not str(name).endswith(".ndjson"):
            return 400, {"statusCode": 400, "message": "Invalid file extension"}
        self.objects = [json.loads(line) for line in part.get_payload(decode=True).splitlines()]
        return 200, {"success": True, "successCount": len(self.objects)}


@pytest.fixture
def kibana() -> Iterator[Kibana]:
    """A running server that accepts imports like Kibana."""
    made = Kibana()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, told = made.take(self.path, self.headers, body)
            text = json.dumps(told).encode()
            if made.answer[1]:
                status, text = made.answer
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield made
        server.shutdown()
        thread.join()


def test_saved_objects_are_pushed(kibana: Kibana) -> None:
    assert push(f"{kibana.address}/", ServerSettings(), OBJECTS).objects == len(OBJECTS)
    assert kibana.objects == OBJECTS
    assert kibana.paths == ["/api/saved_objects/_import?overwrite=true"]


def test_a_space_and_a_prefix_of_ones_own(kibana: Kibana) -> None:
    settings = ServerSettings(prefix="news")
    push(kibana.address, settings, saved_objects("news"), space="web archive", overwrite=False)
    assert kibana.objects == saved_objects("news")
    (path,) = kibana.paths
    assert path.startswith("/s/web%20archive/api/saved_objects/_import")
    assert parse_qs(urlsplit(path).query) == {"overwrite": ["false"]}


@pytest.mark.parametrize(
    ("settings", "secret"),
    [
        (ServerSettings(api_key="a2V5"), "ApiKey a2V5"),
        (ServerSettings(username="ann", password="pass"), "Basic YW5uOnBhc3M="),
    ],
)
def test_credentials_are_handed_over(kibana: Kibana, settings: ServerSettings, secret: str) -> None:
    kibana.secrets = (secret,)
    assert push(kibana.address, settings, OBJECTS).objects
    with pytest.raises(KibanaError, match="rejects this user"):
        push(kibana.address, ServerSettings(), OBJECTS)


def test_what_kibana_refuses_is_told(kibana: Kibana) -> None:
    refused = {
        "success": False,
        "successCount": 0,
        "errors": [{"type": "lens", "id": "nwx-x", "error": {"type": "conflict"}}],
    }
    kibana.answer = (200, json.dumps(refused).encode())
    with pytest.raises(KibanaError, match="lens nwx-x: conflict"):
        push(kibana.address, ServerSettings(), OBJECTS)
    kibana.answer = (502, b"<html>bad gateway</html>")
    with pytest.raises(KibanaError, match="not an answer of kibana"):
        push(kibana.address, ServerSettings(), OBJECTS)


def test_a_kibana_that_is_away_is_told() -> None:
    with pytest.raises(KibanaError, match="no kibana answers at"):
        push("http://127.0.0.1:9", ServerSettings(), OBJECTS)
    with pytest.raises(UsageError, match="not the address"):
        push("kibana:5601", ServerSettings(), OBJECTS)
