"""nwx add-digests, and imports that store additional digests."""

import signal
import subprocess
import sys
from pathlib import Path

import nwx as api
from tests.cli.conftest import Nwx, environment
from tests.warcs import Page, html, many_pages, sha256, write_sha256_warc, write_warc


def pairs(nwx: Nwx) -> dict[str, list[str]]:
    entries = nwx("--unrestricted", "dump", "digests").json_lines
    return {one["id"]: one["digests"] for one in entries}


def wanted(*pages: Page) -> dict[str, list[str]]:
    return {sha256(one): [one.digest] for one in pages if not one.revisit}


def test_the_setting_holds_for_later_imports(nwx: Nwx, tmp_path: Path) -> None:
    pages = many_pages(30)
    files = [write_warc(tmp_path / f"{n}.warc.gz", pages[n::3]) for n in range(3)]
    nwx("import", files[0], "--digests", "sha256")
    nwx("import", files[1])
    assert pairs(nwx) == wanted(*pages[0::3], *pages[1::3])
    nwx("import", files[2], "--digests", "none")
    assert pairs(nwx) == wanted(*pages[0::3], *pages[1::3])
    told = nwx("add-digests", "--json").json
    assert (told["files"], told["files_done"]) == (3, 2)
    assert pairs(nwx) == wanted(*pages)
    nwx("check")
    with api.open(tmp_path / "archive") as archive:
        found = archive.add_digests()
    assert (found.files_done, found.payloads, found.digests) == (3, 0, 0)


def test_a_payload_with_a_wrong_digest_gets_none(nwx: Nwx, tmp_path: Path) -> None:
    page = Page("http://a.example/", "20200101000000", html("a", "one"))
    file = write_warc(tmp_path / "a.warc", [page], compressed=False)
    file.write_bytes(file.read_bytes().replace(b"<p>one", b"<p>two"))
    nwx("import", file)
    assert "1 payload, 0 new digests, 1 payload without, 0 errors" in nwx("add-digests").out


def test_purged_captures_get_none_and_files_that_are_gone_are_told(
    nwx: Nwx, tmp_path: Path
) -> None:
    pages = [Page(f"http://{n}.example/", "20200101000000", html("a", f"{n}")) for n in range(3)]
    files = [write_warc(tmp_path / f"{n}.warc.gz", pages[n : n + 2]) for n in range(0, 3, 2)]
    nwx("import", *files)
    nwx("takedown", "1.example", "--purge", "--reason", "asked")
    files[1].rename(tmp_path / "moved")
    told = nwx("add-digests", code=1)
    assert "2.warc.gz" in told.err and "1 error" in told.out
    assert pairs(nwx) == wanted(pages[0])
    (tmp_path / "moved").rename(files[1])
    nwx("add-digests")
    assert pairs(nwx) == wanted(pages[0], pages[2])


KILLED = """
import os, signal, sys
from nwx.cli.main import main
from nwx.engine.indices import stored_pieces
from nwx.engine.indices.digest_index import DigestIndex

stored_pieces._PIECE_BYTES = 10_000
last, added, marked = int(sys.argv[1]), [], DigestIndex.put_state

def put_state(self, name, state):
    if name.startswith("read-"):
        added.append(name)
        if len(added) > last:
            os.kill(os.getpid(), signal.SIGKILL)
    marked(self, name, state)

DigestIndex.put_state = put_state
sys.argv = ["nwx", "add-digests", "--jobs", "1"]
main()
"""


def test_a_killed_run_goes_on_and_reads_nothing_twice(nwx: Nwx, tmp_path: Path) -> None:
    pages = many_pages(240)
    for n in range(2):
        nwx("import", write_warc(tmp_path / f"{n}.warc.gz", pages[n::2]))
    payloads = sum(not one.revisit for one in pages)
    for pieces in (0, 2, 1):
        process = subprocess.run(
            [sys.executable, "-c", KILLED, str(pieces)],
            env=environment(tmp_path / "archive"),
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert process.returncode == -signal.SIGKILL, process.stderr
    before = pairs(nwx)
    rest = nwx("add-digests", "--json").json
    assert 0 < rest["payloads"] < payloads
    assert len(before) + rest["digests"] == len(pairs(nwx))
    assert pairs(nwx) == wanted(*pages)
    assert nwx("add-digests", "--json").json["payloads"] == 0
    nwx("check")


def test_exported_digests_are_by_one_algorithm(nwx: Nwx, tmp_path: Path) -> None:
    pages = many_pages(12)
    nwx("import", "--digests", "sha256", write_warc(tmp_path / "a.warc.gz", pages[:9]))
    nwx("import", write_sha256_warc(tmp_path / "sha256.warc", pages[6:]), "--collection", "later")
    wanted = {one.digest for one in pages if not one.revisit}
    assert nwx("digests", "export", tmp_path / "own", "--json").json["digests"] > len(wanted)
    for algorithm, digests in (("sha1", wanted), ("sha256", {sha256(one) for one in pages})):
        listed = tmp_path / algorithm
        nwx("digests", "export", listed, "--algorithm", algorithm)
        assert {line.split()[0] for line in listed.read_text().splitlines()} == digests
        found = nwx("digests", "compare", listed, "--algorithm", algorithm, "--json").json
        assert (found["common"], found["first"]["share"]) == (len(wanted), 1.0)


def test_duplicates_with_another_digest_keep_their_dates(nwx: Nwx, tmp_path: Path) -> None:
    page = Page("http://a.example/", "20200101000000", html("a", "one"))
    later = Page(page.url, "20210101000000", page.body)
    nwx("import", "--digests", "sha256", write_warc(tmp_path / "a.warc.gz", [page]))
    files, cdx, listed = (
        write_sha256_warc(tmp_path / "sha256.warc", [later]),
        tmp_path / "later.cdx",
        tmp_path / "dup",
    )
    nwx("cdx", files, "-o", cdx)
    nwx("dedup-cdx", cdx, "-o", tmp_path / "none")
    assert (tmp_path / "none").read_text() == ""
    nwx("dedup-cdx", cdx, "--against", tmp_path / "archive", "-o", listed)
    assert listed.read_text() == f"20210101000000 {sha256(later)} {page.url}\n"
    nwx("import", files, "-e", listed)
    (dates,) = nwx("dump", "dates").json_lines
    assert (dates["key"], dates["count"]) == (f"{page.url} {page.digest}", 2)
    nwx("check")


def test_dates_of_a_further_digest_are_those_of_the_document(nwx: Nwx, tmp_path: Path) -> None:
    page = Page("http://a.example/", "20200101000000", html("a", "one"))
    nwx("import", write_warc(tmp_path / "a.warc.gz", [page]), "--digests", "sha256")
    lines = [(page.digest, "2021"), (sha256(page), "2022"), ("sha256:" + "0" * 64, "2023")]
    listed = tmp_path / "list"
    listed.write_text("".join(f"{date} {digest} {page.url}\n" for digest, date in lines))
    for new in (3, 0):
        told = nwx("add-dates", "--json", listed).json
        assert (told["dates_new"], told["keys_without_document"]) == (new, 1)
    (hit,) = nwx("search", "--json", "one").json["hits"]
    assert [date[:4] for date in hit["dates"]] == ["2020", "2021", "2022"]


def test_filters_find_captures_by_either_digest(nwx: Nwx, tmp_path: Path) -> None:
    pages = [Page(f"http://a.example/{n}", "20200101000000", html("a", f"{n}")) for n in range(2)]
    nwx("import", write_warc(tmp_path / "a.warc.gz", pages), "--digests", "sha256")
    with api.open(tmp_path / "archive") as archive:
        for digest in (pages[0].digest, sha256(pages[0]), sha256(pages[0])[7:].upper()):
            found = [
                [
                    one.url
                    for one in archive.captures("a.example/*", filter=f"{mark}digest:{digest}")
                ]
                for mark in ("=", "!=")
            ]
            assert found == [[pages[0].url], [pages[1].url]], digest
