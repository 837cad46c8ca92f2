"""nwx import from the command line and from programs."""

from pathlib import Path

import pytest

from tests.cli.conftest import Nwx
from tests.office_files import docx
from tests.renders import ALL_RENDERS, write_rendered
from tests.warcs import Page, html, many_pages, write_warc

REPORT = {
    "stale",
    "files",
    "outcomes",
    "records",
    "captures",
    "renders",
    "documents",
    "duplicates",
    "excluded",
    "excluded_before",
    "purged",
    "bytes",
    "errors",
    "errors_total",
    "errors_by_kind",
    "interrupted",
    "seconds",
    "exclusion",
}


def test_the_report_counts_renders(nwx: Nwx, tmp_path: Path) -> None:
    rendered = write_rendered(tmp_path / "rendered.warc.gz")
    found = nwx("import", rendered)
    assert f"{ALL_RENDERS + 1} captures, 1 new document, 0 duplicates, 12 renders, 0" in found.out
    again = nwx("import", rendered, "--collection", "again", "--json").json
    assert (again["captures"], again["renders"]) == (ALL_RENDERS + 1, ALL_RENDERS)


def test_the_report_counts_what_was_imported(nwx: Nwx, warc: Path) -> None:
    report = nwx("import", warc, "--json").json
    assert report.keys() == REPORT
    assert report["files"] == 1
    assert report["outcomes"] == {"imported": 1}
    assert report["records"] == {"response": 35, "revisit": 5}
    assert (report["captures"], report["documents"], report["duplicates"]) == (40, 30, 10)
    assert report["bytes"] == warc.stat().st_size
    assert report["errors"] == []
    stats = nwx("stats", "--json").json
    assert (stats["documents"], stats["dates"], stats["captures"]) == (30, 30, 40)
    assert nwx("check").out == "the indices agree\n"


def test_a_file_imported_twice_changes_nothing(nwx: Nwx, warc: Path, tmp_path: Path) -> None:
    nwx("import", warc)
    before = dumps(nwx)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    warc.rename(elsewhere / warc.name)
    report = nwx("import", elsewhere, "--json").json
    assert report["outcomes"] == {"skipped": 1}
    assert (report["captures"], report["documents"], report["errors"]) == (0, 0, [])
    assert dumps(nwx) == before


def dumps(nwx: Nwx) -> dict[str, list[object]]:
    return {
        index: nwx("dump", index).json_lines
        for index in ("documents", "dates", "captures", "files")
    }


def test_another_file_of_the_same_name_is_refused_and_the_rest_imported(
    nwx: Nwx, warc: Path, tmp_path: Path
) -> None:
    nwx("import", warc)
    other = tmp_path / "other"
    other.mkdir()
    write_warc(other / warc.name, many_pages(3, site="other.example"))
    write_warc(other / "new.warc.gz", many_pages(3, site="new.example"))
    report = nwx("import", other, "--json").json
    assert report["outcomes"] == {"refused": 1, "imported": 1}
    [error] = report["errors"]
    assert (error["file"], error["kind"]) == (warc.name, "conflict")
    report = nwx("import", other, "--collection", "second", "--json").json
    assert report["outcomes"] == {"imported": 2}
    nwx("check")


def test_two_files_of_one_name_in_one_run(nwx: Nwx, tmp_path: Path) -> None:
    for folder, site in (("a", "a.example"), ("b", "b.example"), ("c", "a.example")):
        (tmp_path / folder).mkdir()
        write_warc(tmp_path / folder / "same.warc.gz", many_pages(3, site=site))
    folders = [tmp_path / folder for folder in "abc"]
    report = nwx("import", *folders, "--json").json
    assert sum(report["outcomes"].values()) == report["files"] == 3
    assert report["outcomes"]["imported"] == 1
    assert report["outcomes"]["refused"] >= 1
    nwx("check")


def test_order_and_number_of_processes_do_not_matter(tmp_path: Path, nwx: Nwx) -> None:
    page = Page("http://a.example/", "20150101000000", html("A", "text"))
    files = [
        write_warc(
            tmp_path / f"{year}.warc.gz",
            [
                Page(page.url, f"{year}0101000000", page.body, revisit=year == 2013),
                *many_pages(20, start=year - 2010),
            ],
        )
        for year in (2012, 2013, 2014, 2015)
    ]
    nwx("import", "--jobs", 1, *files)
    expected = dumps(nwx)
    for order in (files[::-1], files[2:] + files[:2]):
        again = Other(nwx, tmp_path / f"again-{order[0].stem}")
        again.run("import", "--jobs", 3, *order)
        assert dumps(again.run) == expected
    [document] = [d for d in expected["documents"] if d["url"] == page.url]
    assert document["timestamp"] == "20120101000000"


class Other:
    """Runs nwx on another archive."""

    def __init__(self, nwx: Nwx, folder: Path) -> None:
        self._nwx, self._folder = nwx, folder

    def run(self, *arguments: object, **options: object) -> object:
        return self._nwx("--engine", self._folder, *arguments, **options)


def test_errors_name_file_and_offset(nwx: Nwx, warc: Path, tmp_path: Path) -> None:
    data = warc.read_bytes()
    warc.write_bytes(data[: len(data) - 20])
    report = nwx("import", warc, "--json").json
    [error] = report["errors"]
    assert error["file"] == warc.name
    assert error["offset"] > 0
    shown = nwx("import", warc, tmp_path / "missing.warc.gz", code=0)
    assert "missing.warc.gz" in shown.err


def test_exit_codes(nwx: Nwx, warc: Path, tmp_path: Path) -> None:
    missing, rubbish = tmp_path / "missing.warc.gz", tmp_path / "rubbish.warc.gz"
    rubbish.write_bytes(b"rubbish" * 100)
    nwx("import", missing, code=1)
    nwx("import", rubbish, code=1)
    nwx("import", "--strict", warc, code=0)
    nwx("import", "--strict", warc, missing, code=1)
    nwx("import", warc, missing, code=0)
    nwx("import", code=2)
    nwx("import", "--collection", "no/slash", warc, code=2)
    nwx("import", "--parser", "other", warc, code=2)
    nwx("import", "-", code=2)


def test_standard_input_has_the_name_it_is_given(nwx: Nwx, warc: Path) -> None:
    report = nwx("import", "-", "--name", "piped.warc.gz", "--json", stdin=warc.read_bytes()).json
    assert report["captures"] == 40
    [file] = nwx("files", "--json").json_lines
    assert (file["name"], file["path"], file["finished"]) == ("piped.warc.gz", "-", True)
    report = nwx("import", "-", "--name", "piped.warc.gz", "--json", stdin=warc.read_bytes()).json
    assert report["outcomes"] == {"skipped": 1}


def test_manifests_name_files(nwx: Nwx, warc: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "list.txt"
    manifest.write_text(f"# a comment\n{warc}\n", encoding="utf-8")
    assert nwx("import", "--manifest", manifest, "--json").json["captures"] == 40
    assert nwx("import", f"@{manifest}", "--json").json["outcomes"] == {"skipped": 1}
    unread = nwx("import", "--manifest", "unlisted", code=1).err
    assert "the manifest unlisted cannot be read: No such file" in unread


def test_collections_are_kept_apart(nwx: Nwx, warc: Path) -> None:
    nwx("import", warc)
    report = nwx("import", warc, "--collection", "again", "--json").json
    assert (report["captures"], report["documents"], report["duplicates"]) == (40, 0, 40)
    dates = nwx("dump", "dates").json_lines
    assert all({seen.split("/")[0] for seen in d["seen"]} == {"again", "default"} for d in dates)
    nwx("check")


def test_digests_are_checked_when_asked(nwx: Nwx, tmp_path: Path) -> None:
    page = Page("http://a.example/", "20150101000000", html("A", "text"))
    path = write_warc(tmp_path / "a.warc", [page], compressed=False)
    path.write_bytes(path.read_bytes().replace(b"<p>text", b"<p>tExt"))
    assert nwx("import", path, "--json").json["errors"] == []
    report = nwx("import", path, "--verify", "--collection", "checked", "--json").json
    assert [error["kind"] for error in report["errors"]] == ["digest"]


def test_quiet_says_nothing(nwx: Nwx, warc: Path) -> None:
    ran = nwx("import", "--quiet", warc)
    assert (ran.out, ran.err) == ("", "")


def test_the_summary_is_for_people(nwx: Nwx, warc: Path) -> None:
    assert "40 captures, 30 new documents, 10 duplicates, 0 errors" in nwx("import", warc).out


@pytest.mark.parametrize("parser", ["fast", "bs4"])
def test_both_parsers_find_the_text(nwx: Nwx, warc: Path, parser: str) -> None:
    nwx("import", "--parser", parser, warc)
    assert all("words" in d["content"] for d in nwx("dump", "documents").json_lines)


def test_real_files_import_without_disagreement(nwx: Nwx, shared_data: Path) -> None:
    report = nwx("import", shared_data / "warc", shared_data / "malformed", "--json").json
    assert report["captures"] > 500
    assert {error["kind"] for error in report["errors"]} >= {"gzip", "digest"}
    nwx("check")


def test_office_files_and_what_a_command_reads_are_found(nwx: Nwx, tmp_path: Path) -> None:
    pages = [
        Page("http://a.example/a", "20150101000000", docx("quarry"), "application/zip"),
        Page("http://a.example/b.png", "20150101000000", b"lantern", "image/png"),
        Page("http://a.example/c.mp3", "20150101000000", b"sound", "audio/mpeg"),
    ]
    warc = write_warc(tmp_path / "office.warc.gz", pages)
    commands = ("--extractor", "image/*=tr a-z A-Z", "--extractor", "audio=false")
    report = nwx("import", warc, *commands, "--json").json
    assert (report["documents"], report["errors_by_kind"]) == (3, {"extract": 1})
    assert "false failed (exit code 1" in report["errors"][0]["message"]
    for word, name in (("type:office quarry", "a"), ("LANTERN", "b.png")):
        (hit,) = nwx("search", word, "--json").json["hits"]
        assert hit["url"] == f"http://a.example/{name}"


def test_an_extractor_that_is_not_installed_is_refused(nwx: Nwx, warc: Path) -> None:
    found = nwx("import", warc, "--extractor", "image/*=no-such-command", code=2)
    assert "there is no command 'no-such-command'" in found.err
