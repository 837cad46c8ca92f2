"""Captures listed in CDX files, compared with an archive."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.maintenance.cdx_comparison import CdxComparison
from nwx.model import Capture, SourceFile
from nwx.quality.missing_originals import missing_originals
from nwx.settings import Settings
from tests.conformance.archive import batch, capture, dates_of, page, sha1

HELD = page("http://a.example/", "2010", "a stone", offset=100)
FILES = (
    SourceFile("web", "a.warc.gz", "/x/a.warc.gz", 900, "c", 900, finished=True),
    SourceFile("web", "half.warc.gz", "/x/half.warc.gz", 900, "c", 300),
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as opened:
        opened.write(replace(batch([HELD]), files=FILES))
        opened.refresh()
        yield opened


def _line(path: str = "", digest: str = "", file: str = "a.warc.gz", offset: int = 100) -> str:
    url, told = f"http://a.example/{path}", digest or HELD.capture.digest
    return f"example,a)/{path} 20100101000000 {url} text/html 200 {told} - - 50 {offset} {file}\n"


def test_what_is_held_is_not_missing(engine: Engine, tmp_path: Path) -> None:
    cdx = tmp_path / "a.cdx"
    cdx.write_text(_line() + "broken\n")
    comparison = CdxComparison(engine, "web")
    assert list(comparison.missing([str(cdx)])) == []
    assert (comparison.lines, comparison.held, comparison.problems_total) == (1, 1, 1)


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (_line("x", file="other.warc.gz"), "not-imported"),
        (_line("x", file="half.warc.gz", offset=500), "unfinished"),
        (_line("x", file="half.warc.gz", offset=100), "unread"),
        (_line(digest=sha1("another content")), "digest"),
        (_line("x"), "unread"),
        (_line("x", digest=sha1("none"), file="-"), "unknown"),
    ],
)
def test_the_cause_is_told(engine: Engine, tmp_path: Path, line: str, cause: str) -> None:
    cdx = tmp_path / "a.cdx"
    cdx.write_text(line)
    (found,) = CdxComparison(engine).missing([str(cdx)])
    assert found.cause.value == cause
    assert found.timestamp == "20100101000000"


def test_what_was_left_out_on_purpose_is_excluded(engine: Engine, tmp_path: Path) -> None:
    cdx = tmp_path / "a.cdx"
    cdx.write_text(_line("x"))
    comparison = CdxComparison(engine, covers=lambda url, digest, timestamp: url.endswith("/x"))
    assert [one.cause.value for one in comparison.missing([str(cdx)])] == ["excluded"]


def test_another_collection_holds_nothing(engine: Engine, tmp_path: Path) -> None:
    cdx = tmp_path / "a.cdx"
    cdx.write_text(_line())
    assert len(list(CdxComparison(engine, "other").missing([str(cdx)]))) == 1


def _revisit(path: str, body: str = "a stone", **changes: object) -> Capture:
    made = capture(f"https://a.example/{path}", "2011", record_type="revisit", body=body)
    return replace(made, **changes)  # type: ignore[type-var]


def test_a_revisit_lacks_its_original_where_the_list_of_missing_originals_names_it(
    engine: Engine, tmp_path: Path
) -> None:
    revisits = (
        _revisit(""),
        _revisit("elsewhere"),
        _revisit("moved", "moved", status_code=302),
        _revisit("lone", "lone"),
        _revisit("same", digest="", status_code=304, refers_to_url=HELD.capture.url),
        _revisit("gone", digest="", status_code=304, refers_to_url="http://no.example/"),
    )
    engine.write(replace(batch(), captures=revisits, dates=dates_of(*revisits)))
    engine.refresh()
    cdx = tmp_path / "a.cdx"
    cdx.write_text(
        "".join(
            f"{one.urlkey} {one.timestamp} {one.url} warc/revisit - {one.digest or '-'} - - 5 "
            f"{one.source_file_offset} a.warc.gz\n"
            for one in revisits
        )
    )
    found = list(CdxComparison(engine).missing([str(cdx)]))
    assert [(one.url, one.cause.value) for one in found] == [
        ("https://a.example/lone", "original"),
        ("https://a.example/gone", "original"),
    ]
    assert len(list(missing_originals(engine))) == 2
