"""Captures from submitted CDX lines."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from nwx.archive import Archive
from nwx.cdxserver import loaded_lines
from nwx.cdxserver.loaded_lines import load_lines, make_ready, unload_lines
from nwx.engine.base import Engine, open_engine
from nwx.errors import CdxError, UsageError
from nwx.model import Capture, IndexName
from nwx.settings import Settings

SHA = b"HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"
PAGE = b"- 20100102030405 http://www.A.example/ text/html 200 %b - - 100 7 a.warc.gz" % SHA
REVISIT = b"- 20110102030405 http://a.example/ warc/revisit - %b - - 90 207 a.warc.gz" % SHA
REQUEST = b"- 20110102030405 http://a.example/ application/http;msgtype=request - - - - 9 8 a.gz"
NO_FILE = b"- 20100102030405 http://a.example/ text/html 200 %b - - 100 - -" % SHA


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as opened:
        make_ready(opened)
        yield opened


def _load(engine: Engine, *lines: bytes, skip_bad: bool = False) -> tuple[int, int, int]:
    done = load_lines(engine, lines, "web", skip_bad=skip_bad, name="sent")
    return done.lines, done.changed, done.bad_lines


def test_lines_are_captures_with_a_urlkey_computed_anew(engine: Engine) -> None:
    assert _load(engine, PAGE, REVISIT) == (2, 2, 0)
    page, revisit = engine.captures("example,a)/")
    assert (page.url, page.status_code, page.content_type_norm, page.domain) == (
        "http://www.A.example/",
        200,
        "html",
        "a.example",
    )
    assert page.digest == f"sha1:{SHA.decode()}"
    assert (page.source_file, page.source_file_offset, page.record_length) == ("a.warc.gz", 7, 100)
    assert (revisit.record_type, revisit.content_type) == ("revisit", "")


def test_lines_that_are_there_already_change_nothing(engine: Engine) -> None:
    _load(engine, PAGE)
    assert _load(engine, PAGE, REVISIT) == (2, 1, 0)


def test_a_bad_line_stops_all(engine: Engine) -> None:
    with pytest.raises(CdxError) as raised:
        _load(engine, PAGE, NO_FILE)
    assert raised.value.line == 2
    assert engine.count(IndexName.CAPTURES) == 0


def test_bad_lines_can_be_left_out_and_are_counted(engine: Engine) -> None:
    assert _load(engine, NO_FILE, PAGE, skip_bad=True) == (1, 1, 1)


def test_lines_below_the_usual_header_are_read_together(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(loaded_lines, "capture_of")
    lines = b"\n".join((b" CDX N b a m s k r M S V g", PAGE, REVISIT))
    assert _load(engine, lines) == (2, 2, 0)
    assert _load(engine, PAGE, REVISIT) == (2, 0, 0)


def test_lines_are_read_before_the_archive_is_locked(engine: Engine) -> None:
    with open_engine(Settings(engine=engine.address)) as other:

        def blocks() -> Iterator[bytes]:
            yield PAGE
            assert _load(other, REVISIT) == (1, 1, 0)

        assert load_lines(engine, blocks(), "web", skip_bad=False, name="sent").changed == 1


def test_lines_are_unloaded_by_the_records_they_name(engine: Engine) -> None:
    _load(engine, PAGE, REVISIT)
    done = unload_lines(engine, [REVISIT], "web", skip_bad=False, name="sent")
    assert (done.lines, done.changed) == (1, 1)
    assert [one.timestamp for one in engine.captures("example,a)/")] == ["20100102030405"]


def test_a_name_that_no_collection_can_have_is_refused(engine: Engine) -> None:
    with pytest.raises(UsageError):
        load_lines(engine, [PAGE], "a/b", skip_bad=False, name="sent")


def test_captures_are_stored_some_at_a_time_where_that_is_wanted(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[int] = []
    load_captures = engine.load_captures

    def load(batches: Iterable[Sequence[Capture]]) -> int:
        stored.append(load_captures(batches))
        return stored[-1]

    monkeypatch.setattr(engine, "load_captures", load)
    lines = [PAGE.replace(b" 7 ", b" %d " % place) for place in range(9)]
    done = load_lines(engine, [*lines, b"bad"], "web", skip_bad=True, name="sent", at_once=3)
    assert stored == [3, 3, 3]
    assert (done.lines, done.changed, done.bad_lines) == (9, 9, 1)
    load_lines(engine, lines, "web", skip_bad=True, name="sent")
    assert stored == [3, 3, 3, 0]
    more = [PAGE.replace(b" 7 ", b" %d " % place) for place in range(10, 15)]
    with pytest.raises(CdxError):
        load_lines(engine, [*more, b"bad"], "web", skip_bad=False, name="sent", at_once=2)
    assert engine.count(IndexName.CAPTURES) == 13, "those of the pieces before the bad line"


def test_lines_among_plain_ones_keep_their_numbers_and_headers_are_followed(
    engine: Engine,
) -> None:
    plain = [PAGE.replace(b" 7 ", b" %d " % place) + b"\n" for place in range(4)]
    with pytest.raises(CdxError) as caught:
        _load(engine, *plain[:2], b"bad\n", plain[2])
    assert caught.value.line == 3
    shorter = b"example,c)/ 20120102030405 http://c.example/ text/html 200 %b - 9 a.warc.gz\n" % SHA
    lines = (plain[0], b" CDX N b a m s k r V g\n", shorter, plain[1])
    assert _load(engine, *lines, skip_bad=True) == (2, 2, 1)


def test_files_are_loaded_with_a_report(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_bytes(PAGE + b"\nbad\n")
    archive = Archive.over(engine)
    report = archive.load_cdx([tmp_path / "gone.cdx", tmp_path / "a.cdx"], "web")
    assert (report.lines, report.changed, report.bad_lines) == (1, 1, 1)
    assert [error.line for error in report.errors] == [2]
    assert [str(error).rpartition("/")[2] for error in report.failed] == [
        "gone.cdx cannot be opened: No such file or directory"
    ]
    assert report.useful
    (tmp_path / "b.cdx").write_bytes(b"bad\n" * 15)
    many = archive.load_cdx([tmp_path / "b.cdx"] * 3, "web")
    assert (many.bad_lines, len(many.errors)) == (45, 20)
    strict = archive.load_cdx(tmp_path / "a.cdx", strict=True)
    assert "line 2" in str(strict.failed[0]) and not strict.lines and not strict.useful
