"""Captures that attack their viewers, in a real browser: none escapes its own page."""

import base64
import hashlib
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from nwx.engine.embedded import EmbeddedEngine
from tests.web.replay.played_records import OPENER, import_file, warc
from webapp import create_app
from webapp.replay.process import ReplayProcess
from webapp.server.connections import address_of, listen
from webapp.server.worker import make_server

pytestmark = pytest.mark.xdist_group("replay")

DATE = "20180101000000"
EVIL, GOOD = "http://evil.example", "http://good.example/"
WORKER = f"/replay/{DATE}id_/{EVIL}/sw.js"

TAKES_OVER = b"""
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => event.respondWith(new Response("taken over")));
"""
REGISTERS = f"""<title>no</title><script>
navigator.serviceWorker.register("{WORKER}", {{scope: "/"}}).then(
  () => document.title = "registered", (error) => document.title = String(error));
</script>""".encode()
READS = b"""<title>no</title><script>
fetch(`http://${location.hostname}:${location.hash.slice(1)}/cdx?url=http://good.example/`)
  .then((answer) => answer.text())
  .then((text) => document.title = text || "nothing", (error) => document.title = String(error));
</script>"""
COOKIES = b"""<title>no</title><script>
for (let i = 0; i < 120; i++) document.cookie = `c${i}=${"x".repeat(3900)}; path=/; max-age=9999`;
document.title = "done";
</script>"""
HEADERS = (
    b"Content-Type: text/html; charset=utf-8",
    b"Cache-Control: public, max-age=9999",
    b'Clear-Site-Data: "*"',
    b"Refresh: 0; url=http://elsewhere.example/",
    b"Set-Cookie: a=1; Path=/",
    b"Service-Worker-Allowed: /",
    b"Access-Control-Allow-Origin: *",
    b'Report-To: {"group": "x", "max_age": 1, "endpoints": [{"url": "http://elsewhere.example/"}]}',
    b'NEL: {"report_to": "x", "max_age": 1}',
    b"Link: <http://elsewhere.example/x.js>; rel=preload; as=script",
    b"Strict-Transport-Security: max-age=9999",
    b"Memento-Datetime: Thu, 01 Jan 1970 00:00:00 GMT",
    b"X-Whatever-Comes-Next: 1",
)
RULES = '{"prefetch": [{"urls": ["http://127.0.0.1:%d/"], "eagerness": "immediate"}]}'
SPECULATES = b"""<h1>ready</h1><script>
const rules = document.createElement("script");
rules.type = "speculationrules";
rules.textContent = RULES.replace("%d", location.hash.slice(1));
document.body.append(rules);
</script>""".replace(b"RULES", json.dumps(RULES).encode())
PAGES = {
    "/speculates": (SPECULATES, HEADERS[0]),
    "/speculation": (
        f"<script Type='SpeculationRules'>{RULES % 9}</script><h1>ready</h1>".encode(),
        HEADERS[0] + b'\r\nSpeculation-Rules: "/rules.json"',
    ),
    "/sw.js": (
        TAKES_OVER,
        b"Content-Type: text/javascript\r\nService-Worker-Allowed: /",
    ),
    "/registers": (REGISTERS, HEADERS[0]),
    "/reads": (READS, HEADERS[0]),
    "/cookies": (COOKIES, HEADERS[0]),
    "/headers": (b"<h1>Headers</h1>", b"\r\n".join(HEADERS)),
}
KEPT = {
    "cache-control",
    "connection",
    "content-language",
    "content-length",
    "content-location",
    "content-security-policy",
    "content-type",
    "date",
    "link",
    "memento-datetime",
    "transfer-encoding",
    "vary",
    "x-robots-tag",
}


def _record(url: str, body: bytes, http: bytes) -> bytes:
    digest = base64.b32encode(hashlib.sha1(url.encode()).digest()).decode()
    fields = {"WARC_Payload_Digest": f"sha1:{digest}"}
    return warc("response", url, "2018-01-01T00:00:00Z", body, http=http, **fields)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service that plays hostile captures, on the server of `nwx serve`."""
    folder = tmp_path_factory.mktemp("hostile")
    records = [_record(EVIL + path, body, http) for path, (body, http) in PAGES.items()]
    records.append(_record(GOOD, b"<h1>Good</h1>", HEADERS[0]))
    (folder / "a.warc.gz").write_bytes(b"".join(records))
    listening = listen("127.0.0.1", 0)
    search = address_of(listening)
    with EmbeddedEngine(folder / "archive") as engine:
        engine.create()
        import_file(engine, folder / "a.warc.gz")
        with listening, ReplayProcess(engine, listen("127.0.0.1", 0), search) as replay:
            app = create_app(engine, replay_port=replay.port, places=replay.paths)
            server = make_server(app, listening, 4)
            thread = threading.Thread(target=server.run, daemon=True)
            thread.start()
            yield search
            server.close()
            thread.join(10)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a new browser context."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def _playing(page: Page, service: str, mode: str, path: str) -> str:
    """Play a capture; return the origin at which it is played."""
    page.goto(f"{service}/replay/{DATE}{mode}/{EVIL}{path}")
    parts = urlsplit(page.url)
    return f"{parts.scheme}://{parts.netloc}"


@pytest.mark.parametrize("mode", ["id_", "mp_", "if_", "bn_", ""])
def test_no_capture_gets_between_others_and_their_reader(
    page: Page, service: str, mode: str
) -> None:
    playing = _playing(page, service, mode, "/registers")
    page.wait_for_timeout(500)
    page.goto(f"{playing}/replay/{DATE}/{GOOD}")
    heading = page.frame_locator("#replay_iframe").locator("h1")
    assert heading.inner_text() == "Good"
    page.goto(f"{playing}/static/wb_frame.js")
    assert "taken over" not in page.content()
    assert page.evaluate("navigator.serviceWorker.getRegistrations().then(all => all.length)") == 0


@pytest.mark.parametrize("mode", ["id_", "mp_", "sw_", "js_", "wkr_"])
def test_no_archived_script_becomes_a_service_worker(page: Page, service: str, mode: str) -> None:
    playing = _playing(page, service, "mp_", "/sw.js")
    script = f"{playing}/replay/{DATE}{mode}/{EVIL}/sw.js"
    said = page.evaluate(
        """script => navigator.serviceWorker.register(script)
             .then(() => "registered", error => String(error))""",
        script,
    )
    assert said.startswith("TypeError: Failed to register a ServiceWorker")
    with OPENER.open(script, timeout=60) as answer:
        assert "Service-Worker-Allowed" not in answer.headers


@pytest.mark.parametrize("mode", ["id_", "mp_"])
def test_no_capture_reads_what_the_search_service_answers(
    page: Page, service: str, mode: str
) -> None:
    playing = _playing(page, service, mode, f"/reads#{urlsplit(service).port}")
    page.wait_for_timeout(500)
    assert "example,good)" not in page.title()
    page.goto(f"{playing}/static/wb_frame.js")
    for address in ("/cdx?url=http://good.example/", "/timemap/cdxj/http://good.example/"):
        said = page.evaluate(
            "address => fetch(address).then(answer => answer.text(), error => String(error))",
            service + address,
        )
        assert said == "TypeError: Failed to fetch"


def test_cookies_of_captures_never_reach_the_search_service(page: Page, service: str) -> None:
    playing = _playing(page, service, "mp_", "/cookies")
    page.wait_for_function("document.title === 'done'")
    # The number of cookies that a browser keeps does not matter.
    assert page.context.cookies(f"{playing}/replay/{DATE}mp_/{EVIL}/")
    answer = page.goto(f"{service}/search?q=")
    assert answer
    assert answer.status == 200
    assert page.context.cookies(service) == []


def test_a_million_bytes_of_cookies_keep_nobody_out(service: str) -> None:
    """Browsers send up to 180 cookies of 4,096 bytes."""
    cookies = "; ".join(f"c{number}={'x' * 4_090}" for number in range(180))
    request = urllib.request.Request(f"{service}/search?q=", headers={"Cookie": cookies})
    with OPENER.open(request, timeout=60) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("mode", ["id_", "mp_", "if_", "bn_", "js_", "oe_"])
def test_archived_headers_do_nothing(service: str, mode: str) -> None:
    with OPENER.open(f"{service}/replay/{DATE}{mode}/{EVIL}/headers", timeout=60) as answer:
        found = {name.lower(): value for name, value in answer.headers.items()}
    archived = {name for name in found if name.startswith("x-archive-orig-")}
    assert set(found) - archived <= KEPT
    assert "elsewhere" not in found["link"]
    assert found["cache-control"] == "private, no-cache"
    assert found["x-robots-tag"] == "noindex, nofollow"
    assert found["memento-datetime"] == "Mon, 01 Jan 2018 00:00:00 GMT"
    names = {line.partition(b":")[0].decode().lower() for line in HEADERS[1:]}
    assert {f"x-archive-orig-{name}" for name in names} <= archived


class _Outsider(ThreadingHTTPServer):
    """Another port of this machine, and the requests to it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_error(404)

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture
def outsider() -> Iterator[_Outsider]:
    """A server that no capture may reach."""
    with _Outsider() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


ESCAPES = """async outside => {
  const ran = document.createElement("script");
  ran.textContent = "window.escaped = true";
  const rules = document.createElement("script");
  rules.type = "speculationrules";
  rules.textContent = JSON.stringify({prefetch: [{urls: [outside], eagerness: "immediate"}]});
  const image = document.createElement("img");
  image.src = outside + "image";
  const frame = document.createElement("iframe");
  frame.src = outside + "frame";
  document.documentElement.append(ran, rules, image, frame);
  const fetched = await fetch(outside + "fetch", {mode: "no-cors"}).then(() => true, () => false);
  await new Promise(done => setTimeout(done, 100));
  return [fetched, Boolean(window.escaped)];
}"""


@pytest.mark.parametrize(
    ("address", "status"),
    [
        (f"/replay/{DATE}/{GOOD}", 200),
        (f"/replay/{GOOD}", 200),
        ("/", 200),
        ("/replay/", 200),
        ("/static/wb_frame.js", 200),
        ("/static/pywb-logo.png", 200),
        ("/static/nothing.js", 404),
        ("/static/..%2f..%2fsetup.py", 404),
        ("/collinfo.json", 200),
        ("/nowhere", 404),
        ("/nowhere/2018/http://good.example/", 404),
        (f"/replay/cdx?url={GOOD}", 404),
        (f"/replay/{DATE}mp_/http://none.example/", 404),
        (f"/replay/{DATE}mp_/http://[/", 500),
        ("/nwx-viewer?pass=x&to=/replay/", 400),
    ],
)
def test_nothing_at_the_origin_of_captures_lets_scripts_out(
    page: Page, service: str, outsider: _Outsider, address: str, status: int
) -> None:
    """Captures share this origin, so they can embed any part of it in frames and write to these."""
    playing = _playing(page, service, "id_", "/registers")
    answer = page.goto(playing + address)
    assert answer
    assert answer.status == status
    assert page.evaluate(ESCAPES, f"http://127.0.0.1:{outsider.server_port}/") == [False, False]
    assert outsider.asked == []


def test_answers_that_are_no_captures_have_a_policy(page: Page, service: str) -> None:
    parts = urlsplit(_playing(page, service, "id_", "/registers"))
    host = f"Host: {parts.netloc}\r\nConnection: close\r\n"
    for line, headers, status in (
        (f"GET /{'x' * 9_000} HTTP/1.1", host, 414),
        ("GET / HTTP/3", host, 400),
        ("GET / HTTP/1.1", "Host: no host\r\nConnection: close\r\n", 400),
        ("GET /sw.js HTTP/1.1", f"{host}Service-Worker: script\r\n", 403),
        ("GET /replay HTTP/1.1", host, 307),
        (f"GET /replay/*/{GOOD} HTTP/1.1", host, 200),
        (f"GET /replay/timemap/link/{GOOD} HTTP/1.1", host, 200),
        ("OPTIONS /static/wb_frame.js HTTP/1.1", host, 200),
    ):
        with socket.create_connection((parts.hostname, parts.port), 30) as connection:
            connection.sendall(f"{line}\r\n{headers}\r\n".encode())
            head = connection.makefile("rb").read().partition(b"\r\n\r\n")[0]
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert b"\r\nContent-Security-Policy: default-src 'none'" in head


@pytest.mark.parametrize("mode", ["mp_", "if_", ""])
def test_captures_have_no_speculation_rules(
    page: Page, service: str, outsider: _Outsider, mode: str
) -> None:
    _playing(page, service, mode, f"/speculates#{outsider.server_port}")
    page.wait_for_timeout(500)
    assert outsider.asked == []
    with OPENER.open(f"{service}/replay/{DATE}mp_/{EVIL}/speculation", timeout=60) as answer:
        assert answer.headers["Speculation-Rules"] is None
        assert b'type="archived-' in answer.read().lower()


@pytest.mark.parametrize("mode", ["id_", "mp_", "if_", "fr_", "bn_", "js_", "oe_", "zz_"])
def test_every_capture_has_a_policy(service: str, mode: str) -> None:
    with OPENER.open(f"{service}/replay/{DATE}{mode}/{EVIL}/registers", timeout=60) as answer:
        policies = answer.headers.get_all("Content-Security-Policy")
    assert len(policies) == 1
    assert ("sandbox" in policies[0]) == (mode in ("id_", "bn_"))
    assert "ws:" not in policies[0]


def test_a_page_as_it_was_runs_nothing(page: Page, service: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    _playing(page, service, "id_", "/registers")
    assert page.title() == "no"
    assert page.evaluate("self.origin") == "null"
    assert not any("sw.js" in url for url in asked)


def test_playback_itself_does_not_list_captures(service: str) -> None:
    with OPENER.open(f"{service}/replay/{DATE}id_/{GOOD}", timeout=60) as answer:
        playing = answer.url.partition("/replay/")[0]
    with pytest.raises(urllib.error.HTTPError) as caught:
        OPENER.open(f"{playing}/replay/cdx?url={GOOD}", timeout=60)
    with caught.value as error:
        assert error.code == 404


def test_captures_and_pages_never_share_a_host_name(page: Page, service: str) -> None:
    port = urlsplit(service).port
    for host in ("127.0.0.1", "localhost"):
        page.goto(f"http://{host}:{port}/replay/{DATE}/{GOOD}")
        played = urlsplit(page.url)
        assert played.hostname == "localhost"
        assert page.locator(".nwx-name").get_attribute("href") == f"{service}/"
        page.locator("#nwx-time", has_text="2018-01-01").wait_for()
        page.click("#nwx-document")
        assert page.url.startswith(f"{service}/documents/")
    page.goto(f"http://127.0.0.1:{played.port}/replay/{DATE}mp_/{EVIL}/cookies#2")
    assert urlsplit(page.url).hostname == "localhost"
    page.goto(f"http://localhost:{port}/settings")
    assert page.url == f"{service}/settings"
    assert page.context.cookies(service) == []


def test_playback_elsewhere_leads_to_its_own_address(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        own = "http://play.example:81"
        with ReplayProcess(engine, listen("127.0.0.1", 0), "http://127.0.0.1:9", own=own) as replay:
            connection = HTTPConnection("127.0.0.1", replay.port, timeout=60)
            for host, status in (("archive.example", 307), ("PLAY.example:9", 200)):
                connection.request("GET", "/static/wb_frame.js?x=%2F", headers={"Host": host})
                answer = connection.getresponse()
                answer.read()
                assert answer.status == status
                location = f"{own}/static/wb_frame.js?x=%2F" if status == 307 else None
                assert answer.headers["Location"] == location
            connection.close()
