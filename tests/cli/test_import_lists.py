"""nwx import with exclusion lists, and without deduplication."""

import base64
import gzip
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

from nwx.engine.base import open_engine
from nwx.maintenance.agreement import check
from nwx.model import IndexName
from nwx.settings import ServerSettings, Settings
from tests.cli.conftest import COMMAND, Nwx, environment, run_nwx
from tests.warcs import Page, html, many_pages, warc_record, write_warc

URL = "http://www.example.org/"
A, B = html("A", "the first text"), html("B", "the second text")
PAGES = [
    Page(URL, "20200101000000", A),
    Page(URL, "20210101000000", A),
    Page(URL, "20220101000000", B),
    Page(URL, "20230101000000", A),
    Page(URL, "20240101000000", A, revisit=True),
]
INDICES = (IndexName.DOCUMENTS, IndexName.DATES, IndexName.CAPTURES, IndexName.FILES)


def held(place: Path | str, prefix: str = "nwx") -> dict[str, list[Any]]:
    """Return all entries of an archive; its indices must be consistent."""
    with open_engine(Settings(str(place), ServerSettings(prefix)), read_only=True) as engine:
        assert list(check(engine)) == []
        return {index.value: list(engine.scan(index)) for index in INDICES}


def list_of(*pages: Page) -> str:
    return "".join(f"{page.timestamp} {page.digest} {page.url}\n" for page in pages)


def hex_of(digest: str) -> str:
    return base64.b32decode(digest.removeprefix("sha1:")).hex()


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return write_warc(tmp_path / "crawl.warc.gz", PAGES)


@pytest.fixture
def duplicates(tmp_path: Path, crawl: Path) -> Path:
    """The list of duplicates that dedup-cdx finds in the crawl."""
    run_nwx("none", "cdx", "-o", tmp_path / "crawl.cdx", crawl)
    run_nwx("none", "dedup-cdx", "-o", tmp_path / "crawl.dup", tmp_path / "crawl.cdx")
    return tmp_path / "crawl.dup"


def test_listed_captures_leave_only_their_dates(
    nwx: Nwx, tmp_path: Path, crawl: Path, duplicates: Path
) -> None:
    report = nwx("import", "-e", duplicates, crawl, "--json").json
    assert (report["captures"], report["documents"], report["excluded"]) == (2, 2, 3)
    assert report["duplicates"] == 0
    assert report["exclusion"] == {
        "lines": 3,
        "entries": 3,
        "met": 3,
        "met_before": 0,
        "unmet": 0,
        "problems_total": 0,
    }
    run_nwx(tmp_path / "plain", "import", crawl)
    plain, listed = held(tmp_path / "plain"), held(tmp_path / "archive")
    assert listed["documents"] == plain["documents"]
    assert listed["dates"] == plain["dates"]
    kept = [capture["timestamp"] for capture in listed["captures"]]
    assert kept == ["20200101000000", "20220101000000"]
    assert listed["files"][0]["counts"]["excluded"] == 3


def test_lists_of_any_tool_are_read(nwx: Nwx, tmp_path: Path, crawl: Path) -> None:
    lines = [
        f"{PAGES[1].timestamp} {PAGES[1].digest.removeprefix('sha1:')} {URL}\n",
        f"{URL} {PAGES[3].digest} {PAGES[3].timestamp}\n",
        f"{URL} {hex_of(PAGES[2].digest)} {PAGES[2].timestamp}\n",
    ]
    (tmp_path / "one").write_text(lines[0])
    (tmp_path / "two.gz").write_bytes(gzip.compress(lines[1].encode(), mtime=0))
    (tmp_path / "three.zst").write_bytes(zstandard.compress(lines[2].encode()))
    lists = [part for name in ("one", "two.gz", "three.zst") for part in ("-e", tmp_path / name)]
    report = nwx("import", *lists, "-e", "-", crawl, "--json", stdin=lines[0].encode()).json
    assert report["excluded"] == report["exclusion"]["met"] == 3
    assert report["exclusion"]["lines"] == 4
    nwx("check")


def test_urls_of_other_bytes_are_those_of_the_captures(nwx: Nwx, tmp_path: Path) -> None:
    """Tools that copy the bytes of a record write URLs that are not UTF-8."""
    pages = [Page("http://example.org/caf_", f"{year}0101000000", A) for year in (2020, 2021, 2022)]
    crawl = tmp_path / "crawl.warc"
    crawl.write_bytes(b"".join(map(warc_record, pages)).replace(b"caf_", b"caf\xe9"))
    raw = list_of(*pages[1:]).replace("caf_", "caf\xe9").encode("latin-1")
    (tmp_path / "list").write_bytes(raw)
    report = nwx("import", "-e", tmp_path / "list", crawl, "--json").json
    assert (report["captures"], report["exclusion"]["met"]) == (1, 2)
    nwx("check")
    known = nwx("add-dates", "--json", "-", stdin=raw).json
    assert (known["dates_known"], known["keys_without_document"]) == (2, 0)
    cdx = b"".join(
        b"- %b %b - - %b - - 5 5 f\n" % (date, url, digest)
        for date, digest, url in map(bytes.split, raw.splitlines())
    )
    listed = tmp_path / "listed"
    nwx("dedup-cdx", "-", "--against", tmp_path / "archive", "-o", listed, stdin=cdx)
    assert listed.read_bytes() == raw
    assert "2 held" in nwx("check", "--cdx", "-", stdin=cdx).out


def test_what_was_never_met_is_told(nwx: Nwx, tmp_path: Path, crawl: Path) -> None:
    strangers = [Page(f"{URL}{n}", "20200101000000", A) for n in range(12)]
    listed = tmp_path / "list"
    listed.write_text(list_of(*strangers, PAGES[1]) + "nonsense\n")
    ran = nwx("import", "-e", listed, "--unmet", tmp_path / "unmet", crawl)
    assert "13 entries on the exclusion list, 1 matched, 12 not matched; 1 line that" in ran.out
    assert f"nwx: {listed}:14: " in ran.err
    assert f"nwx: matched no capture: 20200101000000 {strangers[0].digest} {URL}0\n" in ran.err
    assert "and 2 more entries that matched no capture" in ran.err
    assert (tmp_path / "unmet").read_text() == list_of(*strangers)
    quiet = nwx("import", "--quiet", "-e", listed, "--unmet", tmp_path / "again", crawl)
    assert "matched no capture" not in quiet.err
    assert (tmp_path / "again").read_text() == list_of(*strangers)
    assert nwx("import", "--strict", "-e", listed, crawl, code=1).err.count("\n") == 1


def test_a_list_is_met_by_files_that_were_imported_before(
    nwx: Nwx, tmp_path: Path, crawl: Path, duplicates: Path
) -> None:
    duplicates.write_text(duplicates.read_text() + list_of(Page("http://a.example/", "2020", A)))
    nwx("import", "-e", duplicates, crawl)
    more = write_warc(tmp_path / "more.warc.gz", many_pages(3))
    told = nwx("import", "-e", duplicates, crawl, more, "--json").json["exclusion"]
    assert (told["met"], told["met_before"], told["unmet"]) == (3, 3, 1)


def test_wrong_use(nwx: Nwx, tmp_path: Path, crawl: Path) -> None:
    assert "add -e LIST" in nwx("import", "--unmet", tmp_path / "x", crawl, code=2).err
    assert "add - to the files" in nwx("import", crawl, "--name", "x.warc", code=2).err
    assert "only once" in nwx("import", "-e", "-", "-", "--name", "x.warc", code=2).err
    assert "cannot be opened" in nwx("import", "-e", tmp_path / "none", crawl, code=1).err


def test_a_capture_of_the_same_second_stays_with_the_one_that_is_kept(
    nwx: Nwx, tmp_path: Path
) -> None:
    twins = [PAGES[0], Page(URL, PAGES[0].timestamp, A)]
    files = [write_warc(tmp_path / f"{n}.warc.gz", [page]) for n, page in enumerate(twins)]
    later = write_warc(tmp_path / "later.warc.gz", [PAGES[1], PAGES[1]])
    nwx("cdx", "-o", tmp_path / "all.cdx", *files, later)
    nwx("dedup-cdx", "-o", tmp_path / "list", tmp_path / "all.cdx")
    report = nwx("import", "-e", tmp_path / "list", *files, later, "--json").json
    assert (report["documents"], report["captures"], report["excluded"]) == (1, 2, 2)
    nwx("check")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """Several files, and a list of half of their duplicates."""
    folder = tmp_path_factory.mktemp("many")
    files = [
        write_warc(folder / f"{number}.warc.gz", many_pages(count, start=number * 150))
        for number, count in enumerate((400, 200, 200))
    ]
    run_nwx("none", "cdx", "-o", folder / "all.cdx", *files)
    lines = run_nwx("none", "dedup-cdx", folder / "all.cdx").out.splitlines(keepends=True)
    (folder / "list").write_text("".join(lines[::2]))
    return folder / "list", files


@pytest.mark.parametrize("options", [("--no-dedup",), ()])
def test_killed_imports_with_a_list_end_as_an_undisturbed_one(
    tmp_path: Path, many: tuple[Path, list[Path]], options: tuple[str, ...]
) -> None:
    killed, calm = tmp_path / "killed", tmp_path / "calm"
    import_and_kill((killed, "nwx"), (calm, "nwx"), many, options)
    assert held(killed) == held(calm)


def test_killed_imports_with_a_list_into_elasticsearch_end_as_an_undisturbed_one(
    elasticsearch_url: str, elasticsearch_prefix: str, many: tuple[Path, list[Path]]
) -> None:
    killed, calm = ((elasticsearch_url, f"{elasticsearch_prefix}-{n}") for n in ("killed", "calm"))
    import_and_kill(killed, calm, many, ("--no-dedup",))
    assert held(*killed) == held(*calm)


def import_and_kill(
    killed: tuple[Path | str, str],
    calm: tuple[Path | str, str],
    many: tuple[Path, list[Path]],
    options: tuple[str, ...],
) -> None:
    """Import into two archives (address and prefix), one uninterrupted and one killed midway."""
    listed, files = many
    command = ["import", *options, "-e", str(listed), "--jobs", "2", *map(str, files)]
    began = time.monotonic()
    run_nwx(calm[0], *command, NWX_PREFIX=calm[1])
    seconds = time.monotonic() - began
    for share in (0.5, 0.7):
        process = subprocess.Popen(
            [COMMAND, *command],
            env=environment(killed[0], NWX_PREFIX=killed[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(share * seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    told = run_nwx(killed[0], *command, "--json", NWX_PREFIX=killed[1]).json["exclusion"]
    assert told["unmet"] == 0


def test_without_deduplication_each_capture_has_its_entry(
    nwx: Nwx, tmp_path: Path, crawl: Path
) -> None:
    report = nwx("import", "--no-dedup", crawl, "--json").json
    assert (report["captures"], report["documents"], report["duplicates"]) == (5, 4, 1)
    assert len(held(tmp_path / "archive")["documents"]) == 4
    hits = nwx("search", "text", "--all-versions", "--json").json["hits"]
    every = ["20200101000000", "20210101000000", "20230101000000", "20240101000000"]
    assert sorted(hit["dates"] for hit in hits) == [
        every,  # the document of the key, from its earliest capture
        ["20210101000000"],
        ["20220101000000"],
        ["20230101000000"],
    ]
    [folded] = nwx("search", "text", "--json").json["hits"]
    assert folded["versions"] == 4
    own = next(hit for hit in hits if hit["dates"] == ["20230101000000"])
    shown = nwx("show", own["id"], "--json").json
    assert [capture["timestamp"] for capture in shown["captures"]] == ["20230101000000"]
    assert shown["timestamp"] == "20230101000000"


def test_without_deduplication_and_with_a_list_as_the_original_did(
    nwx: Nwx, tmp_path: Path, crawl: Path, duplicates: Path
) -> None:
    nwx("import", "--no-dedup", "-e", duplicates, crawl)
    run_nwx(tmp_path / "plain", "import", "-e", duplicates, crawl)
    original, plain = held(tmp_path / "archive"), held(tmp_path / "plain")
    for index in ("documents", "dates", "captures"):
        assert original[index] == plain[index]


def test_both_engines_hold_the_same(
    tmp_path: Path,
    crawl: Path,
    duplicates: Path,
    elasticsearch_url: str,
    elasticsearch_prefix: str,
) -> None:
    early = write_warc(tmp_path / "early.warc.gz", [Page(URL, "20190101000000", A)])
    some = duplicates.read_text().splitlines(keepends=True)[:1]
    duplicates.write_text("".join(some))
    found = []
    for engine in (tmp_path / "archive", elasticsearch_url):
        for file in (crawl, early):
            command = ("import", "--no-dedup", "-e", duplicates, file)
            run_nwx(engine, *command, NWX_PREFIX=elasticsearch_prefix)
        found.append(held(engine, elasticsearch_prefix))
    assert found[0] == found[1]
    made = sorted(entry["timestamp"][:4] for entry in found[0]["documents"])
    assert made == ["2019", "2020", "2022", "2023"]
