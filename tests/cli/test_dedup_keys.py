"""nwx dedup-server: keys migrated from a Redis, and stored as an index of the archive."""

import socket
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from tests.cli.conftest import run_nwx
from tests.cli.test_cdx_server import serving
from tests.cli.test_dedup_server import bulk, captured, made_archive, ordered
from tests.crawling.redis_servers import (
    RawClient,
    dedup_server,
    redis_server,
)
from tests.warcs import many_pages, write_warc


def test_keys_of_a_redis_are_taken_over_and_written_out(tmp_path: Path) -> None:
    archive = made_archive(tmp_path)
    rows = [
        (b"HSET", b"h:c", b"0" * 64, b"0 20260101000000 http://a.example/ 9"),
        (b"HSET", b"alldupes", b"0" * 64, b"c"),
        (b"RPUSH", b"c:c:wacz", b"one", b"two", b"one"),
        (b"SADD", b"allcrawls", b"c", b"\x00\xff"),
        (b"SET", b"last", b"\r\n"),
        (b"SETEX", b"soon", b"1000", b"x"),
        *((b"HSETNX", b"h:many", b"%064d" % number, b"v") for number in range(2_500)),
    ]
    asked = [
        (b"HGETALL", b"h:c"),
        (b"HLEN", b"h:many"),
        (b"LRANGE", b"c:c:wacz", b"0", b"-1"),
        (b"SMEMBERS", b"allcrawls"),
        (b"GET", b"last"),
        (b"GET", b"soon"),
    ]
    with redis_server(tmp_path) as port, RawClient(port) as client:
        client.pipeline([*rows, (b"ZADD", b"odd", b"1", b"a")])
        address = f"redis://127.0.0.1:{port}"
        for _ in range(2):  # it can be repeated
            ran = run_nwx(archive, "dedup-server", "--from", f"{address}/0")
            assert ran.out == "7 keys with 2,509 entries; keys of other types left out: 1\n"
        with dedup_server(archive) as ours, RawClient(ours) as other:
            wanted = list(map(ordered, asked, client.pipeline(asked)))
            assert list(map(ordered, asked, other.pipeline(asked))) == wanted
            assert other.ask(b"TTL", b"soon") not in (b":-1\r\n", b":-2\r\n")
        run_nwx(archive, "dedup-server", "--from", f"{address}/5", code=2)
        client.ask(b"FLUSHALL")
        further = write_warc(tmp_path / "b.warc.gz", many_pages(2, site="b.example"))
        run_nwx(archive, "import", further, "--digests", "sha256")
        for _ in range(2):
            ran = run_nwx(archive, "dedup-server", "--to", f"{address}/0")
            assert ", 2 originals of the archive" in ran.out
            assert list(map(ordered, asked, client.pipeline(asked))) == wanted
        digest = sha256(many_pages(1, site="b.example")[0].body).hexdigest().encode()
        assert client.ask(b"HGET", b"alldupes", digest) == bulk("default")
        assert b"/0 " in client.ask(b"HGET", b"h:default", digest)
        assert b'"hash": "sha256:' in client.ask(b"LINDEX", b"c:default:wacz", b"0")
    ran = run_nwx(archive, "dedup-server", "--from", f"{address}/0", code=1)
    assert ran.err.startswith("nwx: redis://127.0.0.1:")
    for wrong in ("http://a", "redis://a:b/0", "nonsense"):
        run_nwx(archive, "dedup-server", "--from", wrong, code=2)


def test_keys_are_an_index_of_the_archive(tmp_path: Path) -> None:
    archive = made_archive(tmp_path)
    rows = [(b"HSET", b"h:c", b"a", b"1", b"b", b"2"), (b"SADD", b"allcrawls\xff", b"c")]
    with dedup_server(archive) as port, RawClient(port) as client:
        client.pipeline(rows)
    stored = [
        {"id": "/allcrawls\\xff", "collection": "", "kind": "set", "entries": 1},
        {"id": "/h:c", "collection": "", "kind": "hash", "entries": 2},
    ]
    assert run_nwx(archive, "dump", "dedup").json_lines == stored
    backup = run_nwx(archive, "backup", tmp_path / "backups").out.split()[-1]
    run_nwx(tmp_path / "again", "restore", backup)
    assert run_nwx(tmp_path / "again", "dump", "dedup").json_lines == stored
    run_nwx(archive, "check")
    with closing(sqlite3.connect(archive / "dedup.db")) as db, db:
        db.execute("DELETE FROM keys WHERE name = ?", (b"h:c",))
    assert "2 entries belong to no key" in run_nwx(archive, "check", code=1).out


def test_the_cdx_server_answers_crawlers_too(tmp_path: Path) -> None:
    archive = made_archive(tmp_path)
    _, digest = captured(archive)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ("--workers", "1", "--redis-port", str(port))
    with serving(tmp_path, *arguments, NWX_ENGINE=str(archive)), RawClient(port) as client:
        assert client.ask(b"HEXISTS", b"alldupes", digest) == b":1\r\n"
