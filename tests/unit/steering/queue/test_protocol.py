"""Requests to a queue: parsed as they are sent, or refused with the invalid item."""

import json
from typing import Any

import pytest

from nwx.engine.indices.crawl_queue import QueuedUrl, UrlState, UrlUpdate
from nwx.errors import ProtocolError
from nwx.steering.queue import protocol

UPDATES = [
    UrlUpdate("http://a.example/", 0.5, "http://b.example/", "one"),
    UrlUpdate("https://ä.example/ü?q=ß", None),
    UrlUpdate("http://a.example/", None, lifted=True),
    UrlUpdate("http://a.example/", 1.0, lifted=True, again=True),
]


def test_updates_are_read_as_they_are_written() -> None:
    body = protocol.write_updates(UPDATES)
    assert protocol.read_updates(body) == protocol.PostedUpdates(UPDATES, [])
    numbered = protocol.write_updates(UPDATES, [3, 4, 5, 1 << 62])
    read = protocol.read_updates(numbered, "sender-1")
    assert read == protocol.PostedUpdates(UPDATES, [3, 4, 5, 1 << 62])


def test_a_fragment_is_dropped() -> None:
    body = b'[{"url": "http://a.example/x#top", "priority": 0}]'
    assert protocol.read_updates(body).updates == [UrlUpdate("http://a.example/x", 0)]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"url": "http://a.example/"}, "priority is missing"),
        ({"url": "http://a.example/", "priority": 1.5}, "priority 1.5 is not from 0 to 1"),
        ({"url": "http://a.example/", "priority": -1}, "priority -1 is not from 0 to 1"),
        ({"url": "http://a.example/", "priority": "high"}, "high"),
        ({"url": "http://a.example/", "priority": True}, "bool"),
        ({"url": "a.example", "priority": 1}, "not an http, https or ftp address"),
        ({"url": "file:///etc/passwd", "priority": 1}, "not an http, https or ftp address"),
        ({"url": "http:///x", "priority": 1}, "not an http, https or ftp address"),
        *(
            ({"url": f"http://{place}", "priority": 1}, "not an http, https or ftp address")
            for place in ("a:99999/", "a:0/", "a:٣/", "a:b/", "[::1", "[::1]x/", "[zz]/", "a..b/")
        ),
        ({"url": "http://a/", "priority": 1, "order": 1 << 63}, "order is out of range"),
        ({"url": "http://a/", "priority": 1, "order": 1 << 400}, "order is out of range"),
        ({"url": "http://a/", "priority": 1, "order": -1}, "order is out of range"),
        ({"url": "http://a.example/ x", "priority": 1}, "not an http, https or ftp address"),
        ({"url": "http://a.example/\r\nx", "priority": 1}, "not an http, https or ftp address"),
        ({"url": "http://a.example/" + "x" * 8_000, "priority": 1}, "at most 8,000 characters"),
        (
            {"url": "http://a.example/", "priority": 1, "via": "x" * 8_001},
            "at most 8,000 characters",
        ),
        ({"url": "http://a.example/", "priority": 1, "crawl": "a/b"}, "not the name of a crawl"),
        (
            {"url": "http://a.example/", "priority": "blacklisted", "lifted": True},
            "in the same update",
        ),
        ({"url": "http://a.example/", "priority": 1, "prio": 2}, "unknown field `prio`"),
        ({"priority": 1}, "required field `url`"),
        (7, "Expected `object`"),
    ],
)
def test_a_bad_item_is_named(item: Any, message: str) -> None:
    body = json.dumps([{"url": "http://a.example/", "priority": 1}, item]).encode()
    with pytest.raises(ProtocolError, match=message) as caught:
        protocol.read_updates(body)
    assert caught.value.item == 1


def test_a_url_as_queues_have_it() -> None:
    long = "http://a.example/" + "x" * 8_000
    found = [protocol.queue_url(url) for url in ("http://a.example/#x", long, "dns:a.example")]
    assert found == ["http://a.example/", "", ""]
    for url in (
        "HTTP://u:p@a.example:8080/?x",
        "http://[::1]:80",
        "http://ä.example:/",
        "ftp://a?b",
    ):
        assert protocol.queue_url(url) == url


@pytest.mark.parametrize("body", [b"", b"{", b'{"url": 1}', b"\xff", b"null", b"[" * 100_000])
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        protocol.read_updates(body)


def test_too_many_items_are_refused() -> None:
    body = b"[" + b",".join([b'{"url":"http://a/","priority":1}'] * 10_001) + b"]"
    with pytest.raises(ProtocolError, match="10,001 items"):
        protocol.read_updates(body)


def test_a_sender_numbers_all_its_updates() -> None:
    body = protocol.write_updates(UPDATES, [1, 2])
    with pytest.raises(ProtocolError, match="order is missing") as caught:
        protocol.read_updates(body, "me")
    assert caught.value.item == 2
    with pytest.raises(ProtocolError, match="sender"):
        protocol.read_updates(body, "me and you")


def test_leases() -> None:
    lease = "0" * 32 + "-aB_-9"
    assert protocol.read_leases(json.dumps([lease]).encode()) == [lease]
    with pytest.raises(ProtocolError, match="not a lease") as caught:
        protocol.read_leases(json.dumps([lease, "x"]).encode())
    assert caught.value.item == 1


def test_a_url_of_the_queue_as_json() -> None:
    waiting = QueuedUrl("http://a/", "a", 0.5)
    assert protocol.queued_to_json(waiting) == {
        "url": "http://a/",
        "host": "a",
        "priority": 0.5,
        "via": "",
        "crawl": "",
        "state": "waiting",
    }
    leased = QueuedUrl("http://a/", "a", None, "", "", "L", 7.5, UrlState.LEASED)
    found = protocol.queued_to_json(leased)
    assert (found["priority"], found["lease"], found["leased_until"]) == ("blacklisted", "L", 7.5)
