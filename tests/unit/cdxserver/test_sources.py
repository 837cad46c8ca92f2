"""Several sources combined."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from nwx.cdx.rows import CdxRow
from nwx.cdxserver.query_model import DIALECTS, parameters_of
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sorted_sources import CdxFileSource, ClusterSource
from nwx.cdxserver.sources import RestrictedSource, open_sources
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope, checked_rule
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan, exactly
from nwx.errors import CaptureIndexError, SourceError
from tests.cdxlines import ALL_RECORDS, CAPTURED
from tests.unit.zipnum.making import cdxj_lines, write_cluster
from webapp.site import responses

EVERYTHING = CdxSpan("", "\U0010ffff")


def server(tmp_path: Path) -> CdxServer:
    path = tmp_path / "all.cdx"
    path.write_text("".join(sorted(ALL_RECORDS.splitlines(keepends=True))))
    return CdxServer(open_sources([str(path)]))


def test_rows_of_records_that_are_no_captures_are_left_out(tmp_path: Path) -> None:
    urls = [row.url for row in server(tmp_path).source.rows(EVERYTHING)]
    assert sorted(urls) == sorted(CAPTURED)


def test_the_newest_capture_is_no_metadata_record(tmp_path: Path) -> None:
    asked = parameters_of("url=http://a.example/&limit=-1&fl=timestamp,mimetype")
    answer = server(tmp_path).answer(asked, DIALECTS["ia"])
    assert b"".join(answer.pieces) == b"20200101000000 text/html\n"


def test_a_cluster_without_its_data_is_told_without_paths(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = tmp_path / "broken.idx"
    index.write_bytes(b"com,example)/ 20140127171200\tfoo\t0\t275\t1\n")
    found = CdxServer(open_sources([str(index)]))
    for ask in (found.source.rows, found.source.marks):
        with pytest.raises(CaptureIndexError, match=r"broken\.idx cannot be read") as told:
            list(ask(EVERYTHING))
        assert str(tmp_path) not in str(told.value)
        assert "foo.gz" in caplog.records[-1].message
    assert responses.status_of(told.value) == 503
    found.close()


def test_a_file_that_is_gone_is_told_without_paths(tmp_path: Path) -> None:
    found = server(tmp_path)
    (tmp_path / "all.cdx").unlink()
    with pytest.raises(CaptureIndexError) as told:
        list(found.source.rows(EVERYTHING))
    assert str(tmp_path) not in str(told.value)


def test_the_dialect_of_pywb_spells_digests_and_missing_fields(tmp_path: Path) -> None:
    found = server(tmp_path)
    for output, start in (("json", ""), ("cdxj", "example,a)/9 20200101000000 ")):
        asked = parameters_of(f"urlkey=example,a)/9&fl=status,digest,method&output={output}")
        answer = b"".join(found.answer(asked, DIALECTS["pywb"]).pieces).decode()
        assert answer == f'{start}{{"status": "-", "digest": "sha1:{"H" * 32}"}}\n'


_ALL = CdxSpan("", chr(0x10FFFF))
_FORM = CdxLineForm((0,), bare_digests=False)
SECRET = "http://com,secret)/"
_DIGEST = "HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"


def _row(urlkey: str, digest: str = "-", collection: str = "web") -> CdxRow:
    url = f"http://{urlkey}"
    fields = (urlkey, "20100101000000", url, "text/html", "200", digest, "-", "-", "1", "2", "a")
    return CdxRow(*fields, collection)


class _Source:
    name, is_local = "some rows", True
    _rows = (
        _row("com,a)/"),
        _row("com,b)/", _DIGEST),
        _row("com,c)/", collection="else"),
        _row("com,d)/")._replace(redirect=SECRET),
    )

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        return (row for row in self._rows if span.start <= f"{row.urlkey} " < span.end)

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterable[CdxBlock] | None:
        return iter((CdxBlock(rows=tuple(self.rows(span))),))

    def marks(self, span: CdxSpan) -> Iterator[str]:
        return (f"{row.urlkey} {row.timestamp}" for row in self.rows(span))

    def collections(self) -> Sequence[str]:
        return ["else", "web"]

    def close(self) -> None:
        raise AssertionError("the source is another's")


def _seen(*scopes: Scope) -> RestrictedSource:
    rules = (checked_rule(AccessRule("", Action.EXCLUDE, scope)) for scope in scopes)
    decisions = AccessRules(rules, "1").for_viewer(EVERYBODY)
    return RestrictedSource(_Source(), decisions, lambda urls: {SECRET}.intersection(urls))


def test_hidden_rows_are_left_out() -> None:
    scopes = Scope(prefix="com,a)/"), Scope(digest=f"sha1:{_DIGEST}"), Scope(collection="else")
    seen = _seen(*scopes)
    assert [row.urlkey for row in seen.rows(_ALL)] == ["com,d)/"]
    assert [row.redirect for row in seen.rows(_ALL)] == ["-"]
    assert list(seen.marks(_ALL)) == ["com,d)/ 20100101000000"]
    assert seen.blocks(_ALL, _FORM) is None
    assert seen.collections() == ["web"]
    seen.close()


def test_spans_that_no_rule_is_about_are_passed_through() -> None:
    seen = _seen(Scope(prefix="com,a)/"))
    assert seen.blocks(exactly("com,d)/"), _FORM) is not None
    assert [row.urlkey for row in seen.rows(exactly("com,d)/"))] == ["com,d)/"]
    assert len(list(seen.marks(exactly("com,d)/")))) == 1


LINE = "example,a)/ 20100101000000 http://a.example/ text/html 200 - - - - 0 f\n"


def test_a_folder_of_files_is_a_source_each_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.cdx", "a.CDXJ", "notes.txt"):
        (tmp_path / name).write_text(LINE)
    found = open_sources([f"web={tmp_path}"])
    assert [source.name for source in found] == ["a.CDXJ", "b.cdx"]
    assert [source.collections() for source in found] == [("web",), ("web",)]
    assert all(isinstance(source, CdxFileSource) for source in found)


def test_a_cluster_is_found_by_its_folder_and_by_its_index(tmp_path: Path) -> None:
    index = write_cluster(tmp_path, cdxj_lines(10))
    for place in (index, tmp_path):
        (found,) = open_sources([str(place)])
        assert isinstance(found, ClusterSource)
        assert found.collections() == ("default",)
        found.close()


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        open_sources([str(tmp_path / "none.cdx")])


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"neither an \.idx file nor"):
        open_sources([str(tmp_path)])
