"""The file of the crawls index: damaged, of a newer version, shared by processes, killed."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from nwx.engine.base import open_engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import EngineError, EngineVersionError
from nwx.settings import Settings

FILE = "crawls.db"

WRITER = """
import sys
from pathlib import Path
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.engine.embedded import EmbeddedEngine

with EmbeddedEngine(Path(sys.argv[1])) as engine:
    for n in range(int(sys.argv[3])):
        links = tuple(LinkScore(f"http://a.test/{k}", n / 1000) for k in range(20))
        page = ("votes", "v1", f"{sys.argv[2]}-{n:06}", "http://page.test/", "20260102030405", 0.5)
        engine.crawl_index().put_scores([DocumentScore(*page, links=links)])
        print(n, flush=True)
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.crawl_index().save_specification("votes", "v1", "text")
    return folder


def test_a_damaged_file_is_named(archive: Path) -> None:
    (archive / FILE).write_bytes(b"no database " * 1_000)
    with (
        EmbeddedEngine(archive) as engine,
        pytest.raises(EngineError, match=r"crawls\.db is damaged"),
    ):
        engine.crawl_index().specifications()


def test_a_file_of_a_newer_version_is_refused(archive: Path) -> None:
    with closing(sqlite3.connect(archive / FILE)) as db:
        db.execute("PRAGMA user_version = 99")
    with EmbeddedEngine(archive) as engine:
        with pytest.raises(EngineVersionError, match=r"crawls\.db was made by a newer version"):
            engine.crawl_index().specifications()
        with pytest.raises(EngineVersionError):
            engine.crawl_index().save_specification("votes", "v2", "other")


def test_processes_write_at_once(archive: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(archive)]
    writers = [subprocess.Popen([*command, name, "60"], stdout=subprocess.DEVNULL) for name in "ab"]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    with EmbeddedEngine(archive, read_only=True) as engine:
        crawls = engine.crawl_index()
        (known,) = crawls.analysed_versions("votes")
        assert (known.documents, known.urls) == (120, 20)
        assert {link.relevance for link in crawls.best_links("votes", 99)} == {0.059}


def test_a_killed_writer_leaves_whole_documents(archive: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(archive), "a", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        last = 0
        while last < 30:
            last = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
    with EmbeddedEngine(archive) as engine:
        crawls = engine.crawl_index()
        found = list(crawls.document_scores("votes"))
        (known,) = crawls.analysed_versions("votes")
        assert known.documents == len(found) > last
        assert all(len(score.links) == 20 for score in found)
        best = crawls.best_links("votes", 1)[0].relevance
        assert best == max(score.links[0].relevance or 0 for score in found)


def test_a_file_without_tables_has_no_crawls_yet(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"))
    with open_engine(settings) as engine:
        engine.create()
    (tmp_path / "archive" / "crawls.db").touch()
    with open_engine(settings, read_only=True) as reader, open_engine(settings) as writer:
        assert reader.crawl_index().specifications() == []
        writer.crawl_index().save_specification("votes", "v1", "name = 'votes'")
        [found] = reader.crawl_index().specifications()
    assert found.name == "votes"


def test_removing_makes_no_archive(tmp_path: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        assert not engine.crawl_index().remove_specification("votes")
    assert not (tmp_path / "archive").exists()
