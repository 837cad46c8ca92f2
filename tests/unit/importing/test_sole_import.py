"""Imports without deduplication, which must run alone."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nwx.engine.base import open_engine
from nwx.engine.capabilities import Claim, ClaimedFile
from nwx.errors import EngineBusyError
from nwx.importing import ImportOptions, ImportReport, import_files
from nwx.importing.shared_queue import LeaseTerms, SharedFileQueue
from nwx.importing.sole_import import SOLE_NAME, SoleImport
from nwx.maintenance.agreement import check
from nwx.model import IndexName
from nwx.settings import Settings
from nwx.warc.sources import expand
from tests.unit.importing.ledger_in_memory import LedgerInMemory
from tests.unit.importing.test_shared_queue import Clock, Importer, job
from tests.warcs import Page, html, write_warc

LEASE = 60.0


class Sole(SoleImport):
    """An importer that waits without real delay; `meanwhile` is called while it waits."""

    def __init__(self, ledger: LedgerInMemory, name: str) -> None:
        self.clock, self.ledger = Clock(0.0), ledger
        self.meanwhile = lambda: None
        super().__init__(ledger, name, LEASE, self.clock, self._wait)

    def _wait(self, seconds: float) -> None:
        self.clock.seconds += seconds
        self.meanwhile()


@pytest.fixture
def ledger() -> LedgerInMemory:
    return LedgerInMemory()


def test_the_second_is_refused_until_the_first_has_ended(ledger: LedgerInMemory) -> None:
    one, two = Sole(ledger, "host/1"), Sole(ledger, "host/2")
    one.begin(alone=True)

    def work() -> None:
        one.clock.seconds += LEASE / 4
        one.renew_claims()

    two.meanwhile = work
    for alone in (True, False):
        with pytest.raises(EngineBusyError, match="process 1 on host is importing without dedup"):
            two.begin(alone=alone)
    one.end()
    assert ledger.held() == []
    two.begin(alone=True)
    two.check()
    with pytest.raises(EngineBusyError, match="process 2"):
        one.check()


def test_one_that_was_killed_is_forgotten_after_its_lease(ledger: LedgerInMemory) -> None:
    Sole(ledger, "elsewhere/1").begin(alone=True)
    two = Sole(ledger, "host/2")
    two.begin(alone=False)
    two.check()
    assert two.clock.seconds >= LEASE
    three = Sole(ledger, "host/3")
    three.begin(alone=True)
    with pytest.raises(EngineBusyError, match="process 3"):
        two.check()


def test_it_is_refused_while_others_have_files(ledger: LedgerInMemory) -> None:
    ledger.rows["a"] = ClaimedFile("web", "a", claim=Claim("host/1", 1, LEASE))
    sole = Sole(ledger, "host/2")

    def finish() -> None:
        ledger.rows["a"] = ClaimedFile("web", "a")

    sole.meanwhile = finish
    with pytest.raises(EngineBusyError, match="process 1 on host is importing a; try again"):
        sole.begin(alone=True)
    assert SOLE_NAME not in ledger.rows
    sole.begin(alone=True)


def test_files_of_a_dead_importer_do_not_keep_it_from_its_work(ledger: LedgerInMemory) -> None:
    ledger.rows["a"] = ClaimedFile("web", "a", claim=Claim("elsewhere/1", 1, LEASE))
    Sole(ledger, "host/2").begin(alone=True)


def test_an_import_that_claims_a_file_looks_whether_another_is_alone(
    ledger: LedgerInMemory,
) -> None:
    other = Importer(ledger, "host/1").add("ab")
    other.finish(other.take())
    Sole(ledger, "host/2").begin(alone=True)
    with pytest.raises(EngineBusyError, match="process 2 on host"):
        other.take()
    other.queue.end()
    assert [row.name for row in ledger.held()] == [SOLE_NAME]


def test_the_queue_of_an_import_that_is_alone_keeps_and_ends_its_claim(
    ledger: LedgerInMemory,
) -> None:
    sole = Sole(ledger, "host/1")
    sole.begin(alone=True)
    queue = SharedFileQueue(ledger, "web", LeaseTerms("host/1", LEASE, sole.clock), sole=sole)
    queue.add([job("a")])
    assert queue.take()
    sole.clock.seconds += LEASE
    queue.renew_claims()
    claim = ledger.rows[SOLE_NAME].claim
    assert claim is not None
    assert claim.counter == 2
    queue.end()
    assert ledger.held() == []


URL = "http://www.example.org/"
A, B = html("A", "the first text"), html("B", "the second text")
PAGES = [
    Page(URL, "20200101000000", A),
    Page(URL, "20210101000000", A),
    Page(URL, "20220101000000", B),
    Page(URL, "20230101000000", A),
    Page(URL, "20240101000000", A, revisit=True),
]
PLAIN = (1, 3)
"""The files imported with deduplication."""
EACH = ImportOptions(jobs=1, deduplicate=False)


def imported(archive: Path, file: Path, options: ImportOptions) -> ImportReport:
    settings = Settings(str(archive))
    with open_engine(settings) as engine:
        engine.create()
        return import_files(engine, settings, expand([str(file)]), options)


def held(archive: Path) -> dict[str, list[Any]]:
    """Return all entries of an archive; its indices must be consistent."""
    with open_engine(Settings(str(archive)), read_only=True) as engine:
        assert list(check(engine)) == []
        return {index: list(engine.scan(index)) for index in IndexName}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [
        write_warc(tmp_path / f"{page.timestamp}.warc.gz", [page, Page(URL, page.timestamp, B)])
        for page in PAGES
    ]


def filled(archive: Path, files: Sequence[Path], order: Sequence[int]) -> dict[str, list[Any]]:
    for place in order:
        imported(archive, files[place], replace(EACH, deduplicate=place in PLAIN))
    return held(archive)


def test_the_order_does_not_matter(tmp_path: Path, files: list[Path]) -> None:
    first = filled(tmp_path / "0", files, (0, 1, 2, 3, 4))
    assert filled(tmp_path / "1", files, (4, 3, 2, 1, 0)) == first
    assert filled(tmp_path / "2", files, (3, 0, 4, 1, 2)) == first
    made = sorted((entry["digest"], entry["timestamp"][:4]) for entry in first["documents"])
    a, b = PAGES[0].digest, PAGES[2].digest
    # the document of A; for B the document, two captures of 2022 and one of 2024
    assert made == sorted([(a, "2020"), (b, "2020"), (b, "2022"), (b, "2022"), (b, "2024")])


def test_a_document_that_gives_way_stays_as_one_of_its_own(
    tmp_path: Path, files: list[Path]
) -> None:
    imported(tmp_path / "a", files[4], EACH)
    report = imported(tmp_path / "a", files[1], ImportOptions(jobs=1))
    assert (report.documents, report.captures) == (2, 2)
    years = [entry["timestamp"][:4] for entry in held(tmp_path / "a")["documents"]]
    assert sorted(years) == ["2021", "2021", "2024"]


def test_an_import_repeated_changes_nothing(tmp_path: Path, files: list[Path]) -> None:
    archive = tmp_path / "a"
    first = filled(archive, files, (2, 0))
    with open_engine(Settings(str(archive))) as engine:
        ids = [entry["id"] for entry in first["files"]]
        assert engine.delete(IndexName.FILES, ids) == 2
    assert filled(archive, files, (0, 2)) == first


def test_a_document_of_its_own_that_was_lost_is_found_missing(
    tmp_path: Path, files: list[Path]
) -> None:
    first = filled(tmp_path / "a", files, (0, 2))
    lost = max(first["documents"], key=lambda entry: entry["timestamp"])
    with open_engine(Settings(str(tmp_path / "a"))) as engine:
        engine.delete(IndexName.DOCUMENTS, [lost["id"]])
        [finding] = check(engine)
    place = f"default/{lost['source_file']}@{lost['source_file_offset']}"
    assert (finding.kind, finding.id) == ("undocumented", place)
