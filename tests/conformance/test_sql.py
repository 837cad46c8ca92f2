"""SQL on an archive on every engine: its tables and their columns."""

from collections.abc import Iterator

import polars as pl
import pytest

from nwx.archive import Archive
from nwx.engine.base import Engine
from nwx.errors import NotBuiltError, NwxError
from nwx.searching.sql import SQL_TABLES, SqlLimits, all_columns
from tests.conformance.archive import settings_of
from tests.conformance.engines import new_archive
from tests.warcs import Page, html, write_warc

ABOVE_ENGINES = True

_MIB = 1 << 20
FEW = SqlLimits(seconds=20, rows=1_000, bytes=_MIB, memory_bytes=128 * _MIB, disk_bytes=64 * _MIB)
PAGES = [
    Page("http://a.example/", "20100101000000", html("Home", "<a href='/b'>to b</a> a lamp")),
    Page("http://a.example/", "20120101000000", html("Home", "a new lamp")),
    Page("http://www.a.example/b", "20120301123456", html("B", "<h1>Head</h1> the b")),
    Page("http://b.example/", "20120302000000", html("Other", "<a href='http://a.example/'>A</a>")),
    Page("http://a.example/", "20140101000000", html("Home", "a new lamp"), revisit=True),
]


@pytest.fixture(scope="module")
def archive(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Archive]:
    folder = tmp_path_factory.mktemp(kind)
    with new_archive(kind, folder, request) as opener:
        with opener() as engine:
            engine.create()
            settings = settings_of(engine)
        with Archive(settings) as opened:
            opened.import_(write_warc(folder / "a.warc.gz", PAGES), jobs=1)
            yield opened


def rows(archive: Archive, query: str, limits: SqlLimits = FEW) -> list[list[object]]:
    return list(archive.sql(query, limits))


def test_captures(archive: Archive) -> None:
    by_year = "SELECT year(timestamp), count(*), count(DISTINCT url) FROM captures GROUP BY 1"
    assert rows(archive, f"{by_year} ORDER BY 1") == [[2010, 1, 1], [2012, 3, 3], [2014, 1, 1]]
    assert rows(archive, "SELECT count(*) FROM captures") == [[5]]
    revisits = "SELECT timestamp, refers_to_timestamp FROM captures WHERE record_type = 'revisit'"
    assert rows(archive, revisits)[0][0] == "2014-01-01T00:00:00Z"
    found = archive.sql("FROM captures ORDER BY timestamp", FEW)
    assert found.columns == tuple(SQL_TABLES["captures"])
    assert len(found) == 5 and found[0] == found[:1][0]
    assert found.to_polars()["timestamp"].dtype == pl.Datetime("us", "UTC")


def test_columns_in_bulk_are_those_of_the_index(archive: Archive) -> None:
    bulk = "SELECT host, domain, status_code, source_file_offset, timestamp FROM captures"
    # An additional column that bulk captures lack.
    entries = bulk.replace("host,", "host, method,").join(("SELECT * EXCLUDE method FROM (", ")"))
    assert sorted(map(str, rows(archive, bulk))) == sorted(map(str, rows(archive, entries)))


def test_other_tables(archive: Archive) -> None:
    titles = "SELECT DISTINCT title FROM documents JOIN captures c ON id = c.document_id ORDER BY 1"
    assert rows(archive, titles) == [["B"], ["Home"], ["Other"]]
    assert rows(archive, "SELECT headings FROM documents WHERE title = 'B'") == [[["Head"]]]
    hosts = "SELECT host, captures, last_timestamp FROM hosts ORDER BY host LIMIT 1"
    assert rows(archive, hosts) == [["a.example", 3, "2014-01-01T00:00:00Z"]]
    assert rows(archive, "SELECT count(*) FROM pictures") == [[0]]
    described = rows(archive, "DESCRIBE documents")
    assert [(one[0], one[1]) for one in described] == list(SQL_TABLES["documents"].items())
    archive.build("links", workers=1)
    assert rows(archive, "SELECT source, kind, anchor FROM links WHERE target = 'example,a)/'") == [
        ["example,b)/", "a", "A"]
    ]


def test_links_that_were_never_inverted_are_an_error(engine: Engine) -> None:
    with pytest.raises(NotBuiltError, match="invert-links"):
        Archive.over(engine).sql("FROM links", FEW)


def test_columns_that_are_not_named_are_found_too(archive: Archive) -> None:
    whole = sorted(map(str, rows(archive, "FROM captures")))
    for query in (
        "SELECT a.* FROM captures a NATURAL JOIN (SELECT DISTINCT urlkey FROM captures)",
        "SELECT captures.* FROM captures",
        "WITH x AS (FROM captures) SELECT * FROM x",
        "SELECT * FROM query('FROM captures')",
        "SELECT * FROM query_table('captures')",
        "SELECT COLUMNS('.*') FROM captures",
        "SELECT c.* FROM (SELECT unnest(list(x), max_depth := 2) FROM captures x) c",
    ):
        assert len(found := rows(archive, query)) == 5, query
        if not query.startswith(("SELECT a.", "SELECT c.")):
            assert sorted(map(str, found)) == whole, query
    assert rows(archive, "SELECT count(x) FROM (SELECT x FROM captures x)") == [[5]]


def test_messages_name_what_there_is(archive: Archive) -> None:
    with pytest.raises(NwxError, match="tables: captures, documents, links, pictures, hosts"):
        rows(archive, "FROM capture")
    with pytest.raises(NwxError, match="columns of hosts: host, domain, captures"):
        rows(archive, "SELECT host,\n  captres FROM hosts")
    with pytest.raises(NwxError, match=r"syntax error at or near \"SELCT\" \(line 2\)"):
        rows(archive, "WITH x AS (SELECT 1)\nSELCT host FROM x")
    assert set(all_columns()) == {*SQL_TABLES, "hosts"}
