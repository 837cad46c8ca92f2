"""nwx takedown: an immediate rule, a purge, and repeated imports of the files."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from nwx.cli import main
from nwx.engine.access.access_index import Purger
from nwx.engine.base import open_engine
from nwx.settings import Settings
from tests.cli.conftest import Nwx
from tests.warcs import Page, html, write_warc

SECRET, OTHER = "http://example.org/secret", "http://example.org/other"
PAGES = [
    Page(SECRET, "20100101000000", html("Secret", "the hidden words")),
    Page(OTHER, "20110101000000", html("Other", "the other words")),
]


def test_a_page_is_hidden_purged_and_does_not_come_back(nwx: Nwx, tmp_path: Path) -> None:
    file = write_warc(tmp_path / "a.warc.gz", PAGES)
    nwx("import", file)
    shown = nwx("takedown", SECRET, "--reason", "a letter")
    assert "are excluded; `nwx access remove " in shown.out
    assert "\n1 capture, 2010-01-01, in a.warc.gz\n" in shown.out
    assert [hit["url"] for hit in nwx("search", "words", "--json").json["hits"]] == [OTHER]
    assert len(nwx("--unrestricted", "search", "words", "--json").json["hits"]) == 2
    purged = nwx("takedown", SECRET, "--purge", "--json").json
    assert (purged["rule"]["reason"], purged["rule"]["purged"]) == ("a letter", True)
    (record,) = purged["purge"]["records"]
    assert (record["file"], record["record_type"]) == ("a.warc.gz", "response")
    assert len(nwx("--unrestricted", "search", "words", "--json").json["hits"]) == 1
    again = nwx("import", file, "--collection", "again")
    assert "1 capture, " in again.out
    assert " 1 purged," in again.out
    repeated = nwx("takedown", SECRET, "--purge").out
    assert "purged: nothing (more)" in repeated
    assert nwx("check").out == "the indices agree\n"
    assert f"default/a.warc.gz at {record['offset']:,} (response, " in repeated
    removed = nwx("access", "remove", purged["rule"]["id"])
    assert "files already in the archive are not read again" in removed.err
    assert nwx("import", file, "--json").json["outcomes"] == {"skipped": 1}
    nwx("import", file, "--collection", "third")
    assert len(nwx("search", "words", "--json").json["hits"]) == 2


def test_a_sheet_for_the_owner_says_what_where_and_how_it_was_verified(
    nwx: Nwx, tmp_path: Path
) -> None:
    nwx("import", write_warc(tmp_path / "a.warc.gz", PAGES))
    sheet = tmp_path / "sheet.md"
    nwx("takedown", f"{SECRET}*", "--reason", "a letter", "--sheet", sheet)
    text = sheet.read_text(encoding="utf-8")
    assert f"**What**: {SECRET}*: 1 capture, 2010-01-01\n" in text
    assert "**Where**: default\n- **Files**: a.warc.gz\n" in text
    assert "it showed 0 of 1\n" in text
    unwritten = nwx("takedown", SECRET, "--sheet", sheet / "below", code=1)
    assert "1 capture, 2010-01-01" in unwritten.out and "Not a directory" in unwritten.err
    nwx("takedown", f"{SECRET}*", "--purge")
    again = nwx("takedown", f"{SECRET}*", "--purge", "--sheet", sheet)
    assert "the archive has no more such captures; the rule" in again.out
    text = sheet.read_text(encoding="utf-8")
    assert f"**What**: {SECRET}*: 1 purged in an earlier run\n" in text
    assert "**Where**: default\n- **Files**: a.warc.gz\n" in text
    assert "it showed 0 of 1\n" in text
    shown = nwx("takedown", "http://nowhere.example/")
    assert "the archive has no such captures; the rule" in shown.out


def test_viewers_named_by_other_rules_are_told(nwx: Nwx, tmp_path: Path) -> None:
    for name in ("one", "two"):
        nwx("import", write_warc(tmp_path / "a.warc.gz", PAGES), "--collection", name)
    room = ("local", SECRET, "--address", "10.0.0.0/8", "--reason", "room", "--json")
    told = nwx("access", "add", *room).json
    nwx("access", "add", "allow", OTHER, "--user", "bob", "--reason", "own")
    sheet = tmp_path / "sheet.md"
    shown = nwx("takedown", SECRET, "--sheet", sheet).out
    assert f"still see some: `nwx access remove {told['id']}`" in shown
    assert ", in a.warc.gz\n" in shown
    assert f"viewers named by the rules {told['id']} still see some" in sheet.read_text("utf-8")
    assert "still see" not in nwx("takedown", SECRET, "--purge").out


def test_the_whole_archive_cannot_be_taken_down(nwx: Nwx) -> None:
    nwx("access", "add", "block", "http://example.org/", "--reason", "r")  # makes an archive
    assert "all captures cannot be taken down" in nwx("takedown", "*", "--purge", code=2).err
    assert "not a URL" in nwx("takedown", "http://[", code=2).err


def test_a_target_that_no_capture_can_have_is_told(nwx: Nwx, tmp_path: Path) -> None:
    nwx("import", write_warc(tmp_path / "a.warc.gz", PAGES))
    assert "no capture has the scheme 'nosuch'" in nwx("takedown", "nosuch://x", code=2).err
    assert "no access rules" in nwx("access", "list").out
    assert "read as a host; `nwx files`" in nwx("takedown", "crawl.wrac.gz").out


def test_copies_that_could_not_be_reached_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NWX_ENGINE", str(tmp_path / "archive"))
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
    monkeypatch.setattr(Purger, "copies_away", lambda self: ("nwx-documents-000001",))
    given = ["takedown", SECRET, "--purge"]
    ran = CliRunner().invoke(main.cli, given, standalone_mode=False)
    assert ran.return_value == 1
    assert (
        "offline nodes have replicas of nwx-documents-000001, which still contain it" in ran.stderr
    )
