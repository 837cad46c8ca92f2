"""Claims of files, by which importers share a server."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from nwx.engine.base import Engine
from nwx.engine.capabilities import Claim, ClaimedFile, FileClaims
from nwx.model import Batch, IndexName, SourceFile
from tests.conformance.engines import KINDS

BATCHES = ()
DONE = SourceFile("web", "a/ü.warc.gz", "/a", 7, "7-0", 7, finished=True, counts={"captures": 2})


@pytest.fixture(scope="module", params=[kind for kind in KINDS if kind != "embedded"])
def kind(request: pytest.FixtureRequest) -> str:
    """The name of an engine that allows several importers."""
    found: str = request.param
    return found


@pytest.fixture
def claims(archive: Engine) -> FileClaims:
    """The claims of an archive; each case uses different files."""
    found = archive.claims()
    assert found is not None
    return found


def claimed_by(holder: str, row: ClaimedFile) -> ClaimedFile:
    return replace(row, claim=Claim(holder, 1 + (row.claim.counter if row.claim else 0), 9.5))


def held(claims: FileClaims, collection: str) -> list[tuple[str, Claim | None]]:
    return [(row.name, row.claim) for row in claims.held() if row.collection == collection]


def test_a_claimed_file_is_no_imported_one(archive: Engine, claims: FileClaims) -> None:
    begun = replace(DONE, collection="begun", finished=False)
    archive.write(Batch(files=(begun,)))
    archive.refresh()
    before = archive.count(IndexName.FILES)
    claims.update("begun", [begun.name, "b"], lambda row: claimed_by("one", row))
    assert [file for file in archive.files() if file.collection == "begun"] == [begun]
    archive.refresh()
    assert archive.count(IndexName.FILES) == before
    names = [entry["id"] for entry in archive.scan(IndexName.FILES)]
    assert f"begun/{begun.name}" in names
    assert "begun/b" not in names
    claim = Claim("one", 1, 9.5)
    assert held(claims, "begun") == [(begun.name, claim), ("b", claim)]
    assert claims.read("other", ["b"]) == {"b": ClaimedFile("other", "b")}


def test_a_change_is_made_to_what_is_there_now(claims: FileClaims) -> None:
    asked: list[ClaimedFile] = []

    def change(row: ClaimedFile) -> ClaimedFile:
        asked.append(row)
        if len(asked) == 1:  # another importer is faster
            claims.update("raced", ["b"], lambda row: claimed_by("other", row))
        return replace(row, file=replace(DONE, collection="raced", name="b"), claim=None)

    rows = claims.update("raced", ["b"], change)
    assert [row.claim and row.claim.holder for row in asked] == [None, "other"]
    assert rows == claims.read("raced", ["b"])
    assert held(claims, "raced") == []


def test_what_has_neither_entry_nor_claim_is_deleted(claims: FileClaims) -> None:
    claims.update("left", ["b"], lambda row: claimed_by("one", row))
    claims.update("left", ["b", "c"], lambda row: replace(row, claim=None))
    assert claims.read("left", ["b"]) == {"b": ClaimedFile("left", "b")}
    assert held(claims, "left") == []


def test_an_ended_claim_holds_no_file(claims: FileClaims) -> None:
    claim = Claim("one", 1, 9.5, ended=True)
    claims.update("ended", ["b"], lambda row: replace(row, claim=claim))
    assert held(claims, "ended") == []
    assert claims.read("ended", ["b"])["b"].claim == claim
    assert claims.update("ended", ["b"], lambda row: None) == claims.read("ended", ["b"])


def test_of_many_at_once_one_has_the_file(claims: FileClaims) -> None:
    def claim(holder: str) -> bool:
        rows = claims.update(
            "many", ["b"], lambda row: None if row.claim else claimed_by(holder, row)
        )
        claim = rows["b"].claim
        return claim is not None and claim.holder == holder

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(claim, map(str, range(8)))) == 1
