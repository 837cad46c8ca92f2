"""Imports without deduplication, which must be alone."""

import pytest

from nwx.engine.ledger import Claim, ClaimedFile
from nwx.errors import EngineBusyError
from nwx.importing.file_queue.shared_queue import LeaseTerms, SharedFileQueue
from nwx.importing.file_queue.sole_import import SOLE_NAME, SoleImport
from tests.unit.importing.file_queue.ledger_in_memory import LedgerInMemory
from tests.unit.importing.file_queue.test_shared_queue import Clock, Importer, job

LEASE = 60.0


class Sole(SoleImport):
    """An importer whose waiting takes no time; `meanwhile` happens while it waits."""

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
        one.keep()

    two.meanwhile = work
    for alone in (True, False):
        with pytest.raises(EngineBusyError, match="process 1 on host imports without dedup"):
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
    with pytest.raises(EngineBusyError, match="process 1 on host imports a; try again"):
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
    queue.keep()
    claim = ledger.rows[SOLE_NAME].claim
    assert claim is not None
    assert claim.counter == 2
    queue.end()
    assert ledger.held() == []
