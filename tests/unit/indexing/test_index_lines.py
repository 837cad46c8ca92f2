"""Lines of records, as pywb's two indexers write them."""

from pathlib import Path

import pytest

from nwx.errors import UrlError
from nwx.indexing.index_lines import IndexLineForm, index_line
from nwx.warc.members import open_members
from nwx.warc.record import Record
from nwx.warc.scanner import Scanner
from tests.warcs import Page, html, write_warc

PAGE = Page("http://www.example.org/a b", "20200102030405", html("Home", "text"))


def record_of(tmp_path: Path) -> Record:
    path = write_warc(tmp_path / "a.warc.gz", [PAGE])
    with path.open("rb") as handle:
        for record in Scanner(open_members(handle), 1 << 16, lambda record: None):
            if record.kind == "response":
                record.http_head()
                return record
    raise AssertionError


def test_the_forms_of_a_line(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    nine, eleven, cdxj = (index_line(record, "a.warc.gz", form) for form in IndexLineForm)
    assert nine.split(" ")[0] == cdxj.split(" ")[0] == "org,example)/a%20b"
    assert (nine.count(" "), eleven.count(" ")) == (8, 10)
    assert eleven.split(" ")[1] == "20200102030405"
    assert eleven.split(" ")[-3] == str(record.length)
    assert '"mime": "text/html", "status": "200"' in cdxj
    assert nine.endswith(f" {record.offset} a.warc.gz")


@pytest.mark.parametrize("kind", ["request", "warcinfo", "unknown"])
def test_records_that_are_no_captures_are_in_no_index(tmp_path: Path, kind: str) -> None:
    record = record_of(tmp_path)
    record.kind = kind
    assert index_line(record, "a.warc.gz", IndexLineForm.CDX11) == ""


def test_a_record_without_a_url_cannot_be_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = record_of(tmp_path)
    monkeypatch.setattr(type(record.fields), "get", lambda *_: b"")
    with pytest.raises(UrlError):
        index_line(record, "a.warc.gz", IndexLineForm.CDX11)
