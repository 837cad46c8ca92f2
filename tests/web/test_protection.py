"""Client limits and metrics of a service with two workers and playback, over real sockets."""

import http.client
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families

from nwx import Archive
from nwx.engine.base import Engine
from tests.cli.conftest import COMMAND, environment
from tests.cli.workers import worker_ids
from webapp import create_app
from webapp.server.metrics import show_metrics
from webapp.site.viewer import BehindProxies, ProxyHeaders

LOOK_UP = "/cdx?url=http://www.example.org/"
BURST = 600
WATCH = {"Authorization": "Bearer watch"}


class Served(NamedTuple):
    """A running service."""

    pid: int
    port: int
    replay: int


class Client:
    """A client with a kept-alive connection; a proxy header sets its address."""

    def __init__(self, port: int, address: str, host: str = "127.0.0.1", **headers: str) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=60)
        self._headers = {"X-Forwarded-For": address, **headers}

    def ask(self, path: str) -> tuple[int, http.client.HTTPMessage, str]:
        """Return status, headers and body."""
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def status(self, path: str) -> int:
        """Return the status."""
        return self.ask(path)[0]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@contextmanager
def _serving(folder: Path, *command: str, ports: int = 1) -> Iterator[Served]:
    """Run a service behind a proxy; its buckets refill too slowly to matter."""
    options = ["--workers", "2", "--port", "0", "--rate-limit", "0.001"]
    options += ["--trusted-proxy", "127.0.0.1", "--metrics-token", "watch"]
    with subprocess.Popen(
        [COMMAND, *command, *options],
        # pywb imports cgi.
        env=environment(folder, PYTHONUNBUFFERED="1", PYTHONWARNINGS="default"),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            found = [re.search(r":(\d+)/", process.stdout.readline()) for _ in range(ports)]
            numbers = [int(one[1]) for one in found if one]
            yield Served(process.pid, numbers[0], numbers[-1])
        finally:
            process.terminate()
            assert process.wait(60) == 0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The complete service with an empty archive."""
    folder = tmp_path_factory.mktemp("protected") / "archive"
    with _serving(folder, "serve", "--create", "--cdx-token", "secret", ports=2) as served:
        yield served


def _metrics(served: Served) -> dict[tuple[str, str, str], float]:
    """Return the metric samples by name and by the labels route and status."""
    with closing(Client(served.port, "192.0.2.250", **WATCH)) as client:
        status, headers, text = client.ask("/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=")
    return {
        (sample.name, sample.labels.get("route", ""), sample.labels.get("status", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _workers(served: Served) -> list[int]:
    return list(worker_ids(served.pid))


def test_workers_share_a_bucket_and_count_together_also_those_killed(served: Served) -> None:
    before = _metrics(served)
    with (
        closing(Client(served.port, "192.0.2.1")) as first,
        closing(Client(served.port, "192.0.2.1")) as second,
        closing(Client(served.port, "192.0.2.2")) as other,
    ):
        # New connections go to the worker with the fewest.
        found = [client.status(LOOK_UP) for _ in range(BURST) for client in (first, second)]
        assert found == [200] * BURST + [429] * BURST
        assert other.status(LOOK_UP) == 200
    os.kill(_workers(served)[0], signal.SIGKILL)
    with closing(Client(served.port, "192.0.2.1")) as again:
        assert again.status(LOOK_UP) == 429
    after = _metrics(served)
    counted = {
        status: after["nwx_requests_total", "/cdx", status]
        - before.get(("nwx_requests_total", "/cdx", status), 0)
        for status in ("200", "429")
    }
    assert counted == {"200": BURST + 1, "429": BURST + 1}
    assert after["nwx_request_seconds_count", "/cdx", ""] >= 2 * BURST + 2
    assert after["nwx_up", "", ""] == 1
    assert after["nwx_documents", "", ""] == 0
    assert after["nwx_processes", "", ""] >= 2
    assert after["nwx_open_files", "", ""] > 10


@pytest.mark.parametrize(
    ("path", "cost"), [("/api/search?q=x", 10), ("/cdx?url=*.example.org", 20)]
)
def test_what_costs_more_is_refused_sooner(served: Served, path: str, cost: int) -> None:
    with closing(Client(served.port, f"192.0.2.{100 + cost}")) as client:
        assert [client.status(path) for _ in range(BURST // cost)] == [200] * (BURST // cost)
        assert client.status(path) == 429


def test_refusals_are_readable_and_tell_when_to_come_back(served: Served) -> None:
    words = "Sie oder andere aus Ihrem Netz haben zu viel auf einmal angefragt."
    address, german = "192.0.2.3", {"Accept-Language": "de"}
    with (
        closing(Client(served.port, address, **german)) as client,
        closing(Client(served.replay, address, "localhost", **german)) as player,
    ):
        # Playback's own look-ups for readers are free; the readers' requests are charged.
        assert [client.status(LOOK_UP) for _ in range(BURST - 2)] == [200] * (BURST - 2)
        capture = "/replay/2010mp_/http://www.example.org/"
        assert [player.status(capture) for _ in range(3)] == [404, 404, 429]
        for one, path, media_type in (
            (client, "/search?q=x", "text/html"),
            (player, capture, "text/html"),
            (client, "/api/search?q=x", "application/json"),
            (client, LOOK_UP, "text/plain"),
            (client, "/cdx/ia?url=*.example.org", "text/plain"),
            (client, "/timemap/link/http://www.example.org/", "text/plain"),
        ):
            status, headers, text = one.ask(path)
            assert (status, headers.get_content_type()) == (429, media_type)
            assert int(headers["Retry-After"]) > 100
            assert headers["X-Robots-Tag"] == "noindex, nofollow"
            assert (words in text) is (media_type == "text/html")
            if media_type == "application/json":
                assert json.loads(text)["error"]["status"] == 429
        assert [client.status(path) for path in ("/health", "/robots.txt")] == [200, 200]
        assert "Disallow: /" in player.ask("/robots.txt")[2]


@pytest.mark.parametrize("header", ["Bearer secret", "Basic Zm9sbG93ZXI6c2VjcmV0"])
def test_programs_with_a_token_have_a_bucket_of_their_own(served: Served, header: str) -> None:
    token = {"Authorization": header}
    with (
        closing(Client(served.port, "192.0.2.4")) as client,
        closing(Client(served.port, "192.0.2.4", **token)) as program,
        closing(Client(served.port, "192.0.2.4", **{"X-Nwx-Viewer": "made up"})) as pretender,
    ):
        assert [client.status(LOOK_UP) for _ in range(BURST + 1)][-1] == 429
        assert program.status(LOOK_UP) == 200
        assert pretender.status(LOOK_UP) == 429


@pytest.mark.parametrize(
    ("command", "path"),
    [
        (("cdx-server", "--cdx-token", "secret"), LOOK_UP),
        (("queue", "--queue-token", "secret"), "/urls/counts"),
    ],
)
def test_the_small_servers_have_limits_and_metrics_too(
    tmp_path: Path, command: tuple[str, ...], path: str
) -> None:
    with (
        _serving(tmp_path / "archive", *command) as small,
        closing(Client(small.port, "192.0.2.1")) as client,
        closing(Client(small.port, "192.0.2.2")) as other,
    ):
        assert [client.status(path) for _ in range(BURST)] == [200] * BURST
        status, headers, text = client.ask(path)
        assert status == 429 and int(headers["Retry-After"]) > 100
        assert "too many requests" in text
        assert "Disallow: /" in client.ask("/robots.txt")[2]
        assert (other.status(path), other.status("/metrics")) == (200, 403)
        found = _metrics(small)
        assert found["nwx_requests_total", path.partition("?")[0], "200"] == BURST + 1
        assert found["nwx_captures", "", ""] == 0


def test_metrics_are_not_for_everybody(engine: Engine, served: Served) -> None:
    for headers in ({}, {"Authorization": "Bearer secret"}):
        with closing(Client(served.port, "192.0.2.5", **headers)) as client:
            assert client.status("/metrics") == 403
    for is_public, near, far in ((False, 200, 403), (True, 403, 403)):
        app = _with_metrics(engine, is_public=is_public)
        for address, status in (("127.0.0.1", near), ("::1", near), ("192.0.2.1", far), ("", far)):
            asked = app.test_client().get("/metrics", environ_base={"REMOTE_ADDR": address})
            assert asked.status_code == status


@pytest.mark.parametrize(
    ("name", "headers", "status"),
    [
        ("127.0.0.1:8080", {}, 200),
        ("[::1]:8080", {}, 200),
        ("[::1]", {}, 200),
        ("archive.example", {}, 403),
        ("localhost", {"X-Forwarded-For": "192.0.2.1"}, 403),
        ("localhost", {"X-Forwarded-Proto": "https"}, 403),
    ],
)
def test_a_proxy_on_this_machine_shows_no_metrics(
    engine: Engine, name: str, headers: dict[str, str], status: int
) -> None:
    app = _with_metrics(engine, is_public=False)
    app.wsgi_app = BehindProxies(app.wsgi_app, ProxyHeaders())  # type: ignore[method-assign]
    near = {"REMOTE_ADDR": "127.0.0.1"}
    asked = app.test_client().get("/metrics", headers={"Host": name, **headers}, environ_base=near)
    assert asked.status_code == status


def _with_metrics(engine: Engine, *, is_public: bool) -> Flask:
    app = create_app(engine)
    show_metrics(app, Archive.over(engine), None, is_public=is_public)
    return app
