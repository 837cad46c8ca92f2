"""A follower matches its primary after changes, kills and failures.

If the environment variable NWX_TEST_OUTBACKCDX has the path of its jar, a real OutbackCDX serves as
primary and as follower.
"""

import os
import random
import subprocess
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

import nwx
from nwx.cdxserver import follower as module
from nwx.cdxserver.aliases import AliasedSource
from nwx.cdxserver.follower import Follower
from nwx.cdxserver.loaded_lines import load_lines
from nwx.cdxserver.sources import EngineSource
from nwx.cdxserver.write_batches import CaptureChange, CaptureKey, write_batch
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxSpan
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import SourceError, UsageError
from nwx.model import IndexName
from tests.unit.cdxserver.rows import row
from tests.web.serving import serving
from webapp import create_app
from webapp.server.connections import listen, port_of

TOKEN = "let me in"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
EVERYTHING = CdxSpan("", "~")
SHA = "HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"


@contextmanager
def archive(path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(path) as engine:
        engine.load_captures(())
        yield engine


@contextmanager
def primary(path: Path) -> Iterator[tuple[Engine, str]]:
    """Yield an archive and the address of its collection `web`, including the token."""
    with archive(path) as engine, serving(create_app(engine, cdx_token=TOKEN)) as address:
        load_lines(engine, [line(0)], "web", skip_bad=False, name="")
        yield engine, address.replace("//", "//x:let%20me%20in@") + "/web"


def line(number: int, url: str = "") -> bytes:
    url = url or f"http://a.example/{number % 7}"
    time = 20200101000000 + number // 7
    return f"- {time} {url} text/html 200 {SHA} - - 9 {number} FILE\n".encode()


def post(address: str, *lines: bytes, to: str = "") -> None:
    address = address.partition("@")[2]
    answer = requests.post(f"http://{address}{to}", b"".join(lines), headers=AUTHORIZED, timeout=60)
    assert answer.status_code == 200, answer.text


def held(engine: Engine) -> list[tuple[str, ...]]:
    source = AliasedSource(EngineSource(engine), engine.aliases)
    return sorted((*one[:6], *one[8:11]) for one in source.rows(EVERYTHING))


def test_a_follower_takes_over_what_changes(tmp_path: Path) -> None:
    with primary(tmp_path / "one") as (engine, address), archive(tmp_path / "two") as copy:
        following = Follower(copy, address)
        chance = random.Random(7)
        for round in range(12):
            lines = [line(chance.randrange(60)) for _ in range(20)]
            post(address, *lines[:12])
            post(address, *lines[12:], to="/delete")
            pair = b"@alias http://a.example/%d http://a.example/%d\n"
            aliases = [pair % (chance.randrange(7), chance.randrange(7)) for _ in range(2)]
            post(address, *aliases, to="/delete" if round % 3 == 2 else "")
            if round % 2:
                following = Follower(copy, address)  # like after a kill
            assert following.follow().lag == 0
            assert held(copy) == held(engine)
        assert held(engine)
        assert following.follow().stored == 0


def test_a_follower_that_fails_in_a_batch_takes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RECORDS_AT_ONCE", 3)
    with primary(tmp_path / "one") as (engine, address), archive(tmp_path / "two") as copy:
        post(address, *map(line, range(10)))
        load, loaded = copy.load_captures, []

        def failing(batches: Any) -> int:
            loaded.append(load(batches))
            if len(loaded) == 2:
                raise SourceError("the power is off")
            return loaded[-1]

        monkeypatch.setattr(copy, "load_captures", failing)
        with pytest.raises(SourceError, match="power"):
            Follower(copy, address).follow()
        assert Follower(copy, address).follow().stored == 4
        assert held(copy) == held(engine)


def test_followers_hear_of_a_purge_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with archive(tmp_path / "two") as copy, primary(tmp_path / "one") as (engine, address):
        post(address, *map(line, range(10)))
        Follower(copy, address).follow()
        delete = EmbeddedEngine.delete

        def killed(self: Engine, index: IndexName, ids: Sequence[str]) -> None:
            assert index is IndexName.CAPTURES
            assert Follower(copy, address).follow().deleted == 2
            delete(self, index, ids)
            raise KeyboardInterrupt

        monkeypatch.setattr(EmbeddedEngine, "delete", killed)
        engine.close()
        with nwx.open(tmp_path / "one") as opened, pytest.raises(KeyboardInterrupt):
            opened.takedown("http://a.example/1", purge=True)
        assert Follower(copy, address).follow().lag == 0
        assert held(copy) == held(engine)


def test_only_with_the_token(tmp_path: Path) -> None:
    with primary(tmp_path / "one") as (_, address), archive(tmp_path / "two") as copy:
        with pytest.raises(SourceError, match="it answered 401"):
            Follower(copy, address.replace("let%20me%20in", "wrong")).follow()
        bare = f"http://{address.partition('@')[2]}"
        for path in ("/changes", "/sequence", "/aliases"):
            assert requests.get(bare + path, timeout=60).status_code == 401
            assert requests.get(bare + path, timeout=60, headers=AUTHORIZED).ok
        with pytest.raises(SourceError, match="it answered 404"):
            Follower(copy, f"{address}2").follow()


def test_another_primary_is_refused(tmp_path: Path) -> None:
    with archive(tmp_path / "two") as copy:
        with primary(tmp_path / "one") as (_, address):
            Follower(copy, address).follow()
            Follower(copy, address).follow()
            copy.change_log().put_state(
                "follower/web",
                (copy.change_log().state("follower/web") or b"").replace(b": 1,", b": 9,"),
            )
            with pytest.raises(SourceError, match="it was replaced"):
                Follower(copy, address).follow()
        with pytest.raises(UsageError, match="follows http://127"):
            Follower(copy, "http://elsewhere.example/web")
        for wrong in ("ftp://a.example/web", "http://a.example/", "http:///web", "web"):
            with pytest.raises(UsageError, match="write a primary as http"):
                Follower(copy, wrong)


def outback_like(answers: dict[str, bytes]) -> Callable[..., Any]:
    """Return an application with answers by prefix of path and query; otherwise it answered 500."""

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        asked = f"{environ['PATH_INFO']}?{environ['QUERY_STRING']}"
        found = next((body for start, body in answers.items() if asked.startswith(start)), None)
        start_response("500 No" if found is None else "200 OK", [("Content-Type", "text/plain")])
        return [found or b"broken"]

    return application


def sent(number: int, *changes: CaptureChange) -> bytes:
    data = b64encode(write_batch(number, changes, 3)).decode()
    return f'{{"sequenceNumber": "{number}", "writeBatch": "{data}"}}'.encode()


def test_an_outbackcdx_is_copied_first(tmp_path: Path) -> None:
    old, new = row("old", "20200101000000"), row("new", "20200101000000", filename="B")
    changed = row("old", "20200101000000", filename="C")
    keys = [CaptureKey(*one[:2]) for one in (old, new)]
    answers = {
        "/web/sequence?": b"5",
        "/web?urlkey=%24&matchType=range": line(1) + line(2),
        "/web/aliases?limit=1000&key=&": b"[]",
        "/web/aliases?limit=1000&key=": b"[]",
    }
    with archive(tmp_path / "two") as copy, serving(outback_like(answers)) as address:
        following = Follower(copy, f"{address}/web")
        assert following.follow().stored == 2
        changes = [CaptureChange(keys[0], old), CaptureChange(keys[1], new)]
        # Batches may be empty, and the batch of the starting number is repeated.
        answers |= {
            "/web/sequence?": b"8",
            "/web/changes?since=6": b"[\n%b,\n%b,\n%b\n]\n"
            % (sent(4, *changes), sent(6), sent(6, *changes, CaptureChange(keys[0], changed))),
        }
        done = following.follow()
        assert (done.stored, done.deleted, done.lag) == (2, 0, 0)
        assert {one[8] for one in held(copy)} == {"FILE", "B", "C"}
        answers |= {"/web/sequence?": b"30", "/web/changes?since=9": b"[\n%b\n]" % sent(20)}
        with pytest.raises(SourceError, match="deleted its changes up to 19"):
            following.follow()
        answers["/web/changes?since=9"] = b'[\n{"sequenceNumber": "9"}\n]'
        with pytest.raises(SourceError, match="invalid change"):
            following.follow()
        answers["/web/sequence?"] = b"<html>"
        with pytest.raises(SourceError, match="sequence number"):
            following.follow()


def test_a_copy_that_ends_early_is_told(tmp_path: Path) -> None:
    answers = {
        "/web/sequence?": b"5",
        "/web?urlkey=": line(1) + b"warning: output may be incomplete, error\n",
    }
    with ExitStack() as stack:
        copy = stack.enter_context(archive(tmp_path / "two"))
        address = stack.enter_context(serving(outback_like(answers)))
        with pytest.raises(SourceError, match="fails to list"):
            Follower(copy, f"{address}/web").follow()


def test_errors_are_told_once_and_tried_again(tmp_path: Path) -> None:
    answers: dict[str, bytes] = {}
    said: list[str] = []
    stop, told = threading.Event(), threading.Event()

    def say(text: str) -> None:
        said.append(text)
        told.set()

    with archive(tmp_path / "two") as copy, serving(outback_like(answers)) as address:
        following = Follower(copy, f"{address}/web")
        thread = threading.Thread(target=following.run, args=(stop, 0.01, say))
        thread.start()
        assert told.wait(60)
        told.clear()
        answers |= {"/web/sequence?": b"1", "/web?url": line(1), "/web/aliases?": b"[]"}
        assert told.wait(60)
        stop.set()
        thread.join(60)
    assert [text.partition(": ")[2] for text in said] == [
        "it answered 500: broken",
        "1 captures stored, 0 deleted; at change 1, 0 behind",
    ]


if JAR := os.environ.get("NWX_TEST_OUTBACKCDX"):

    @contextmanager
    def outback(folder: Path, *options: str) -> Iterator[str]:
        """Yield the address of the collection `web` of a real OutbackCDX."""
        folder.mkdir()
        with listen("127.0.0.1", 0) as free:
            port = port_of(free)
        command = ["java", "-jar", str(JAR), "-p", str(port), "-d", str(folder), *options]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                yield f"http://x@localhost:{port}/web"
            finally:
                process.kill()

    def until(done: Callable[[], bool]) -> None:
        end = time.monotonic() + 120
        while not done():
            assert time.monotonic() < end
            time.sleep(0.2)

    def answers_of(address: str) -> list[list[str]]:
        address = f"http://{address.partition('@')[2]}"
        names = "urlkey,timestamp,original,filename,offset"
        with ExitStack() as stack:
            try:
                found = requests.get(f"{address}?urlkey=$&matchType=range&fl={names}", timeout=60)
            except requests.ConnectionError:
                stack.close()
                return []
        return sorted(one.split(" ") for one in found.text.splitlines() if found.ok)

    LINES = [line(number) for number in range(70)]
    ALIASES = (
        b"@alias http://a.example/1 http://a.example/2\n",
        b"@alias http://a.example/2 http://b.example/\n",
    )

    def change(address: str) -> None:
        """Change the data of a primary by OutbackCDX's API."""
        post(address, *LINES[:50])
        post(address, *LINES[:20], to="/delete")
        post(address, *ALIASES, *LINES[50:])
        post(address, ALIASES[0], to="/delete")

    def test_a_real_outbackcdx_is_followed(tmp_path: Path) -> None:
        with outback(tmp_path / "one") as address, archive(tmp_path / "two") as copy:
            until(lambda: _posts(address, LINES[0]))
            Follower(copy, address).follow()
            change(address)
            Follower(copy, address).follow()
            wanted = answers_of(address)
            assert sorted([*one[:3], one[8], one[7]] for one in held(copy)) == wanted
            assert wanted

    def _posts(address: str, *lines: bytes) -> bool:
        try:
            post(address, *lines)
        except requests.ConnectionError:
            return False
        return True

    def test_a_real_outbackcdx_follows(tmp_path: Path) -> None:
        with primary(tmp_path / "one") as (engine, address):
            options = ("--primary", address, "--update-interval", "1")
            with outback(tmp_path / "two", *options) as copy:
                until(lambda: len(answers_of(copy)) == 1)
                change(address)
                wanted = sorted([*one[:3], one[8], one[7]] for one in held(engine))
                until(lambda: answers_of(copy) == wanted)
