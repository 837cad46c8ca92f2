"""The crawler's queue over HTTP: authorization, refused requests, and atomicity."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.crawl_queue import LeaseLimits, QueueCounts
from nwx.settings import Settings
from nwx.steering.queue.protocol import MOST_REQUEST_BYTES
from nwx.steering.specifications.specification_store import SpecificationLimits
from webapp import create_app
from webapp.crawls.queue import QueueService
from webapp.server.service import prepare_queue_file
from webapp.server.small_servers import create_queue_app

TOKEN = "let me in"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
A = {"url": "http://a.example/", "priority": 0.5}
B = {"url": "http://b.example/", "priority": 0.7, "crawl": "one"}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        yield engine


@pytest.fixture(params=["alone", "pages"])
def client(engine: Engine, request: pytest.FixtureRequest) -> FlaskClient:
    if request.param == "alone":
        return create_queue_app(QueueService(engine, TOKEN)).test_client()
    return create_app(engine, queue_token=TOKEN).test_client()


def post(client: FlaskClient, items: Any, path: str = "/urls") -> tuple[int, Any]:
    answer = client.post(path, data=json.dumps(items), headers=AUTHORIZED)
    return answer.status_code, answer.get_json()


def following(client: FlaskClient, query: str = "") -> list[Any]:
    answer = client.get(f"/urls/next?{query}", headers=AUTHORIZED)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    found: list[Any] = answer.get_json()["urls"]
    return found


def test_updates_come_in_and_leases_go_out(client: FlaskClient) -> None:
    added = {"new": 2, "changed": 0, "unchanged": 0, "blacklisted": 0}
    assert post(client, [A, B]) == (200, added)
    (first,) = following(client)
    assert (first["url"], first["priority"], first["crawl"]) == (B["url"], 0.7, "one")
    assert following(client, "crawl=one") == []
    assert [one["url"] for one in following(client, "n=5&host=A.example:80&seconds=60")] == [
        A["url"]
    ]
    assert post(client, [first["lease"]], "/urls/finish") == (200, {"finished": 1})
    assert post(client, [first["lease"]], "/urls/release") == (200, {"released": 0})
    assert client.get("/urls/counts?crawl=one").get_json() == {
        "waiting": 0,
        "leased": 0,
        "done": 1,
        "blacklisted": 0,
    }


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}!", "Bearer é"]
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/urls"),
        ("GET", "/urls/next"),
        ("POST", "/urls/finish"),
        ("POST", "/urls/release"),
    ],
)
def test_nobody_uses_it_without_the_token(
    client: FlaskClient, engine: Engine, method: str, path: str, header: str
) -> None:
    answer = client.open(path, method=method, data="[]", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "token" not in answer.get_json()["error"]["message"].lower().replace("bearer token", "")
    assert engine.crawl_queue().counts() == QueueCounts()


def test_it_is_off_unless_there_is_a_token(engine: Engine) -> None:
    client = create_app(engine, cdx_token="other").test_client()
    for header in ("Bearer ", "Bearer other", ""):
        answer = client.post("/urls", data="[]", headers={"Authorization": header})
        assert answer.status_code == 403
        assert "NWX_QUEUE_TOKEN" in answer.get_json()["error"]["message"]


def test_one_bad_item_and_nothing_is_taken(client: FlaskClient, engine: Engine) -> None:
    status, answer = post(client, [A, B, {"url": "x", "priority": 1}])
    assert (status, answer["error"]["item"], answer["error"]["status"]) == (400, 2, 400)
    assert engine.crawl_queue().counts() == QueueCounts()


@pytest.mark.parametrize("body", [b"", b"{}", b"[1", b"\x00", b"[" * 200_000])
def test_what_is_no_list_is_refused(client: FlaskClient, body: bytes) -> None:
    for path in ("/urls", "/urls/finish"):
        assert client.post(path, data=body, headers=AUTHORIZED).status_code == 400


def test_a_flood_is_refused(client: FlaskClient) -> None:
    body = b" " * (MOST_REQUEST_BYTES + 1)
    answer = client.post("/urls", data=body, headers=AUTHORIZED)
    assert (answer.status_code, answer.get_json()["error"]["status"]) == (413, 413)
    status, answer = post(client, [{"url": "http://a/", "priority": 1}] * 10_001)
    assert (status, "10,001 items" in answer["error"]["message"]) == (400, True)


def test_a_packed_body_is_refused(client: FlaskClient) -> None:
    headers = AUTHORIZED | {"Content-Encoding": "gzip"}
    answer = client.post("/urls", data=gzip.compress(b"[]", mtime=0), headers=headers)
    assert answer.status_code == 415


def test_a_full_queue_takes_no_more(engine: Engine) -> None:
    client = create_queue_app(QueueService(engine, TOKEN, most_urls=2)).test_client()
    assert post(client, [A, B])[0] == 200
    status, answer = post(client, [{"url": "http://c.example/", "priority": 1}])
    assert (status, "full" in answer["error"]["message"]) == (507, True)
    assert engine.crawl_queue().counts() == QueueCounts(waiting=2)


@pytest.mark.parametrize(
    "query",
    [
        *("n=0", "n=-1", "n=1.5", "n=1001", "n=x", "n=nan", "seconds=0", "seconds=inf"),
        *("n=1e3", "n=1_0", "n=٣", "n=%2B1", "n=1&n=2", "seconds=1e3", "seconds=٣٠", "seconds=1_0"),
        *("host=a.example&host=b.example", "crawl=one&crawl=two"),
        *("crawl=a/b", f"host={'x' * 9_000}", "size=5", "sender=x"),
    ],
)
def test_odd_parameters(client: FlaskClient, query: str) -> None:
    answer = client.get(f"/urls/next?{query}", headers=AUTHORIZED)
    assert (answer.status_code, answer.mimetype) == (400, "application/json")


def test_odd_parameters_of_other_requests(client: FlaskClient) -> None:
    assert client.get("/urls/counts?crawl=one&crawl=two").status_code == 400
    assert client.post("/urls?sender=a&sender=b", data=b"[]", headers=AUTHORIZED).status_code == 400
    for path in ("/urls/finish", "/urls/release"):
        answer = client.post(f"{path}?crawl=one", data=b"[]", headers=AUTHORIZED)
        assert (answer.status_code, answer.mimetype) == (400, "application/json")


def test_to_look_is_not_to_lease(client: FlaskClient) -> None:
    post(client, [A])
    assert client.head("/urls/next", headers=AUTHORIZED).status_code == 405
    assert len(following(client)) == 1


def test_other_addresses_and_methods(client: FlaskClient) -> None:
    for method, path, status in (("GET", "/urls", 405), ("PUT", "/urls", 405)):
        answer = client.open(path, method=method, headers=AUTHORIZED)
        assert (answer.status_code, answer.mimetype) == (status, "application/json")
    assert client.get("/urls/nothing").status_code == 404


def test_a_sender_may_send_twice(client: FlaskClient) -> None:
    numbered = [A | {"order": 7}]
    assert post(client, numbered, "/urls?sender=s")[1]["new"] == 1
    assert post(client, [A | {"priority": 0.9}])[1]["changed"] == 1
    assert post(client, numbered, "/urls?sender=s")[1]["unchanged"] == 1
    assert following(client)[0]["priority"] == 0.9
    assert post(client, [A], "/urls?sender=s")[0] == 400
    assert post(client, numbered, "/urls?sender=a+b")[0] == 400


def test_the_limits_of_a_specification(engine: Engine) -> None:
    text = 'name = "one"\n[limits]\npages = 3\npages_per_host = 2\n'
    engine.crawl_index().save_specification("one", "v", text)
    limits = SpecificationLimits(engine, LeaseLimits())
    client = create_queue_app(QueueService(engine, TOKEN, limits)).test_client()
    pages = [
        {"url": f"http://{host}.example/{n}", "priority": 0.5, "crawl": crawl}
        for crawl in ("one", "two")
        for host in "ab"
        for n in range(4)
    ]
    post(client, pages)
    assert [one["host"] for one in following(client, "n=20&crawl=one")] == ["a.example"] * 2 + [
        "b.example"
    ]
    assert len(following(client, "n=20")) == 8


def test_an_import_is_not_in_the_way_of_the_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.engine.embedded.engine._APPEND_WAIT_SECONDS", 0.0)
    settings = Settings(engine=str(tmp_path / "archive"))
    prepare_queue_file(settings)
    with EmbeddedEngine(tmp_path / "archive") as importing:
        importing.create()
        prepare_queue_file(settings)
        with EmbeddedEngine(tmp_path / "archive") as engine:
            client = create_queue_app(QueueService(engine, TOKEN)).test_client()
            assert post(client, [A])[1]["new"] == 1
            assert len(following(client)) == 1


def test_health(client: FlaskClient) -> None:
    assert client.get("/health").status_code == 200
