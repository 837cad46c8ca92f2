"""Sorted lines as rows, forwards and backwards."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.bulk import sorted_file
from nwx.cdx.rows import row_parser
from nwx.cdxserver import sorted_sources
from nwx.cdxserver.sorted_sources import (
    CdxFileSource,
    ClusterSource,
    LineReader,
    backwards,
    in_order,
    lines_backwards,
    place_of_line,
)
from nwx.cdxserver.sources import open_sources
from nwx.engine.capture_index import CdxSpan, exactly
from nwx.errors import CdxQueryError, SourceError
from tests.unit.zipnum.making import cdxj_lines, write_cluster

PAGE = b"example,a)/ 2010 http://a.example/ text/html 200 - - - - 0 f"
REVISIT = b"example,a)/ 2011 http://a.example/ warc/revisit - - - - - 9 f\r"


@pytest.mark.parametrize(
    ("revisits", "timestamps"), [(None, ["2010", "2011"]), (True, ["2011"]), (False, ["2010"])]
)
def test_rows_are_chosen_by_what_they_are(revisits: bool | None, timestamps: list[str]) -> None:
    reader = LineReader("a.cdx", row_parser(None, "web"))
    rows = list(reader.rows([PAGE, b"broken", REVISIT], revisits))
    assert [row.timestamp for row in rows] == timestamps
    assert {row.filename for row in rows} == {"f"}
    assert reader.bad_lines == 1


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (b"a)/ 2010 more here", b"a)/ 2010"),
        (b"a)/ 2010", b"a)/ 2010"),
        (b"a)/", b"a)/"),
        (b"", b""),
    ],
)
def test_the_place_of_a_line_is_its_first_two_fields(line: bytes, place: bytes) -> None:
    assert place_of_line(line) == place


def test_lines_in_order_pass_and_empty_ones_do_not() -> None:
    assert list(in_order([b"a 1 x", b"", b"a 1 b", b"b 0 c"], "f")) == [
        b"a 1 x",
        b"a 1 b",
        b"b 0 c",
    ]


def test_a_line_out_of_order_is_an_error_that_names_the_file() -> None:
    lines = in_order([b"b 1 x", b"a 1 x"], "some.cdx")
    assert next(lines) == b"b 1 x"
    with pytest.raises(SourceError, match=r"some\.cdx is not sorted"):
        next(lines)


def test_few_lines_are_turned_round() -> None:
    assert list(backwards(iter([b"a", b"b", b"c"]))) == [b"c", b"b", b"a"]


EVERYTHING = CdxSpan("", "\U0010ffff")


def line(key: str, timestamp: str, url: str = "http://a.example/", name: str = "f") -> bytes:
    return f"{key} {timestamp} {url} text/html 200 - - - - 0 {name}\n".encode()


def source(path: Path, *content: bytes) -> CdxFileSource:
    path.write_bytes(b"".join(content))
    return CdxFileSource(path, "web")


def times(found: CdxFileSource, span: CdxSpan) -> list[str]:
    return [row.timestamp for row in found.rows(span)]


@pytest.mark.parametrize("seed", range(4))
def test_every_key_is_found(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_file, "_PROBE_BYTES", 64 + 100 * seed)
    chance = random.Random(seed)
    made = sorted(
        line(
            f"example,{chance.choice('abcdefgh')})/{'x' * chance.choice((0, 1, 300))}",
            f"20{chance.randrange(10, 20)}0101000000",
            name=f"f{number}",
        )
        for number in range(300)
    )
    found = source(tmp_path / "a.cdx", *made)
    keys = {one.split(b" ")[0].decode() for one in made}
    for key in (*keys, "aaa", "example,c)/y", "zzz"):
        expected = [
            one.split(b" ")[-1].strip().decode()
            for one in made
            if one.startswith(f"{key} ".encode())
        ]
        assert [row.filename for row in found.rows(exactly(key))] == expected
    assert len(list(found.rows(EVERYTHING))) == 300
    reverse = [row.filename for row in found.rows(CdxSpan("", "\U0010ffff", newest_first=True))]
    assert reverse == [row.filename for row in found.rows(EVERYTHING)][::-1]


def test_files_with_headers_gaps_and_no_last_newline(tmp_path: Path) -> None:
    found = source(
        tmp_path / "a.cdx",
        b" CDX N b a m s k r V g\r\n",
        b"a)/ 2010 http://a/ text/html 200 - - 5 f\r\n",
        b"\n",
        b"b)/ 2011 http://b/ text/html 200 - - 6 -",
    )
    first, second = found.rows(EVERYTHING)
    assert (first.filename, first.length, first.offset) == ("f", "-", "5")
    assert (second.urlkey, second.mime) == ("b)/", "warc/revisit")


def test_lines_that_cannot_be_read_are_passed_over_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = source(
        tmp_path / "a.cdx",
        line("a)/", "2010"),
        b"b)/ 2010 x\n",
        b"b)/ 2011 {\n",
        line("c)/", "2012"),
    )
    assert times(found, EVERYTHING) == ["2010", "2012"]
    assert len(caplog.records) == 1
    assert "a.cdx" in caplog.text


def test_a_file_that_grows_or_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.cdx"
    found = source(path, line("a)/", "2010"))
    reading = found.rows(EVERYTHING)
    with path.open("ab") as stream:
        stream.write(line("a)/", "2011"))
    assert times(found, EVERYTHING) == ["2010", "2011"]
    fresh = tmp_path / "new"
    fresh.write_bytes(line("a)/", "2012"))
    fresh.replace(path)
    assert times(found, EVERYTHING) == ["2012"]
    assert [row.timestamp for row in reading] == ["2010"]
    path.unlink()
    with pytest.raises(SourceError):
        times(found, EVERYTHING)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (line("b)/", "2010") + line("a)/", "2010"), "not sorted"),
        (b"\x1f\x8b\x08\x00", "compressed"),
        (line("example.org/a", "2010", "http://example.org/a"), "SURT"),
        (b",CDX,N,b,a\n", "blanks"),
        (b" CDX N m s\n", "timestamp"),
    ],
)
def test_files_that_cannot_be_looked_up(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        source(tmp_path / "a.cdx", content)


def test_disorder_between_samples_is_found_when_it_is_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_sources, "_PROBES", 1)
    made = [line(f"a{number:03})/", "2010") for number in range(100)]
    made[50], made[51] = made[51], made[50]
    found = source(tmp_path / "a.cdx", *made)
    with pytest.raises(SourceError, match="a050"):
        times(found, EVERYTHING)
    assert times(found, exactly("a010)/")) == ["2010"]


def test_only_what_is_named_is_opened(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        open_sources([f"web={tmp_path / 'nothing'}"])
    with pytest.raises(SourceError, match="neither"):
        open_sources([str(tmp_path)])
    source(tmp_path / "a=b.cdx", line("a)/", "2010"))
    (found,) = open_sources([str(tmp_path / "a=b.cdx")])
    assert found.collections() == ("default",)
    (found,) = open_sources([f"web={tmp_path / 'a=b.cdx'}"])
    assert found.collections() == ("web",)


def test_many_lines_are_turned_round_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_sources, "_HELD_BYTES", 1_000)
    monkeypatch.setattr(sorted_sources, "_BACKWARD_BYTES", 37)
    made = [f"{number} {'x' * (number % 90)}".encode() for number in range(500)]
    assert list(backwards(iter(made))) == made[::-1]
    assert list(backwards(iter(made[:3]))) == made[2::-1]
    monkeypatch.setattr(sorted_sources, "MOST_REVERSED_BYTES", 5_000)
    with pytest.raises(CdxQueryError, match="narrow"):
        list(backwards(iter(made)))


@pytest.mark.parametrize("content", [b"", b"one\n", b"one", b"one\ntwo\n", b"one\ntwo"])
def test_lines_backwards_of_small_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with path.open("rb") as stream:
        found = list(lines_backwards(stream, 0, len(content)))
    assert found == content.splitlines()[::-1]


ALL = CdxSpan("", "\U0010ffff")


@pytest.fixture
def cluster_source(tmp_path: Path) -> Iterator[ClusterSource]:
    made = ClusterSource(str(write_cluster(tmp_path, cdxj_lines(100), lines=40)), "web")
    yield made
    made.close()


def test_all_lines_are_rows_in_either_order(cluster_source: ClusterSource) -> None:
    rows = list(cluster_source.rows(ALL))
    assert len(rows) == 100
    assert [f"{row.urlkey} {row.timestamp}" for row in rows] == [
        b" ".join(line.split(b" ")[:2]).decode() for line in cdxj_lines(100)
    ]
    assert list(cluster_source.rows(replace(ALL, newest_first=True))) == rows[::-1]


def test_one_urlkey_is_looked_up(cluster_source: ClusterSource) -> None:
    (row,) = cluster_source.rows(exactly("org,site05)/page/1"))
    assert (row.url, row.offset, row.collection) == ("http://site05.org/page/1", "25000", "web")


def test_marks_are_the_first_line_and_those_that_begin_blocks(
    cluster_source: ClusterSource,
) -> None:
    lines = [b" ".join(line.split(b" ")[:2]).decode() for line in cdxj_lines(100)]
    marks = list(cluster_source.marks(ALL))
    assert sorted(set(marks)) == [lines[0], lines[40], lines[80]]
    assert list(cluster_source.marks(CdxSpan("zzz", "zzzz"))) == []


def test_a_cluster_may_be_replaced_while_it_is_read(
    cluster_source: ClusterSource, tmp_path: Path
) -> None:
    rows = cluster_source.rows(ALL)
    before = [next(rows)]
    (tmp_path / "new").mkdir()
    made = write_cluster(tmp_path / "new", cdxj_lines(50), lines=40).parent
    for path in made.iterdir():
        path.rename(tmp_path / path.name)
    assert len([*before, *rows]) == 100
    assert len(list(cluster_source.rows(ALL))) == 50
    (tmp_path / "cluster.idx").unlink()
    with pytest.raises(SourceError):
        list(cluster_source.rows(ALL))


def test_another_collection_has_nothing(cluster_source: ClusterSource) -> None:
    assert list(cluster_source.rows(replace(ALL, collection="other"))) == []
    assert list(cluster_source.marks(replace(ALL, collection="other"))) == []
    assert cluster_source.collections() == ("web",)
