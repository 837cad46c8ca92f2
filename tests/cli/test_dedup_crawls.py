"""nwx dedup-server: the commands of two Browsertrix 1.14 crawls of a site that wget captured."""

import http.server
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.cli.conftest import own_prefix, run_nwx
from tests.crawling.redis_servers import RawClient, dedup_server
from tests.warcs import Page, html, write_sha256_warc

BODIES = {"index.html": html("Home", '<a href="a.html">a</a> <a href="b.html">b</a>')} | {
    f"{name}.html": html(name, f"The page {name} of the site") for name in "ab"
}
DATE = "20260101000000"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def wget_warc(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a site, and the WARC that wget wrote of it."""
    site = tmp_path / "site"
    site.mkdir()
    for name, body in BODIES.items():
        (site / name).write_bytes(body)
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *given: QuietHandler(*given, directory=str(site))
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/"
        command = [shutil.which("wget") or "wget", "--quiet", "--recursive", "--no-proxy"]
        command += ["--warc-file=site", "--no-warc-keep-log", url]
        subprocess.run(command, cwd=tmp_path, check=False)
        server.shutdown()
        thread.join()
    yield url, tmp_path / "site.warc.gz"


@pytest.fixture(params=["embedded", "elasticsearch", "opensearch"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment variables that point to a separate archive and to the crawlers' keys."""
    if request.param == "embedded":
        yield {"engine": str(tmp_path / "archive")}
        return
    url = request.getfixturevalue(f"{request.param}_url")
    with own_prefix(url) as prefix:
        yield {"engine": url, "NWX_PREFIX": prefix}


def text(answer: bytes) -> str:
    """Return a string from a response."""
    assert answer.startswith(b"$") and answer != b"$-1\r\n"
    return answer.partition(b"\r\n")[2].decode().removesuffix("\r\n")


def crawl(client: RawClient, name: bytes, pages: dict[str, bytes]) -> dict[str, list[str]]:
    """Crawl and commit like Browsertrix; return the original captures of duplicates."""
    own, counts, files = b"h:" + name, b"h:%b:counts" % name, b"c:%b:wacz" % name
    client.pipeline([(b"SELECT", b"0"), (b"SADD", b"uncommittedcrawls", name)])
    client.ask(b"RPUSH", files, b'{"filename": "%b.wacz"}' % name)
    known = {}
    for url, body in pages.items():
        digest = sha256(body).hexdigest().encode()
        client.ask(b"HINCRBY", counts, b"totalUrls", b"1")
        held = client.ask(b"HGET", b"alldupes", digest)
        if held == b"$-1\r\n":
            assert client.ask(b"HGET", own, digest) == b"$-1\r\n"
            value = f"0 {DATE} {url} {len(body)}".encode()
            assert client.ask(b"HSETNX", own, digest, value) == b":1\r\n"
            continue
        found = text(client.ask(b"HGET", b"h:" + text(held).encode(), digest)).split(" ")
        known[url] = [text(held), *found]
        client.ask(b"HINCRBY", counts, b"dupeUrls", b"1")
    done = json.dumps({"filename": f"{name.decode()}.wacz", "hash": "sha256:0", "size": 9})
    assert client.ask(b"LSET", files, b"0", done.encode()) == b"+OK\r\n"
    assert client.ask(b"SISMEMBER", b"allcrawls", name) == b":0\r\n"
    for digest in client.ask(b"HSCAN", own, b"0").split(b"\r\n")[5:-1:4]:
        assert client.ask(b"HSETNX", b"alldupes", digest, name) == b":1\r\n"
    assert client.ask(b"SMOVE", b"uncommittedcrawls", b"allcrawls", name) == b":1\r\n"
    return known


def test_two_crawls_of_what_wget_captured(
    place: dict[str, str], tmp_path: Path, wget_warc: tuple[str, Path]
) -> None:
    site, warc = wget_warc
    address, prefix = place.pop("engine"), place
    run_nwx(address, "import", warc, "--digests", "sha256", **prefix)
    pages = {f"{site}{name}": body for name, body in BODIES.items()}
    new = {f"{site}new.html": html("New", "not there before")}
    keys = ("--dedup-file", str(tmp_path / "keys.db"))
    with dedup_server(address, *keys, **prefix) as port, RawClient(port) as client:
        first = crawl(client, b"first", pages | new)
        assert first.keys() == pages.keys()
        required = []
        for url, (held, number, date, original, size) in first.items():
            assert (held, int(size)) == ("default", len(pages[url]))
            assert original.startswith(site) and len(date) == 14
            listed = client.ask(b"LINDEX", b"c:default:wacz", number.encode())
            required.append(json.loads(text(listed)))
        assert required[0]["hash"] == f"sha256:{sha256(warc.read_bytes()).hexdigest()}"
        assert {one["filename"] for one in required} == {warc.name}
        second = crawl(client, b"second", pages | new)
        assert {one: second[one][0] for one in second} == {
            **dict.fromkeys(pages, "default"),
            **dict.fromkeys(new, "first"),
        }
    run_nwx(address, "import", written_revisits(tmp_path, pages), **prefix)
    assert run_nwx(address, "missing", "--originals", **prefix).out.strip() == ""


def written_revisits(tmp_path: Path, pages: dict[str, bytes]) -> Path:
    """Return a WARC of revisits with the crawler's digests."""
    made = [Page(url, DATE, body, revisit=True) for url, body in pages.items()]
    return write_sha256_warc(tmp_path / "second.warc", made)
