"""The public API on the sample archive."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest

import nwx
from nwx.answers.tables import column_types
from nwx.archive import Archive
from nwx.bulk.progress import WorkProgress
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.picture_index import PictureQuestion
from nwx.exports import captures
from nwx.model import Inlink, SearchResult
from nwx.query.question import Question
from nwx.values.timestamps import DateOption, date_text

SAMPLE = Path(__file__).parent.parent.parent / "sample" / "archive"
HOME = "http://www.lantern.example/"
NOT_MODIFIED = b"http://netpreserve.org/warc/1.1/revisit/server-not-modified"
pytestmark = pytest.mark.xdist_group("python-api")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample archive with everything built."""
    folder = tmp_path_factory.mktemp("api") / "archive"
    with nwx.open(folder) as archive:
        report = archive.import_(SAMPLE, jobs=1)
        assert (report.files, report.captures, report.errors_total) == (7, 493, 0)
        assert set(archive.build(workers=1)) == {"facets", "links", "pictures"}
    return folder


@pytest.fixture
def archive(place: Path) -> Iterator[Archive]:
    with nwx.open(place) as opened:
        yield opened


def test_a_search_is_counted_cut_and_gone_through(archive: Archive) -> None:
    hits = archive.search("lamp OR harbour", type="html")
    assert len(hits) == hits.total.value == len(list(hits)) > 5
    assert hits[0] == hits[:1][0] == next(iter(hits))
    assert hits[2:4] == list(hits)[2:4]
    assert hits[-1] == list(hits)[-1]
    assert [one.id for one in hits[::2]] == [one.id for one in list(hits)[::2]]
    with pytest.raises(IndexError):
        hits[len(hits)]


def test_facets_and_reasons_of_a_search(archive: Archive) -> None:
    hits = archive.search("harbour")
    assert {one.value for one in hits.facets["type"]} >= {"html"}
    assert set(archive.search("harbour", facets=["year"]).facets) == {"year"}
    assert all(line.startswith("http") for line in hits.explain(2))
    assert archive.search("harbuor").did_you_mean() == "harbour"


def test_hits_as_tables(archive: Archive, tmp_path: Path) -> None:
    hits = archive.search("harbour")
    frame = hits.to_polars()
    assert frame.height == len(hits)
    assert frame["url"].to_list() == [one.url for one in hits]
    assert frame.schema["status"] == pl.Int64
    assert hits.to_csv(tmp_path / "hits.csv") == len(hits)
    assert (tmp_path / "hits.csv").read_text().count("\n") == len(hits) + 1
    assert hits.to_arrow().num_rows == hits.to_pandas().shape[0] == len(hits)
    assert pl.DataFrame(hits).height == len(hits)
    assert hits.write(tmp_path / "urls.txt", "txt") == len(hits)
    nothing = archive.search("nothingofthekind")
    assert (len(nothing), nothing.to_polars().height, nothing[:3]) == (0, 0, [])


def test_captures(archive: Archive) -> None:
    captures = archive.captures()
    assert len(captures) == 493 == captures.to_polars().height == len(list(captures))
    one_page = archive.captures(HOME, from_="2010", to="2013")
    assert {row.timestamp[:4] for row in one_page} == {"2010", "2013"}
    collapsed = archive.captures("www.lantern.example/*", collapse="urlkey")
    assert len(collapsed) == len({row.urlkey for row in archive.captures("www.lantern.example/*")})
    pictures = archive.captures(filter="mime:image", columns=("url", "status", "collection"))
    assert set(pictures.to_polars().columns) == {"url", "status", "collection"}
    assert len(archive.captures(limit=7)) == 7
    assert archive.captures(limit=0).to_polars().height == len(archive.captures(limit=0)) == 0
    assert (
        len(archive.captures(collection="none"))
        == 0
        == archive.captures("x.example").to_polars().height
    )


def test_hits_of_most_words_are_the_same_however_they_are_read(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    hits = archive.search("harbour nosuchword")
    assert hits.page().most_words and len(hits) > 5
    urls = {hit.url for hit in hits[: len(hits)]}
    assert {hit.url for hit in hits} == urls == set(hits.to_polars()["url"])
    assert {hit.url for hit in hits.scroll()} == urls
    assert sum(one.count for one in hits.facets["type"]) == hits.page().documents.value
    assert "<rect" in hits.chart()
    monkeypatch.setattr(captures, "RESULT_WINDOW", 2)
    assert {hit.url for hit in hits} == urls


def test_hits_are_read_without_a_search_for_their_first_page(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Question] = []
    search = EmbeddedEngine.search

    def noted(engine: EmbeddedEngine, question: Question) -> SearchResult:
        asked.append(question)
        return search(engine, question)

    monkeypatch.setattr(EmbeddedEngine, "search", noted)
    assert next(iter(archive.search("harbour lamp")))
    assert [one.limit for one in asked] == [0, captures.RESULTS_AT_ONCE]


def test_captures_as_text_and_as_rows_are_the_same(archive: Archive) -> None:
    captures = archive.captures("lantern.example/*")
    rows = [captures.cells(row) for row in captures]
    assert [list(row) for row in captures.to_polars().rows()] == rows


def test_a_capture_with_its_record(archive: Archive) -> None:
    found = archive.capture(HOME, at="2013-05")
    assert found is not None
    assert found.timestamp.startswith("2013") and found.status == 200
    assert found.headers["CONTENT-type"].startswith("text/html")
    assert found.payload.startswith(b"<!") and "harbour" in found.text
    assert found.record.fields["WARC-Type"] == "response"
    assert found.replay_url == f"/replay/{found.timestamp}/{found.url}"
    assert archive.capture("http://www.lantern.example/nowhere") is None


def test_a_revisit_has_the_payload_of_its_original(archive: Archive) -> None:
    revisit = next(row for row in archive.captures() if row.mime == "warc/revisit")
    found = archive.capture(revisit.url, at=revisit.timestamp)
    assert found is not None and found.capture.record_type == "revisit"
    original = next(
        row
        for row in archive.captures()
        if row.digest == revisit.digest and row.mime != "warc/revisit"
    )
    whole = archive.capture(original.url, at=original.timestamp)
    assert whole is not None and found.payload == whole.payload


def test_documents_versions_and_dates(archive: Archive) -> None:
    versions = archive.versions(HOME)
    assert len(versions) > 1
    shown = archive.document(versions[0].id)
    assert shown is not None and shown.document.capture.url == versions[0].url
    with pytest.raises(nwx.UsageError, match="versions"):
        archive.document(HOME)
    dates = archive.dates(HOME)
    assert len(dates) >= sum(one.captures for one in versions)
    assert "<svg" in dates._repr_html_()
    changes = archive.diff(HOME, "2008", "2024")
    assert changes.removed and changes.added


def test_counts(archive: Archive) -> None:
    by_type = archive.facets(by="type", where={"year": [2013, 2015]})
    assert by_type.total.captures == sum(row.features.captures for row in by_type)
    assert by_type.to_polars().columns[:2] == ["type", "captures"]
    assert archive.facets(where=["type!=html"]).total.captures < 493
    trends = archive.trends(["harbour", "lamp"], by="month")
    assert trends.to_polars().height == len(trends)
    assert archive.words("harbour", limit=5).documents > 0
    assert archive.stats()["captures"].entries == 493


def test_links_and_what_is_missing(archive: Archive) -> None:
    links = archive.links(to=HOME)
    assert links.is_current and links.counts.documents > 50 and len(links) > 50
    assert links.anchors[0].text == "Lantern"
    assert {"url", "target"} <= set(links.to_polars().columns)
    assert archive.links(to="www.lantern.example", limit=1).to_polars().height <= 1
    assert all(one.page == HOME for one in archive.outlinks(of=HOME))
    assert all(one.pages for one in archive.missing(kind="embedded", limit=3))


def test_pictures_quality_and_due(archive: Archive) -> None:
    assert archive.pictures("harbour")[0].width > 0
    assert archive.pictures().to_polars().height > 0
    assert len(archive.quality(site="lantern.example")) == 0
    due = archive.due(since="1d", limit=3)
    assert len(due) == 3 and due.to_polars()["overdue"].min() > 1


def test_values_of_a_choice_are_known(archive: Archive) -> None:
    for ask in (
        lambda: archive.quality(kind="lost"),
        lambda: archive.reviews(verdict="great"),
        lambda: archive.queued(state="lost"),
    ):
        with pytest.raises(nwx.UsageError, match="choose one of"):
            ask()


def test_work_reports_its_progress_and_what_is_stale(tmp_path: Path) -> None:
    seen: list[WorkProgress] = []
    with nwx.open(tmp_path / "archive") as archive:
        missing = archive.import_(tmp_path / "no.warc.gz")
        assert missing.errors_total == 1 and not (tmp_path / "archive").exists()
        first = SAMPLE / "LANTERN-2008-00000.arc.gz"
        archive.import_(first, collection="old", jobs=1, progress=seen.append)
        assert seen and archive.captures()[0].collection == "old"
        assert set(archive.build("facets")) == {"facets"}
        assert not archive.is_stale("facets") and archive.is_stale("links")
        archive.import_([SAMPLE / "LANTERN-2010-00000.warc.gz"], jobs=1)
        assert archive.is_stale("facets")
        with pytest.raises(nwx.UsageError, match="facets, links, pictures"):
            archive.build("all")


def test_exports(archive: Archive, tmp_path: Path) -> None:
    assert archive.export_captures(tmp_path / "captures").captures == 493
    assert archive.export_links(tmp_path / "links", formats=("csv",)).hosts > 0
    assert archive.export_warc(tmp_path / "out.warc.gz", "harbour").captures > 0


def test_a_stored_ranking_has_its_name(tmp_path: Path) -> None:
    with nwx.open(tmp_path / "archive") as archive:
        archive.create()
        assert archive.save_ranking("titles", title=6.0).name == "titles"


def test_wrong_use_names_the_choices(archive: Archive) -> None:
    with pytest.raises(nwx.UsageError, match="relevance"):
        archive.search("x", sort="best")
    with pytest.raises(nwx.UsageError, match="no filter"):
        len(archive.search("x", colour="red"))
    with pytest.raises(nwx.UsageError, match="api_key"):
        nwx.open("archive", key="1")
    with pytest.raises(nwx.UsageError, match="curator"):
        nwx.open("archive", viewer="king")
    with pytest.raises(nwx.EngineError):
        len(nwx.open(archive.settings.engine + "-not").captures())


def test_lists_of_duplicates_and_clusters(archive: Archive, tmp_path: Path) -> None:
    cdx = tmp_path / "all.cdx"
    cdx.write_bytes(b" CDX N b a m s k r M S V g\n" + _cdx_lines(archive))
    report = nwx.dedup_cdx(cdx, tmp_path / "list.txt")
    assert report.duplicates == len((tmp_path / "list.txt").read_text().splitlines()) > 0
    built = nwx.zipnum.build(tmp_path / "cluster", [cdx])
    assert built.lines == 493 and (tmp_path / "cluster" / "cluster.idx").exists()


def _cdx_lines(archive: Archive) -> bytes:
    fields = ("urlkey", "timestamp", "url", "mime", "status", "digest")
    rest = ("redirect", "robotflags", "length", "offset", "filename")
    return b"".join(archive.captures(columns=fields + rest).lines())


def test_hostile_texts_are_escaped_in_notebooks() -> None:
    from nwx.answers.tables import bar_chart, html_table, line_chart

    bad = '<script>\x1b\u202e&"'
    for shown in (
        html_table([bad], [[bad]], bad),
        bar_chart({bad: 1}),
        line_chart([bad], {bad: [1]}),
    ):
        assert "<script" not in shown and "\u202e" not in shown and "\x1b" not in shown


def test_columns_are_fields_with_texts_and_numbers() -> None:
    assert column_types(Inlink) == dict.fromkeys(Inlink._fields, str)


def test_all_public_names_are_there() -> None:
    assert all(getattr(nwx, name) for name in nwx.__all__)
    assert set(nwx.__all__) <= set(dir(nwx))
    with pytest.raises(AttributeError):
        nwx.nothing  # noqa: B018


def test_importing_loads_nothing() -> None:
    program = "import sys, nwx; print(sorted(n for n in sys.modules if n.startswith('nwx')))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout.decode().strip() == "['nwx']"


def test_a_script_without_a_guard_is_run_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import nwx\n"
        "print('run')\n"
        f"archive = nwx.open({str(tmp_path / 'archive')!r})\n"
        f"print(archive.import_({str(SAMPLE / 'LANTERN-2008-00000.arc.gz')!r}).captures)\n"
    )
    found = subprocess.run([sys.executable, script], capture_output=True, check=True)
    assert found.stdout.decode().split() == ["run", "56"] and not found.stderr


def test_work_within_work_keeps_the_archive_open(tmp_path: Path) -> None:
    archive = nwx.open(tmp_path / "archive")
    with archive._writable() as outer:
        archive.create()
        assert archive._engine is outer
        archive.import_(SAMPLE / "LANTERN-2008-00000.arc.gz")
        assert archive._engine is outer
        archive.build("pictures")
        assert archive._engine is outer
    assert archive._engine is None


@pytest.mark.parametrize("year", ["2013", 2013, date(2013, 1, 1), datetime(2013, 1, 1, tzinfo=UTC)])
def test_dates_are_texts_numbers_or_dates(archive: Archive, year: DateOption) -> None:
    same = archive.captures(from_="2013")
    assert len(archive.captures(from_=year)) == len(same) < len(archive.captures())
    assert len(archive.search("lamp", from_=year)) == len(archive.search("lamp", from_="2013"))
    found, wanted = archive.capture(HOME, at=year), archive.capture(HOME, at="2013")
    assert found and wanted and found.timestamp == wanted.timestamp
    assert archive.diff(HOME, year, 2024) == archive.diff(HOME, "2013", "2024")
    assert archive.trends("lamp", from_=year).columns
    assert archive.words("lamp", to=year) == archive.words("lamp", to=date_text(year))
    assert archive.due(at=year)[:3] == archive.due(at="2013")[:3]
    assert len(archive.changes("lantern.example", since=year, limit=3)) == 3
    assert archive.quote("Lantern", url=HOME, from_=year).verified
    later = datetime(2013, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert len(archive.captures(from_=later)) == len(same)


def test_wrong_options_are_refused(archive: Archive) -> None:
    for wrong in (
        lambda: archive.captures(from_="last spring"),
        lambda: archive.captures(to="2010-1"),
        lambda: archive.missing(kind="picture")[:1],
        lambda: archive.captures(limit=-1),
        lambda: archive.missing(limit=-1)[:1],
        lambda: archive.links("http://www.lantern.example/", limit=-1)[:1],
        lambda: archive.facets("year", limit=-1),
        lambda: archive.words("lamp", limit=-1),
        lambda: archive.pictures(limit=-1)[:1],
        lambda: archive.due(limit=-1)[:1],
        lambda: archive.is_built("pages"),
        lambda: archive.is_stale("pages"),
    ):
        with pytest.raises(nwx.UsageError):
            wrong()
    with pytest.raises(TypeError):
        archive.search("lamp")["url"]  # type: ignore[call-overload]


def test_one_column_and_all_pictures(archive: Archive) -> None:
    assert archive.captures("*").to_polars().equals(archive.captures().to_polars())
    assert archive.captures(columns="url").columns == ("url",)
    assert len(archive.pictures()) == archive.search_pictures(PictureQuestion()).total.value


def test_empty_frames_of_pandas_keep_texts(archive: Archive) -> None:
    for nothing in (archive.search("nothingofthekind"), archive.captures("x.example")):
        frame = nothing.to_pandas()
        assert not frame.url.str.contains("x").any() and frame.status.sum() == 0


def test_notebooks_count_one_row(archive: Archive) -> None:
    assert "<p>1 row</p>" in archive.captures(limit=1)._repr_html_()


def test_numbers_of_other_libraries_are_numbers(archive: Archive) -> None:
    years = archive.captures().to_polars()["timestamp"].str.slice(0, 4).cast(pl.Int64).to_numpy()
    year = years[0]
    assert not isinstance(year, int)
    assert len(archive.search("lamp", year=year)) == len(archive.search("lamp", year=int(year)))
    assert archive.facets(where={"year": year}).total.captures == (years == year).sum()
    assert len(archive.pictures(limit=years[0] - years[0] + 2)) == 2


def test_a_column_is_named_once(archive: Archive) -> None:
    with pytest.raises(nwx.UsageError, match="list each only once"):
        archive.captures(columns=["url", "url"])


def test_archives_go_to_other_processes(archive: Archive) -> None:
    again = pickle.loads(pickle.dumps(archive))
    assert repr(again) == repr(archive) and again.viewer == archive.viewer
    url = archive.search("lamp")[0].url
    for table in (
        archive.search("lamp"),
        archive.captures(url, columns=["url", "timestamp"]),
        archive.versions(url),
        archive.links(url),
        archive.sql("SELECT url FROM captures"),
    ):
        rows = pickle.loads(pickle.dumps(table))
        assert (rows.columns, list(rows)) == (table.columns, list(table))
