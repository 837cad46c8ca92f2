"""The playback process: start, end and restart."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.errors import SourceError
from nwx.model import SourceFile
from tests.web.replay.played_records import OPENER, ORIGINAL, fetch
from webapp import create_app
from webapp.replay import process
from webapp.replay.process import PathIndex, ReplayError, ReplayProcess, path_line
from webapp.server.connections import listen

pytestmark = pytest.mark.xdist_group("replay")


def test_the_process_ends_with_its_owner(archive: tuple[Engine, Path]) -> None:
    engine, _ = archive
    with ReplayProcess(engine, listen("127.0.0.1", 0), "http://127.0.0.1:9") as replay:
        address, folder = replay.address, replay.folder
        assert fetch(f"{address}/static/wb_frame.js")[0] == 200
    assert not folder.exists()
    with pytest.raises(OSError, match="refused"):
        OPENER.open(f"{address}/static/wb_frame.js", timeout=5)
    replay.close()


def test_a_process_that_does_not_start_is_told(
    archive: tuple[Engine, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = archive
    monkeypatch.setattr(sys, "executable", "/bin/false")
    replay = ReplayProcess(engine, listen("127.0.0.1", 0), "http://127.0.0.1:9")
    with pytest.raises(ReplayError, match="playback ended at startup"), replay:
        pass
    assert not replay.folder.exists()


def test_the_path_index_reads_the_ledger_again_for_new_files_only(
    archive: tuple[Engine, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = archive
    index = PathIndex(engine, tmp_path / "paths.txt")
    known = [
        (one.collection, one.source_file) for one in engine.captures("example,a)/page?x=1&y=2")
    ]
    asked = []
    read = engine.files
    monkeypatch.setattr(engine, "files", lambda: asked.append(1) or read())
    index.cover(known)
    assert asked == []
    index.cover([("default", "new.warc.gz")])
    index.cover([("default", "new.warc.gz")])
    assert asked == [1]


def test_lines_of_the_path_index() -> None:
    def line(name: str, path: str) -> bytes:
        return path_line(SourceFile("one\ttwo", name, path, 1, ""))

    assert line("a b.warc.gz", "/data/a b.warc.gz") == (
        b"one%09two/a%20b.warc.gz\tnwx:///data/a%20b.warc.gz\n"
    )
    assert line("a.wacz#archive/x.warc.gz", "/data/a.wacz") == (
        b"one%09two/a.wacz%23archive%2Fx.warc.gz\tnwx:///data/a.wacz?member=archive%2Fx.warc.gz\n"
    )
    assert line("a.warc.gz", "https://files.example/a.warc.gz").endswith(
        b"\thttps://files.example/a.warc.gz\n"
    )


def _wait_for(process: ReplayProcess, *, running: bool) -> None:
    for _ in range(600):
        if process.state().running is running:
            return
        time.sleep(0.1)
    pytest.fail(f"playback stays {process.state()}")


def test_playback_that_is_killed_is_started_again(archive: tuple[Engine, Path]) -> None:
    engine, _ = archive
    listening = listen("127.0.0.1", 0)
    with ReplayProcess(engine, listening, "http://127.0.0.1:9") as replay:
        client = create_app(engine, replay_port=replay.port, playback=replay.state).test_client()
        assert client.get("/health").get_json()["replay"] is True
        first = replay.pid
        os.kill(first, signal.SIGKILL)
        _wait_for(replay, running=False)
        told = client.get("/health").get_json()
        assert (told["status"], told["replay"]) == ("ok", False)
        assert told["replay_message"].startswith("playback ended unexpectedly (signal 9)")
        # Requests in between wait for the next process.
        assert fetch(f"{replay.address}/static/wb_frame.js")[0] == 200
        _wait_for(replay, running=True)
        assert replay.pid != first
        told = client.get("/health").get_json()
        assert (told["replay"], told["replay_restarts"]) == (True, 1)
        assert "replay_message" not in told
    assert not replay.folder.exists()


def test_playback_that_cannot_be_started_again_is_told_until_it_can(
    archive: tuple[Engine, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = archive
    monkeypatch.setattr(process, "MOST_PAUSE_SECONDS", 1.0)
    with ReplayProcess(engine, listen("127.0.0.1", 0), "http://127.0.0.1:9") as replay:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", "/bin/false")
            first = replay.pid
            os.kill(first, signal.SIGKILL)
            for _ in range(600):
                if "exit code 1" in replay.state().message:
                    break
                time.sleep(0.05)
            assert not replay.state().running
            assert "exit code 1" in replay.state().message
        _wait_for(replay, running=True)
        assert fetch(f"{replay.address}/static/wb_frame.js")[0] == 200


@pytest.mark.parametrize("known", [None, frozenset({"localhost", "archive.test"})])
def test_other_names_of_this_machine_lead_to_its_own(
    archive: tuple[Engine, Path], known: frozenset[str] | None
) -> None:
    """This prevents a page on a name that points to this machine from reading captures."""
    with ReplayProcess(
        archive[0], listen("127.0.0.1", 0), "http://127.0.0.1:9", host_names=known
    ) as replay:
        for host in ("rebound.example", "archive.test"):
            own = "localhost" if known and host not in known else host
            shown = socket.create_connection(("127.0.0.1", replay.port), 60)
            with shown, shown.makefile("rb") as stream:
                shown.sendall(f"GET /replay/ HTTP/1.0\r\nHost: {host}:81\r\n\r\n".encode())
                head = stream.read().decode()
            assert head.startswith("HTTP/1.1 200 " if own == host else "HTTP/1.1 307 ")
            assert ("Location: http://localhost:81/replay/" in head) == (own != host)


SERVE = """
import sys
from pathlib import Path
from urllib.parse import urlsplit
from nwx.settings import Settings
from webapp.server.service import ServiceSettings, serve_pages
archive = Settings(sys.argv[1])
serve_pages(archive, ServiceSettings(port=0), lambda at: print(at.search, at.replay, flush=True))
"""


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_however_the_service_ends_playback_ends(
    archive: tuple[Engine, Path], tmp_path: Path, ending: signal.Signals
) -> None:
    command = [sys.executable, "-c", SERVE, str(archive[1] / "archive")]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout
            search, replay = process.stdout.readline().split()
            assert fetch(f"{search}/replay/20150126200624id_/{ORIGINAL}")[0] == 200
            process.send_signal(ending)
            process.wait(30)
        finally:
            process.kill()
    _wait_until_nobody_answers(replay)
    _wait_until_nobody_answers(search)
    # The folder of multiprocessing's socket remains after a kill.
    left = [
        one for one in tmp_path.iterdir() if ending is signal.SIGTERM or one.name[:5] != "pymp-"
    ]
    assert left == []


def _wait_until_nobody_answers(address: str) -> None:
    for _ in range(100):
        try:
            OPENER.open(f"{address}/health", timeout=5).close()
        except urllib.error.HTTPError:
            pass
        except OSError:
            return
        time.sleep(0.1)
    pytest.fail(f"{address} still answers")


def test_an_index_that_cannot_be_written_is_an_error_of_the_source(
    archive: tuple[Engine, Path], tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="cannot be written: No such file or directory"):
        PathIndex(archive[0], tmp_path / "removed" / "paths.txt")
