"""nwx dedup-server: Redis-compatible answers, durability after a kill, refused commands."""

import json
import os
import random
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import run_nwx
from tests.crawling.redis_servers import (
    DedupServer,
    RawClient,
    command_bytes,
    dedup_server,
    own_client,
    redis_server,
)
from tests.warcs import many_pages, write_warc

CLIENT_COMMANDS = 10_000
COMMANDS = int(os.environ.get("NWX_TEST_REDIS_COMMANDS", "2000"))
KILLS = int(os.environ.get("NWX_TEST_REDIS_KILLS", "4"))
UNORDERED = {b"HGETALL": 2, b"SMEMBERS": 1, b"SDIFF": 1}
KEYS = [b"a", b"b", b"c", b"\x00\xff\r\n"]
FIELDS = [b"", b"f", b"g", b"\x00\r\n*3\r\n", b"-9223372036854775808"]
NUMBERS = [b"0", b"1", b"-1", b"2", b"-3", b"01", b"x", b"", b"9223372036854775807"]
SHAPES = """
DEL k k|EXISTS k|TYPE k|RENAME k k|TTL k|EXPIRE k 100|GET k|SET k v|SET k v EX 100|SETEX k 100 v
SETEX k s v|HGET k f|HEXISTS k f|HSET k f v f v|HSET k f v f|HSET k f n|HSETNX k f v|HINCRBY k f n
HGETALL k|HLEN k|HDEL k f f|HSCAN k 0 COUNT 100|HSCAN k x|SADD k f f|SREM k f f|SCARD k|SMEMBERS k
LPOP k|SISMEMBER k f|SMOVE k k f|SDIFF k k|RPUSH k f f|LPUSH k f v|LLEN k|LINDEX k n|LSET k n f
LRANGE k n n|LREM k n f|LMOVE k k LEFT RIGHT|LMOVE k k right left|LMOVE k k UP DOWN|PING|PING f
ECHO f|GET|HGET k|NONSENSE k f|SELECT x|SPOP k -1
"""
# No key may expire during a test, as it could do so on only one of the two servers.
SECONDS = [one for one in NUMBERS if one not in (b"1", b"2")]
CHOICES = {"k": KEYS, "s": SECONDS, "f": FIELDS, "v": [b"1", b"value", b""], "n": NUMBERS}


def made_archive(folder: Path) -> Path:
    """Return a small archive."""
    run_nwx(folder / "archive", "import", write_warc(folder / "a.warc.gz", many_pages(3)))
    return folder / "archive"


def some_commands(seed: int, number: int) -> Iterator[tuple[bytes, ...]]:
    """Yield random commands."""
    chance, shapes = random.Random(seed), SHAPES.replace("\n", "|").strip("|").split("|")
    for _ in range(number):
        words = chance.choice(shapes).split(" ")
        yield tuple(
            chance.choice(CHOICES[one]) if one in CHOICES else one.encode() for one in words
        )


def ordered(command: tuple[bytes, ...], answer: bytes) -> object:
    """Return a response with set members sorted, as Redis leaves their order open."""
    width = UNORDERED.get(command[0])
    if command[0] == b"TTL" and int(answer[1:]) > 0:  # a second may have passed between the servers
        return True
    if command[0] == b"HSCAN" and b"COUNT" in command:
        return len(answer), sorted(answer)
    if width is None or not answer.startswith(b"*"):
        return answer
    return len(answer), sorted(answer)


def test_answers_are_those_of_redis(tmp_path: Path) -> None:
    made_archive(tmp_path)
    with (
        redis_server(tmp_path) as theirs,
        dedup_server(tmp_path / "archive") as ours,
        RawClient(theirs) as one,
        RawClient(ours) as other,
    ):
        commands = list(some_commands(7, COMMANDS))
        for begin in range(0, len(commands), 40):
            some = commands[begin : begin + 40]
            answers = zip(some, one.pipeline(some), other.pipeline(some), strict=True)
            for command, wanted, found in answers:
                assert ordered(command, found) == ordered(command, wanted), command


@pytest.mark.parametrize("client", ["redis-py", "ioredis"])
def test_answers_to_clients_are_those_of_redis(tmp_path: Path, client: str) -> None:
    made_archive(tmp_path)
    commands = list(some_commands(11, CLIENT_COMMANDS))
    with redis_server(tmp_path) as theirs, dedup_server(tmp_path / "archive") as ours:
        asked = [[theirs, ours], [[one.hex() for one in command] for command in commands]]
        command = own_client(client)
        ran = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    for command, wanted, found in zip(commands, *json.loads(ran.stdout), strict=True):
        assert in_order(command, found) == in_order(command, wanted), command


def in_order(command: tuple[bytes, ...], answer: Any) -> Any:
    """Return a client's result with set members sorted as in `ordered`."""
    if command[0] == b"TTL" and answer > 0:
        return True
    if command[0] == b"HSCAN" and isinstance(answer, list):
        return sorted(answer[1])
    is_open = command[0] in UNORDERED and isinstance(answer, list)
    return sorted(answer) if is_open else answer


def test_acknowledged_hashes_survive_kills(tmp_path: Path) -> None:
    archive, told = made_archive(tmp_path), set[bytes]()

    def write(port: int, own: int) -> None:
        with suppress(OSError), RawClient(port) as client:
            for number in range(1_000_000):
                digest = b"%064x" % (own << 32 | number)
                if client.ask(b"HSETNX", b"h:crawl", digest, b"0 2026 http://a/ 1")[:1] != b":":
                    return
                told.add(digest)

    for round_ in range(KILLS):
        server = DedupServer(archive)
        known = len(told)
        writers = [
            threading.Thread(target=write, args=(server.port, round_ * 4 + own)) for own in range(4)
        ]
        for one in writers:
            one.start()
        while len(told) < known + 50:
            writers[0].join(0.01)
        server.kill()
        for one in writers:
            one.join()
    with dedup_server(archive) as port, RawClient(port) as client:
        asked = sorted(told)
        answers = client.pipeline([(b"HEXISTS", b"h:crawl", one) for one in asked])
        assert answers == [b":1\r\n"] * len(asked)


def captured(archive: Path) -> tuple[dict[str, str], bytes]:
    """Return a capture of an archive, and its digest in the form that Browsertrix sends."""
    one = run_nwx(archive, "dump", "captures").json_lines[0]
    return one, one["digest"].partition(":")[2].encode()


def bulk(text: str) -> bytes:
    """Return a string as a RESP bulk string."""
    return b"$%d\r\n%b\r\n" % (len(text), text.encode())


@pytest.mark.parametrize("action", ["exclude", "block"])
def test_a_crawler_is_told_what_the_archive_holds_until_it_is_hidden(
    tmp_path: Path, action: str
) -> None:
    archive = made_archive(tmp_path)
    one, digest = captured(archive)
    crawl = one["collection"].encode()
    value = f"0 {one['timestamp']} {one['url']} {one['content_length']}"
    options = ("--database", "1=elsewhere")
    scope = {"NWX_DEDUP_SCOPE": "collection"}
    with dedup_server(archive, *options, **scope) as port, RawClient(port) as client:
        assert client.ask(b"HGET", b"alldupes", digest) == bulk(one["collection"])
        assert client.ask(b"HGET", b"h:" + crawl, digest) == bulk(value)
        assert client.ask(b"HEXISTS", b"alldupes", digest) == b":1\r\n"
        for key in (b"h:elsewhere", b"other"):
            assert client.ask(b"HGET", key, digest) == b"$-1\r\n"
        assert client.ask(b"HGET", b"alldupes", b"A" * 32) == b"$-1\r\n"
        both = [(b"HGET", b"alldupes", digest), (b"PING",)] * 20
        assert client.pipeline(both) == [bulk(one["collection"]), b"+PONG\r\n"] * 20
        run_nwx(archive, "access", "add", action, one["url"], "--reason", "a")
        assert client.ask(b"HGET", b"alldupes", digest) == b"$-1\r\n"
        assert client.ask(b"HGET", b"h:" + crawl, digest) == b"$-1\r\n"
        assert client.ask(b"HSETNX", b"alldupes", digest, b"c") == b":1\r\n"
        assert client.ask(b"SELECT", b"1") == b"+OK\r\n"
        assert client.ask(b"HGET", b"alldupes", digest) == b"$-1\r\n"
        assert client.ask(b"SELECT", b"2") == b"-ERR DB index is out of range\r\n"


def test_the_scope_that_the_archive_keeps_is_that_of_its_servers(tmp_path: Path) -> None:
    archive = made_archive(tmp_path)
    _, digest = captured(archive)
    databases = ("--database", "1=elsewhere", "--database", "2=apart")

    def offered(*options: str, **variables: str) -> list[bool]:
        found = []
        with (
            dedup_server(archive, *databases, *options, **variables) as port,
            RawClient(port) as client,
        ):
            for number in (b"0", b"1", b"2"):
                client.ask(b"SELECT", number)
                found.append(client.ask(b"HEXISTS", b"alldupes", digest) == b":1\r\n")
        return found

    assert offered() == [True, True, True]
    run_nwx(archive, "dedup-server", "--keep-scope", "collection", "--database", "2=apart")
    assert offered() == [True, True, False]
    assert offered("--scope", "archive") == [True, True, True]
    run_nwx(archive, "dedup-server", "--keep-scope", "collection")
    run_nwx(archive, "dedup-server", "--keep-scope", "archive", "--database", "2=apart")
    assert offered() == [True, False, True]
    assert offered(NWX_DEDUP_SCOPE="collection") == [True, False, False]


def test_what_rules_hide_is_not_offered_though_crawls_wrote_it(tmp_path: Path) -> None:
    archive = made_archive(tmp_path)
    url, digest = "http://gone.example/a", b"0" * 64
    value = f"0 20260101000000 {url} 9"
    asked = [
        (command, key, field)
        for command in (b"HGET", b"HEXISTS")
        for key, field in ((b"alldupes", digest), (b"h:c", digest), (b"h:c", b"odd"))
    ]
    with dedup_server(archive) as port, RawClient(port) as client:
        client.ask(b"HSETNX", b"h:c", digest, value.encode())
        client.ask(b"HSETNX", b"alldupes", digest, b"c")
        client.ask(b"HSETNX", b"h:c", b"odd", b"0 never no-url x")
        odd, yes = bulk("0 never no-url x"), b":1\r\n"
        shown = [bulk("c"), bulk(value), odd, yes, yes, yes]
        assert client.pipeline(asked) == shown
        run_nwx(archive, "access", "add", "block", "http://gone.example/*", "--reason", "a")
        none = [b"$-1\r\n", b"$-1\r\n", odd, b":0\r\n", b":0\r\n", yes]
        assert client.pipeline(asked) == none
        run_nwx(archive, "access", "add", "allow", url, "--reason", "a")
        assert client.pipeline(asked) == shown


def test_files_of_originals_are_listed_for_relation_requires(tmp_path: Path) -> None:
    archive = made_archive(tmp_path)
    _, digest = captured(archive)
    second = write_warc(tmp_path / "b.warc.gz", many_pages(1, site="b.example", start=9))
    run_nwx(archive, "import", second)
    other = run_nwx(archive, "dump", "captures").json_lines
    more = next(each for each in other if "b.example" in each["url"])
    key, files = b"h:default", b"c:default:wacz"
    for _ in range(2):  # a restarted server continues with the same numbers
        with dedup_server(archive) as port, RawClient(port) as client:
            later = client.ask(b"HGET", key, more["digest"].partition(":")[2].encode())
            assert later.split()[1].startswith(b"0")
            assert client.ask(b"HGET", key, digest).split()[1].startswith(b"1")
            assert client.ask(b"LLEN", files) == b":2\r\n"
            told = json.loads(client.ask(b"LINDEX", files, b"0").split(b"\r\n")[1])
            assert told == {
                "filename": "b.warc.gz",
                "hash": f"sha256:{sha256(second.read_bytes()).hexdigest()}",
                "size": second.stat().st_size,
            }
            unknown = b'{"filename": "c.wacz"}'
            client.ask(b"RPUSH", b"c:c:wacz", unknown)
            assert client.ask(b"LINDEX", b"c:c:wacz", b"0") == bulk(unknown.decode())


def test_what_ioredis_and_a_crawl_send(tmp_path: Path) -> None:
    """The start-up commands of ioredis, and those of a Browsertrix 1.14 crawl with its commit."""
    wacz = json.dumps({"filename": "a.wacz"}).encode()
    archive = made_archive(tmp_path)
    with dedup_server(archive, NWX_CDX_TOKEN="secret") as port, RawClient(port) as client:
        assert client.ask(b"hget", b"alldupes", b"A").startswith(b"-NOAUTH")
        assert client.ask(b"auth", b"wrong").startswith(b"-WRONGPASS")
        hello = client.ask(b"hello", b"3", b"AUTH", b"default", b"secret")
        assert hello.startswith(b"-ERR unknown command")
        assert client.ask(b"auth", b"secret") == b"+OK\r\n"
        assert b"loading:0" in client.ask(b"info")
        started = [(b"select", b"0"), (b"client", b"SETINFO", b"LIB-NAME", b"ioredis")]
        assert client.pipeline(started) == [b"+OK\r\n"] * 2
        crawl = [
            (b"sadd", b"uncommittedcrawls", b"c"),
            (b"rpush", b"c:c:wacz", wacz),
            (b"hget", b"alldupes", b"0" * 64),
            (b"hsetnx", b"h:c", b"0" * 64, b"0 20260101000000 http://a.example/ 9"),
            (b"hincrby", b"h:c:counts", b"totalUrls", b"1"),
            (b"lset", b"c:c:wacz", b"0", wacz),
            (b"sismember", b"allcrawls", b"c"),
            (b"hscan", b"h:c", b"0"),
            (b"hsetnx", b"alldupes", b"0" * 64, b"c"),
            (b"smove", b"uncommittedcrawls", b"allcrawls", b"c"),
            (b"hget", b"alldupes", b"0" * 64),
            (b"lindex", b"c:c:wacz", b"0"),
        ]
        ends = (b":1", b":1", b"$-1", b":1", b":1", b"+OK", b":0", b"*2", b":1", b":1", b"$1")
        answers = client.pipeline(crawl)
        assert tuple(one.split(b"\r")[0] for one in answers[:-1]) == ends
        assert answers[-1] == bulk(wacz.decode())
        assert client.ask(b"quit") == b"+OK\r\n"
        assert client.read() == b""


@pytest.mark.parametrize(
    "data",
    [
        b"*1000000000\r\n",
        b"*2\r\n$4\r\nECHO\r\n$1000000000\r\n",
        b"*1\r\n*1\r\n$4\r\nPING\r\n",
        b"*-1\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$4\r\nPINGxx",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00" * 20,
        b"*" + b"1" * 100,
    ],
)
def test_what_is_no_command_ends_the_connection(dedup_port: int, data: bytes) -> None:
    with RawClient(dedup_port) as client:
        client.send(data)
        assert client.read().startswith(b"-ERR Protocol error")
        with suppress(ConnectionResetError):
            assert client.read() == b""


def test_half_commands_and_idle_connections_are_no_hindrance(dedup_port: int) -> None:
    address = ("127.0.0.1", dedup_port)
    idle = [socket.create_connection(address) for _ in range(1_000)]
    with RawClient(dedup_port) as client:
        whole = command_bytes((b"ECHO", b"\r\n*1\r\n\x00"))
        for place in range(len(whole)):
            client.send(whole[place : place + 1])
        assert client.read() == b"$7\r\n\r\n*1\r\n\x00\r\n"
    for one in idle:
        one.close()


@pytest.fixture(scope="module")
def dedup_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server."""
    with dedup_server(made_archive(tmp_path_factory.mktemp("archive"))) as port:
        yield port


def test_a_port_of_a_network_needs_a_token(tmp_path: Path) -> None:
    archive = made_archive(tmp_path)
    ran = run_nwx(archive, "dedup-server", "--host", "0.0.0.0", "--port", 0, code=2)
    assert "--cdx-token" in ran.err
    for wrong in ("x=y", "1=my news", "1="):
        run_nwx(archive, "dedup-server", "--database", wrong, code=2)
    ran = run_nwx(archive, "dedup-server", code=2, NWX_DEDUP_SCOPE="all")
    assert "NWX_DEDUP_SCOPE is 'all'; expected archive or collection" in ran.err
    missing = tmp_path / "no" / "file"
    ran = run_nwx(archive, "dedup-server", "--port", 0, "--dedup-file", missing, code=2)
    assert "cannot be used for the keys" in ran.err
    assert "no archive" in run_nwx(tmp_path / "none", "dedup-server", "--port", 0, code=1).err
