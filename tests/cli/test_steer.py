"""nwx steer, and --steer of nwx import and nwx watch."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from nwx.engine.base import open_engine
from nwx.settings import Settings
from nwx.steering.specifications.specification_files import write_specification
from tests.cli.conftest import COMMAND, Nwx, environment, run_nwx
from tests.cli.test_killed import wait_for_the_end_of_all
from tests.hostile_analysis import STONES, stone_pages
from tests.warcs import write_warc


@pytest.fixture
def stones(tmp_path: Path) -> Path:
    path = tmp_path / "stones.toml"
    path.write_text(write_specification(STONES), encoding="utf-8")
    return path


def test_what_an_archive_holds_is_analysed_once(nwx: Nwx, tmp_path: Path, stones: Path) -> None:
    nwx("import", write_warc(tmp_path / "a.warc.gz", stone_pages(6)))
    ran = nwx("steer", stones)
    assert ran.out == (
        "6 pages analysed (3 relevant), 18 links scored (6 blacklisted), 12 updates sent\n"
    )
    report = nwx("steer", "stones", "--json").json
    assert (report["crawl"], report["analysed"], report["waiting"]) == ("stones", 0, 0)


def test_new_pages_are_analysed_beside_an_import(nwx: Nwx, tmp_path: Path, stones: Path) -> None:
    ran = nwx("import", write_warc(tmp_path / "a.warc.gz", stone_pages(6)), "--steer", stones)
    assert "6 pages analysed (3 relevant)" in ran.out
    more = write_warc(tmp_path / "b.warc.gz", stone_pages(8))
    report = nwx("import", more, "--steer", "stones", "--json").json
    figures = {
        name: report["steering"][name]
        for name in ("analysed", "relevant", "links", "blacklisted", "waiting", "failed")
    }
    assert figures == {
        "analysed": 2,
        "relevant": 1,
        "links": 6,
        "blacklisted": 2,
        "waiting": 0,
        "failed": 0,
    }
    assert nwx("steer", "stones", "--json").json["analysed"] == 0


def test_new_pages_are_analysed_as_they_are_watched(nwx: Nwx, tmp_path: Path, stones: Path) -> None:
    (tmp_path / "in").mkdir()
    write_warc(tmp_path / "in" / "a.warc.gz", stone_pages(6))
    watched = ("watch", tmp_path / "in", "--once", "--settle", 0, "--steer", stones)
    events = nwx(*watched, "--json", "--completed", tmp_path / "done").json_lines
    assert events[0]["event"] == "loaded"
    assert {event["event"] for event in events[1:]} == {"analysed"}
    assert (events[-1]["analysed"], events[-1]["waiting"]) == (6, 0)
    write_warc(tmp_path / "in" / "b.warc.gz", stone_pages(8))
    assert "2 pages analysed (1 relevant)" in nwx(*watched).out


def test_pages_that_were_imported_before_are_found_by_a_watch(
    nwx: Nwx, tmp_path: Path, stones: Path
) -> None:
    nwx("import", write_warc(tmp_path / "a.warc.gz", stone_pages(6)))
    (tmp_path / "in").mkdir()
    events = nwx("watch", tmp_path / "in", "--once", "--steer", stones, "--json").json_lines
    assert events[-1]["analysed"] == 6


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_what_is_killed_is_gone_on_with(
    tmp_path: Path, stones: Path, number: signal.Signals
) -> None:
    path = write_warc(tmp_path / "a.warc.gz", stone_pages(600))
    archive = tmp_path / "killed"
    arguments = ("import", str(path), "--jobs", "1", "--steer", str(stones))
    started = subprocess.Popen(
        [COMMAND, *arguments],
        env=environment(archive),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for_scores(archive)
    os.kill(started.pid, number)
    assert started.wait(60) in (-signal.SIGKILL, 128 + signal.SIGINT)
    wait_for_the_end_of_all(started.pid)
    run_nwx(archive, "import", path, "--steer", stones)
    found = count_scores(archive)
    report = run_nwx(archive, "steer", "stones", "--json").json
    assert (report["analysed"], report["waiting"]) == (600 - found, 0)
    assert count_scores(archive) == 600


def wait_for_scores(archive: Path) -> None:
    until = time.monotonic() + 60
    while not (archive / "crawls.db").exists() or not count_scores(archive):
        assert time.monotonic() < until
        time.sleep(0.05)


def count_scores(archive: Path) -> int:
    with open_engine(Settings(str(archive)), read_only=True) as engine:
        return sum(1 for _ in engine.crawl_index().document_scores("stones"))


def test_triples_and_hosts_of_spam(nwx: Nwx, tmp_path: Path, stones: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("0.0.0.0 other.example # sells links\n")
    path = write_warc(tmp_path / "a.warc.gz", stone_pages(2))
    more = ("--steer", stones, "--triples", "--spam-hosts", hosts)
    report = nwx("import", path, *more, "--json").json["steering"]
    assert (report["analysed"], report["blacklisted"], report["stopped"]) == (2, 4, "")
    assert report["triples"] > 0
    counted = nwx("triples", "query", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "--format", "json")
    assert str(report["triples"]) in counted.out


def test_wrong_use(nwx: Nwx, tmp_path: Path, stones: Path) -> None:
    assert "no archive at" in nwx("steer", stones, code=1).err
    path = write_warc(tmp_path / "a.warc.gz", stone_pages(2))
    assert "no crawl specification" in nwx("import", path, "--steer", "votes", code=2).err
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('name = "wrong"\nkeywords = 5\n')
    assert "wrong.toml" in nwx("import", path, "--steer", wrong, code=2).err
    assert "need --steer SPEC" in nwx("import", path, "--triples", code=2).err
    for model, told in (("zz", "write spacy:MODEL"), ("spacy:none", "install it with")):
        refused = nwx("import", path, "--steer", stones, "--nlp", model, code=2)
        assert told in refused.err
    assert nwx("files", "--json").out == ""
