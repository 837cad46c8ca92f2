"""nwx search, show, dump and other reading commands."""

import csv
import io
from pathlib import Path

import pytest

from nwx.cli.search.search import CSV_COLUMNS
from tests.cli.conftest import QUARRY, run_nwx

STEERING = ["\x1b", "\x07", "\x9b", "\u202e"]


def test_json_has_the_agreed_shape(quarry: Path) -> None:
    found = run_nwx(
        quarry, "search", "slate", "--all-versions", "--facets", "year", "--sort=oldest", "--json"
    ).json
    assert found["total"] == {"value": 2, "relation": "eq"}
    first, second = found["hits"]
    assert first["url"] == QUARRY.url
    assert first["digest"] == QUARRY.digest
    assert first["dates"] == ["20140126200624", "20150126200624"]
    assert second["dates"] == ["20160126200624"]
    assert "Slate" in first["snippet"]
    assert {"title", "score"} <= first.keys()
    years = {facet["value"]: facet["count"] for facet in found["facets"]["year"]}
    assert years == {"2014": 1, "2015": 1, "2016": 1}
    assert found["took_ms"] >= 0


def test_versions_of_a_url_are_one_result(quarry: Path) -> None:
    found = run_nwx(quarry, "search", "slate", "--json").json
    assert found["total"]["value"] == 1
    assert found["hits"][0]["versions"] == 2


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["--year", "2015"], 1),
        (["--year", "2015", "--year", "2017"], 3),
        (["--from", "2016-02"], 3),
        (["--to", "2014"], 1),
        (["--host", "evil.example"], 1),
        (["--domain", "quarry.example"], 4),
        (["--status", "404"], 1),
        (["--collection", "stones"], 5),
        (["--collection", "others"], 0),
        (["--type", "html"], 5),
    ],
)
def test_filters(quarry: Path, arguments: list[str], count: int) -> None:
    found = run_nwx(quarry, "search", "--all-versions", "--json", *arguments).json
    assert found["total"]["value"] == count


def test_pages(quarry: Path) -> None:
    options = ("search", "--all-versions", "--sort", "newest", "--limit", 2, "--json")
    pages = [run_nwx(quarry, *options, "--page", page).json["hits"] for page in (1, 2, 3)]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert len({hit["id"] for page in pages for hit in page}) == 5
    ran = run_nwx(quarry, "search", "--page", 2000, code=2)
    run_nwx(quarry, "search", "--scroll", "--page", 2, code=2)
    assert "10" in ran.err


def test_csv_has_one_header_and_one_line_a_hit(quarry: Path) -> None:
    ran = run_nwx(quarry, "search", "slate", "--csv", "--all-versions", "--sort=oldest")
    header, *rows = csv.reader(io.StringIO(ran.out))
    assert tuple(header) == CSV_COLUMNS
    first = dict(zip(header, rows[0], strict=True))
    assert (first["url"], first["captures"], first["last_date"]) == (
        QUARRY.url,
        "2",
        "2015-01-26T20:06:24Z",
    )
    assert len(rows) == 2


def test_scroll_streams_all(quarry: Path) -> None:
    lines = run_nwx(quarry, "search", "--scroll").json_lines
    assert len(lines) == 5
    assert len({line["id"] for line in lines}) == 5
    assert len(run_nwx(quarry, "search", "--scroll", "--limit", 2).json_lines) == 2
    rows = list(csv.reader(io.StringIO(run_nwx(quarry, "search", "--scroll", "--csv").out)))
    assert len(rows) == 6


def test_the_table_reads_well_without_colours(quarry: Path) -> None:
    out = run_nwx(quarry, "search", "slate", "--facets", "type,status", COLUMNS="100").out
    assert "The quarry" in out
    assert QUARRY.url in out
    assert "1–1 of 1 result" in out
    assert "\nstatus\n" in out
    assert "\x1b" not in out
    assert "nothing found" in run_nwx(quarry, "search", "granite").out


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "escapes"],
        ["search", "escapes", "--json"],
        ["search", "escapes", "--csv"],
        ["search", "--scroll"],
        ["dump", "documents"],
        ["dump", "captures"],
        ["files"],
    ],
)
def test_archived_text_cannot_steer_a_terminal(quarry: Path, arguments: list[str]) -> None:
    out = run_nwx(quarry, *arguments).out
    assert not [sign for sign in STEERING if sign in out]


def test_every_script_is_readable_in_json(quarry: Path) -> None:
    assert "採石場" in run_nwx(quarry, "search", "採石場", "--json").out


def test_show_takes_a_key_an_id_or_a_url(quarry: Path) -> None:
    by_key = run_nwx(quarry, "show", QUARRY.url, QUARRY.digest, "--json").json
    assert by_key["dates"] == ["20140126200624", "20150126200624"]
    assert [c["record_type"] for c in by_key["captures"]] == ["response", "revisit"]
    assert by_key["captures"][0]["source_file"] == "quarry.warc.gz"
    quoted = run_nwx(quarry, "show", f"{QUARRY.url} {QUARRY.digest}", "--json").json
    bare = run_nwx(quarry, "show", QUARRY.url, QUARRY.digest.removeprefix("sha1:"), "--json").json
    by_id = run_nwx(quarry, "show", by_key["id"], "--json").json
    assert by_key == quoted == bare == by_id
    versions = run_nwx(quarry, "show", QUARRY.url, "--json").json
    assert [version["captures"] for version in versions] == [2, 1]
    only = run_nwx(quarry, "show", "http://www.quarry.example/gone", "--json").json
    assert only["status_code"] == 404


def test_show_for_people(quarry: Path) -> None:
    out = run_nwx(quarry, "show", QUARRY.url, QUARRY.digest).out
    assert "Slate from the quarry." in out
    assert "2015-01-26 20:06:24" in out
    assert "quarry.warc.gz" in out
    assert "Slate from" not in run_nwx(quarry, "show", "--no-text", QUARRY.url, QUARRY.digest).out
    assert "2016-01-26" in run_nwx(quarry, "show", QUARRY.url).out


def test_what_is_not_there_is_said(quarry: Path) -> None:
    assert "no document" in run_nwx(quarry, "show", "http://nowhere.example/", code=1).err
    assert "no document" in run_nwx(quarry, "show", "0" * 32, code=1).err
    run_nwx(quarry, "show", "http://nowhere.example/", "no-digest", code=2)


def test_dumps_are_json_lines_in_order(quarry: Path) -> None:
    for index, count in (("documents", 5), ("dates", 5), ("captures", 6), ("files", 1)):
        lines = run_nwx(quarry, "dump", index).json_lines
        assert len(lines) == count
        by = "source_file_offset" if index == "captures" else "id"
        ids = [line[by] for line in lines]
        assert ids == sorted(ids)


def test_stats_and_files(quarry: Path) -> None:
    stats = run_nwx(quarry, "stats", "--json").json
    assert stats["documents"] == 5
    assert stats["bytes"]["documents"] > 0
    assert "documents" in run_nwx(quarry, "stats").out
    [file] = run_nwx(quarry, "files", "--json").json_lines
    assert file["counts"]["captures"] == 6
    assert "quarry.warc.gz" in run_nwx(quarry, "files").out


def test_csv_for_excel_begins_with_a_byte_order_mark(quarry: Path) -> None:
    plain, marked = (run_nwx(quarry, "search", "slate", one).out for one in ("--csv", "--excel"))
    assert marked == f"\ufeff{plain}"
    assert plain.startswith("url,")
