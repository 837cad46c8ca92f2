"""Records converted to entries and back."""

import json
from pathlib import Path

import numpy as np
import pytest

from nwx.bulk.arrays import write_arrays
from nwx.engine.entries import (
    EntryColumns,
    IndexEntry,
    TextsFile,
    capture_entry,
    capture_from_entry,
    clean_text,
    combination_id,
    dates_entry,
    dates_from_entry,
    document_capture,
    document_entry,
    document_from_entry,
    file_entry,
    file_from_entry,
    merged_dates,
    merged_entries,
    url_words,
)
from nwx.errors import BlobError
from nwx.model import Dates, Document, Extract, Link, SourceFile
from nwx.values.urls import url_parts
from tests.conformance.archive import capture, page

KEY = "http://a.example/ sha1:AAAA"


def test_a_capture_comes_back_from_its_entry() -> None:
    held = capture("http://www.a.example/b", "20130203040506", offset=7)
    entry = capture_entry(held)
    assert entry["id"] == "web/a.warc.gz@7"
    assert (entry["crawl_date"], entry["crawl_year"]) == ("2013-02-03T04:05:06Z", 2013)
    assert capture_from_entry(entry) == held


def test_fields_without_a_value_are_left_out() -> None:
    entry = capture_entry(capture("http://a.example/", status=None, length=None))
    left_out = {"status_code", "content_length", "record_length", "redirect_to", "via", "hops"}
    assert not left_out & set(entry)


def test_a_document_comes_back_from_its_entry() -> None:
    links = (Link("http://b.example/x", "b"), Link("http://c.b.example/", "", "img"))
    made = page("http://a.example/", content="stone", title="T", headings=("H",), links=links)
    entry = document_entry(made)
    assert entry["links_domains"] == ["b.example"]
    assert document_capture(entry) == made.capture
    assert document_from_entry(entry).extract == made.extract
    assert document_from_entry(entry).capture == made.capture


def test_the_words_of_a_url_are_apart() -> None:
    assert url_words("http://a.example/sch%C3%B6n_tag?x=1") == "http a example schön tag x 1"


def test_dates_are_in_order_and_each_is_there_once() -> None:
    first, second = ("20100101000000", "web"), ("20110101000000", "a/b")
    entry = dates_entry(Dates(KEY, (second, first, second)))
    assert entry["seen"] == ["web/20100101000000", "a/b/20110101000000"]
    assert entry["dates"] == ["20100101000000", "20110101000000"]
    assert entry["count"] == 2
    assert dates_from_entry(entry) == Dates(KEY, (first, second))


def test_dates_of_several_parts_are_joined() -> None:
    first, second, third = (("2010", "web"), ("2011", "web"), ("2012", "web"))
    parts = [
        {"a": Dates("k", (second,))},
        {"a": Dates("k", (first, second)), "b": Dates("l", (third,))},
    ]
    assert merged_dates(parts) == {"a": Dates("k", (first, second)), "b": Dates("l", (third,))}


def _dates(id: str, *seen: str) -> IndexEntry:
    return {"id": id, "key": KEY, "dates": [], "seen": list(seen), "count": len(seen)}


def test_entries_of_several_indices_come_in_the_order_of_their_ids() -> None:
    one = [_dates("1", "web/20100101000000"), _dates("3", "web/20110101000000")]
    other = [_dates("2", "x/20100101000000"), _dates("3", "x/20090101000000")]
    found = list(merged_entries([iter(one), iter(other)]))
    assert [entry["seen"] for entry in found] == [
        ["web/20100101000000"],
        ["x/20100101000000"],
        ["x/20090101000000", "web/20110101000000"],
    ]


def test_a_file_of_the_ledger_comes_back_from_its_entry() -> None:
    file = SourceFile("web", "a.warc", "/x/a.warc", 5, "c", 5, finished=True, counts={"n": 1})
    assert file_entry(file)["id"] == "web/a.warc"
    assert file_from_entry(file_entry(file)) == file


def test_lone_surrogates_are_replaced() -> None:
    assert clean_text("a\ud800b") == "a\ufffdb"
    assert clean_text("\ud83d\ude00") == "😀"
    assert clean_text("schön") == "schön"


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("http://www.a.example/x/y", "a.example"),
        ("https://b.example", "b.example"),
        ("http:////c.example/x", "c.example"),
        ("https:///////d.example/x/y", "d.example"),
        ("http:e.example/a/b", "e.example"),
        ("ftp://f.example/a/b", "f.example"),
        ("http://user:a@g.example:80/x", "g.example"),
        ("http://h.example?q=/i.example/", "h.example"),
        ("gopher:/j.example/x", "j.example"),
        ("http://[::1]/x", "[::1]"),
        ("mailto:a@k.example/x", None),
        ("http://", None),
    ],
)
def test_the_domains_of_links_are_those_of_their_hosts(url: str, domain: str | None) -> None:
    assert url_parts(url).domain == (domain or "")
    links = (Link(url), Link("http://z.example/"))
    entry = document_entry(Document(capture("http://a/"), Extract(links=links)))
    assert entry["links_domains"] == sorted({domain or "z.example", "z.example"})


def columns(folder: Path) -> EntryColumns:
    (folder / "types.json").write_text(json.dumps(["unknown", "html"]))
    arrays = {
        "type/type": np.array([1, 0], dtype=np.uint8),
        "type/captures": np.array([2**40, 3]),
        "/captures": np.array([5], dtype=np.uint8),
    }
    write_arrays(folder / "a", arrays)
    return EntryColumns("a", 3, {"type": "types.json"}, {"type": "content_type_norm"})


def test_entries_have_the_texts_of_codes_and_plain_numbers(tmp_path: Path) -> None:
    found = list(columns(tmp_path).read(tmp_path))
    assert found == [
        {
            "id": "type=html",
            "grouping": "type",
            "content_type_norm": "html",
            "captures": 2**40,
        },
        {"id": "type=unknown", "grouping": "type", "content_type_norm": "unknown", "captures": 3},
        {"id": "", "grouping": "", "captures": 5},
    ]
    assert {type(entry["captures"]) for entry in found} == {int}


@pytest.mark.parametrize("missing", ["a", "types.json"])
def test_missing_files_are_named(tmp_path: Path, missing: str) -> None:
    known = columns(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(BlobError, match=missing):
        list(known.read(tmp_path))


def test_texts_are_read_although_their_file_was_removed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('["x", "é"]')
    texts = TextsFile(tmp_path / "a")
    (tmp_path / "a").unlink()
    assert texts.read() == ["x", "é"]


def test_damaged_texts_are_named(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text('["x"')
    with pytest.raises(BlobError, match="broken"):
        TextsFile(tmp_path / "broken").read()
    (tmp_path / "empty").write_text("")
    with pytest.raises(BlobError, match="empty"):
        TextsFile(tmp_path / "empty")


def test_ids_of_combinations() -> None:
    assert combination_id(["status", "month"], ["ok", "2013-01", 7]) == "status=ok month=2013-01"
    assert combination_id([], [7]) == ""
