"""Updates are delivered in the background, and counted until then."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.errors import EngineUnavailableError
from nwx.steering.queue import queue_work
from nwx.steering.queue.queue_work import QueueDelivery

UPDATES = [UrlUpdate(f"http://a.example/{n}", 0.5, crawl="stones") for n in range(3)]


@contextmanager
def crawler(*statuses: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a queue that responds with `statuses`, and the URLs sent to it.

    The last status is repeated.
    """
    taken: list[str] = []
    left = list(statuses)

    class Queue(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = left.pop(0) if len(left) > 1 else left[0]
            if status != 503:
                taken.extend(each["url"] for each in json.loads(body))
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Queue) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/urls", taken
        finally:
            server.shutdown()
            thread.join()


def test_what_waits_is_delivered(engine: Engine) -> None:
    with crawler(200) as (queue, taken):
        engine.outbox().add(UPDATES, queue)
        with QueueDelivery(engine, queue, "token") as delivery:
            assert delivery.undelivered() in (3, 0)
            delivery.finish(lambda: False)
        assert (delivery.undelivered(), delivery.problem) == (0, "")
    assert taken == [update.url for update in UPDATES]


def test_a_problem_is_over_once_updates_are_accepted(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_work, "_FIRST_PAUSE_SECONDS", 0.3)
    with crawler(503, 200) as (queue, taken):
        engine.outbox().add(UPDATES, queue)
        with QueueDelivery(engine, queue, "") as delivery:
            while not delivery.problem:
                time.sleep(0.01)
            delivery.finish(lambda: False)
        assert (delivery.undelivered(), delivery.problem) == (0, "")
    assert taken == [update.url for update in UPDATES]


def test_what_a_queue_does_not_take_stays(engine: Engine) -> None:
    with crawler(403) as (queue, _):
        engine.outbox().add(UPDATES, queue)
        with QueueDelivery(engine, queue, "") as delivery:
            delivery.finish(lambda: False)
        assert delivery.undelivered() == 3
        assert "403" in delivery.problem


def test_the_archives_own_queue_needs_no_delivery(engine: Engine) -> None:
    with QueueDelivery(engine, "", "") as delivery:
        delivery.finish(lambda: False)
    assert (delivery.undelivered(), delivery.problem) == (0, "")


def test_an_engine_that_is_away_for_a_moment_ends_no_analysis(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Away:
        def queues(self) -> dict[str, int]:
            raise EngineUnavailableError("it does not answer")

    delivery = QueueDelivery(engine, "http://127.0.0.1:1/urls", "")
    monkeypatch.setattr(engine, "outbox", Away)
    assert delivery.undelivered() == 0
