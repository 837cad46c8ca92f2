"""A WACZ contains the selection, record by record, and indexes it."""

import gzip
import hashlib
import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator

from nwx.engine.base import Engine, open_engine
from nwx.errors import SourceError
from nwx.exports import PackOptions, PackReport, WaczSelection, pack
from nwx.exports.wacz_selection import Catalogue
from nwx.importing import ImportOptions, import_files
from nwx.model import IndexName
from nwx.settings import Settings
from nwx.warc.sources import expand
from nwx.zipnum.cluster import open_cluster
from nwx.zipnum.verification import verify_cluster
from tests.renders import ALL_RENDERS, PAGE, all_renders, page_record, write_rendered
from tests.warcs import Page, html, warc_record, write_warc

SAMPLE = Path(__file__).parent.parent.parent.parent / "sample" / "archive"
A = Page("http://a.example/", "20150101000000", html("Title A", "Slate from the quarry"))
A_AGAIN = Page(A.url, "20160101000000", A.body, revisit=True)
B = Page("http://b.example/", "20170101000000", html("Title B", "Marble from the sea"))
B_AS_A = Page("http://b.example/a", "20180101000000", A.body, revisit=True)


def load(engine: Engine, folder: Path, *files: Path, collection: str = "first") -> None:
    options = ImportOptions(jobs=1, collection=collection)
    settings = Settings(str(folder / "archive"))
    import_files(engine, settings, expand(map(str, files)), options)
    engine.refresh()


def packed(engine: Engine, out: Path, selection: WaczSelection | None = None) -> PackReport:
    return pack(engine, selection or WaczSelection(), out, PackOptions(title="A title"))


def index_of(out: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Return urlkey, timestamp and JSON values of each index line."""
    with open_cluster(out) as cluster:
        lines = [line.decode().split(" ", 2) for line in cluster.lines()]
    return [(key, timestamp, json.loads(text)) for key, timestamp, text in lines]


def found(out: Path) -> set[tuple[str, str]]:
    return {(values["url"], timestamp) for _, timestamp, values in index_of(out)}


def record_of(out: Path, values: dict[str, Any]) -> tuple[bytes, Any]:
    """Return the stored bytes of a record, and the record as read by warcio."""
    with zipfile.ZipFile(out) as archive:
        warc = archive.read(f"archive/{values['filename']}")
    offset = int(values["offset"])
    stored = warc[offset : offset + int(values["length"])]
    return stored, next(iter(ArchiveIterator(io.BytesIO(stored))))


def pages_of(out: Path) -> list[dict[str, Any]]:
    with zipfile.ZipFile(out) as archive:
        return [json.loads(line) for line in archive.read("pages/pages.jsonl").splitlines()]


def captures_of(engine: Engine) -> list[tuple[str, ...]]:
    scanned = engine.scan(IndexName.CAPTURES)
    names = ("url", "timestamp", "digest", "record_type", "urlkey")
    return sorted(tuple(str(entry.get(name)) for name in names) for entry in scanned)


def test_an_archive_of_all_formats_is_the_same_after_a_journey(
    tmp_path: Path, engine: Engine
) -> None:
    load(engine, tmp_path, SAMPLE)
    out = tmp_path / "all.wacz"
    report = packed(engine, out)
    assert (report.captures, report.missing, report.errors) == (493, 0, [])
    with open_engine(Settings(str(tmp_path / "again" / "archive"))) as again:
        again.create()
        (tmp_path / "again").mkdir(exist_ok=True)
        load(again, tmp_path / "again", out)
        assert captures_of(again) == captures_of(engine)
        assert again.count(IndexName.DOCUMENTS) == engine.count(IndexName.DOCUMENTS)
        ids = [str(entry["id"]) for entry in engine.scan(IndexName.DOCUMENTS)]
        before, after = engine.documents(ids), again.documents(ids)
        assert {id: each.extract for id, each in before.items()} == {
            id: each.extract for id, each in after.items()
        }


def test_every_line_of_the_index_leads_to_its_record(tmp_path: Path, engine: Engine) -> None:
    load(engine, tmp_path, SAMPLE)
    out = tmp_path / "all.wacz"
    packed(engine, out)
    assert verify_cluster(str(out)).counts == {}
    index = index_of(out)
    assert len(index) == 493
    for _, timestamp, values in index[::7]:
        _, record = record_of(out, values)
        assert record.rec_headers.get_header("WARC-Target-URI") == values["url"]
        date = record.rec_headers.get_header("WARC-Date")
        assert re.sub(r"\D", "", date)[:14] == timestamp
        assert not record.content_stream().read() or record.payload_length != 0


def test_records_in_members_of_their_own_are_copied_byte_for_byte(
    tmp_path: Path, engine: Engine
) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", [A, B])
    load(engine, tmp_path, warc)
    packed(engine, tmp_path / "out.wacz")
    for _, _, values in index_of(tmp_path / "out.wacz"):
        stored, _ = record_of(tmp_path / "out.wacz", values)
        assert stored in warc.read_bytes()


@pytest.mark.parametrize("form", ["plain", "zstd", "one member", "wacz"])
def test_records_stored_otherwise_are_written_anew(
    tmp_path: Path, engine: Engine, form: str
) -> None:
    records = [warc_record(page) for page in (A, B)]
    path = tmp_path / "a.warc"
    if form == "plain":
        path.write_bytes(b"".join(records))
    elif form == "zstd":
        path = tmp_path / "a.warc.zst"
        path.write_bytes(b"".join(map(zstandard.compress, records)))
    elif form == "wacz":
        path = tmp_path / "a.wacz"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("archive/x.warc.gz", b"".join(map(gzip.compress, records)))
    else:
        path = tmp_path / "a.warc.gz"
        path.write_bytes(gzip.compress(b"".join(records), mtime=0))
    load(engine, tmp_path, path)
    report = packed(engine, tmp_path / "out.wacz")
    assert (report.captures, report.missing) == (2, 0)
    for (_, _, values), original in zip(index_of(tmp_path / "out.wacz"), records, strict=True):
        stored, _ = record_of(tmp_path / "out.wacz", values)
        assert gzip.decompress(stored) == original


def test_the_list_of_files_has_their_checksums(tmp_path: Path, engine: Engine) -> None:
    load(engine, tmp_path, write_warc(tmp_path / "a.warc.gz", [A]))
    packed(engine, tmp_path / "out.wacz")
    with zipfile.ZipFile(tmp_path / "out.wacz") as archive:
        package = json.loads(archive.read("datapackage.json"))
        listed = {each["path"]: (each["hash"], each["bytes"]) for each in package["resources"]}
        for name in set(archive.namelist()) - {"datapackage.json", "datapackage-digest.json"}:
            data = archive.read(name)
            expected = (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data))
            assert listed.pop(name) == expected
        digest = json.loads(archive.read("datapackage-digest.json"))
        whole = hashlib.sha256(archive.read("datapackage.json")).hexdigest()
        stored = {info.filename: info.compress_type for info in archive.infolist()}
    assert not listed
    assert digest == {"path": "datapackage.json", "hash": f"sha256:{whole}"}
    assert (package["wacz_version"], package["title"]) == ("1.1.1", "A title")
    assert stored["archive/data-00000.warc.gz"] == zipfile.ZIP_STORED
    assert stored["indexes/index.cdx.gz"] == zipfile.ZIP_STORED


def test_pages_have_title_and_text(tmp_path: Path, engine: Engine) -> None:
    gone = Page("http://a.example/gone", "20150101000000", html("Gone", "x"), status="404 No")
    picture = Page("http://a.example/p.png", "20150101000000", b"\x89PNG", "image/png")
    pages = [A, A_AGAIN, B, gone, picture]
    load(engine, tmp_path, write_warc(tmp_path / "a.warc.gz", pages))
    report = packed(engine, tmp_path / "out.wacz")
    head, *listed = pages_of(tmp_path / "out.wacz")
    assert head["format"] == "json-pages-1.0"
    assert [(page["url"], page["title"], page["ts"]) for page in listed] == [
        (A.url, "Title A", "2015-01-01T00:00:00Z"),
        (B.url, "Title B", "2017-01-01T00:00:00Z"),
    ]
    assert "Slate from the quarry" in listed[0]["text"]
    assert report.pages == 2
    pack(engine, WaczSelection(), tmp_path / "bare.wacz", PackOptions(text=False))
    assert all("text" not in page for page in pages_of(tmp_path / "bare.wacz"))


@pytest.fixture
def two_collections(tmp_path: Path, engine: Engine) -> Engine:
    return load_both(tmp_path, engine)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A read-only archive of two collections."""
    folder = tmp_path_factory.mktemp("both")
    with open_engine(Settings(str(folder / "archive"))) as engine:
        engine.create()
        yield load_both(folder, engine)


def load_both(folder: Path, engine: Engine) -> Engine:
    load(engine, folder, write_warc(folder / "a.warc.gz", [A, A_AGAIN]))
    load(engine, folder, write_warc(folder / "b.warc.gz", [B, B_AS_A]), collection="second")
    return engine


@pytest.mark.xdist_group("wacz-both")
@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (WaczSelection(), [A, A_AGAIN, B, B_AS_A]),
        (WaczSelection(query="quarry"), [A, A_AGAIN]),
        (WaczSelection(query="marble"), [B]),
        (WaczSelection(query="from", date_to="20151231235959"), [A]),
        (WaczSelection(urls=(B.url,)), [B]),
        (WaczSelection(urls=("http://B.example:80/#x", "http://nowhere.example/")), [B]),
        (WaczSelection(urls=(B.url,), query="quarry"), [A, A_AGAIN, B]),
        (WaczSelection(collections=("first",)), [A, A_AGAIN]),
        # revisits include their originals, wherever these are
        (WaczSelection(urls=(A.url,), date_from="20160101000000"), [A, A_AGAIN]),
        (WaczSelection(collections=("second",)), [A, B, B_AS_A]),
    ],
)
def test_only_what_is_selected_is_packed(
    tmp_path: Path, both: Engine, selection: WaczSelection, expected: list[Page]
) -> None:
    packed(both, tmp_path / "out.wacz", selection)
    assert found(tmp_path / "out.wacz") == {(page.url, page.timestamp) for page in expected}


@pytest.mark.xdist_group("wacz-both")
def test_nothing_selected_writes_nothing(tmp_path: Path, both: Engine) -> None:
    with pytest.raises(SourceError, match="no capture"):
        packed(both, tmp_path / "out.wacz", WaczSelection(query="absent"))
    assert not (tmp_path / "out.wacz").exists()


def test_missing_files_are_told_and_the_rest_is_packed(
    tmp_path: Path, two_collections: Engine
) -> None:
    (tmp_path / "a.warc.gz").unlink()
    report = packed(two_collections, tmp_path / "out.wacz")
    assert (report.captures, report.missing) == (2, 2)
    assert [(error.file, error.kind) for error in report.errors] == [("a.warc.gz", "missing")]
    assert found(tmp_path / "out.wacz") == {(B.url, B.timestamp), (B_AS_A.url, B_AS_A.timestamp)}
    (tmp_path / "b.warc.gz").unlink()
    with pytest.raises(SourceError, match="none of 4 captures"):
        packed(two_collections, tmp_path / "other.wacz")
    assert not (tmp_path / "other.wacz").exists()


def test_damaged_records_are_told_and_the_rest_is_packed(
    tmp_path: Path, two_collections: Engine
) -> None:
    data = bytearray((tmp_path / "a.warc.gz").read_bytes())
    data[100:140] = bytes(40)
    (tmp_path / "a.warc.gz").write_bytes(data)
    report = packed(two_collections, tmp_path / "out.wacz")
    assert (report.captures, report.missing) == (3, 1)
    assert [(error.file, error.offset) for error in report.errors] == [("a.warc.gz", 0)]
    for _, timestamp, values in index_of(tmp_path / "out.wacz"):
        _, record = record_of(tmp_path / "out.wacz", values)
        assert re.sub(r"\D", "", record.rec_headers.get_header("WARC-Date")) == timestamp


def test_a_url_that_is_none_is_told(tmp_path: Path, two_collections: Engine) -> None:
    nested = "http://a.example/%" + "25" * 100
    report = packed(two_collections, tmp_path / "out.wacz", WaczSelection(urls=(nested, B.url)))
    assert [error.kind for error in report.errors] == ["url"]
    assert report.captures == 1


def test_names_inside_are_ours_alone(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "..%2f..\\evil\n.warc.gz"
    load(engine, tmp_path, write_warc(path, [A]))
    packed(engine, tmp_path / "out.wacz")
    with zipfile.ZipFile(tmp_path / "out.wacz") as archive:
        names = archive.namelist()
    assert all(re.fullmatch(r"([a-z]+/)?[a-z0-9.-]+", name) for name in names), names


def test_large_selections_have_several_warcs(
    tmp_path: Path, two_collections: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.exports.wacz.WARC_BYTES", 500)
    packed(two_collections, tmp_path / "out.wacz")
    with zipfile.ZipFile(tmp_path / "out.wacz") as archive:
        warcs = [name for name in archive.namelist() if name.startswith("archive/")]
    assert len(warcs) > 1
    for _, _, values in index_of(tmp_path / "out.wacz"):
        record_of(tmp_path / "out.wacz", values)


def test_an_index_of_many_blocks(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.exports.wacz._LINES_A_BLOCK", 10)
    load(engine, tmp_path, SAMPLE)
    packed(engine, tmp_path / "out.wacz")
    report = verify_cluster(str(tmp_path / "out.wacz"))
    assert (report.blocks, report.lines, dict(report.counts)) == (50, 493, {})


def test_pages_come_with_their_renders(engine: Engine, tmp_path: Path) -> None:
    date = "2020-01-01T00:00:00Z"
    other = "http://other.example/"
    records = [page_record(other, date), *all_renders(other, date)]
    load(engine, tmp_path, write_rendered(tmp_path / "rendered.warc.gz", records))
    report = packed(engine, tmp_path / "one.wacz", WaczSelection(urls=(PAGE,)))
    assert (report.captures, report.pages, report.missing) == (1 + ALL_RENDERS, 1, 0)
    lines = index_of(tmp_path / "one.wacz")
    assert sum(key == "org,example)/page?a=1&b=2" for key, _, _ in lines) == 1
    assert sum(key.startswith("urn:view:") for key, _, _ in lines) == 1
    everything = packed(engine, tmp_path / "all.wacz")
    assert (everything.captures, everything.pages) == (2 * (1 + ALL_RENDERS), 2)
    with zipfile.ZipFile(tmp_path / "all.wacz") as wacz:
        _, *pages = wacz.read("pages/pages.jsonl").decode().splitlines()
    assert {json.loads(line)["url"] for line in pages} == {PAGE, other}


def test_renders_of_other_times_stay_away(engine: Engine, tmp_path: Path) -> None:
    later = [
        page_record(PAGE, "2024-01-01T00:00:00Z", "later"),
        *all_renders(PAGE, "2024-01-01T00:00:07Z"),
    ]
    load(engine, tmp_path, write_rendered(tmp_path / "rendered.warc.gz", later))
    selection = WaczSelection(urls=(PAGE,), date_from="20230101000000")
    report = packed(engine, tmp_path / "later.wacz", selection)
    assert (report.captures, report.pages) == (1 + ALL_RENDERS, 1)
    stamps = {timestamp for _, timestamp, _ in index_of(tmp_path / "later.wacz")}
    assert stamps == {"20240101000000", "20240101000007"}


def test_a_full_disk_for_temporary_files_is_an_error_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> int:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Catalogue, "add", no_space)
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
        with pytest.raises(SourceError, match="cannot be written: database or disk is full"):
            pack(engine, WaczSelection(), tmp_path / "out.wacz", PackOptions())
    assert not (tmp_path / "out.wacz").exists()
