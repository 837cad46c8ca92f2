"""Files shared by several importers: who reads which, and recovery after some die."""

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import count

import pytest

from nwx.engine.capabilities import Claim, ClaimedFile, FileClaims
from nwx.errors import EngineUnavailableError
from nwx.importing.file_queue import Job, own_holder
from nwx.importing.shared_queue import LeaseTerms, SharedFileQueue
from nwx.model import SourceFile
from nwx.warc.sources import ArchiveSource
from tests.unit.importing.ledger_in_memory import LedgerInMemory

LEASE = 60.0


class Clock:
    """A clock set by tests, starting at any time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


class Importer:
    """An importer with a separate clock."""

    def __init__(self, ledger: FileClaims, name: str, hour: float = 0.0) -> None:
        self.clock = Clock(hour * 3600)
        self.queue = SharedFileQueue(ledger, "web", LeaseTerms(name, LEASE, self.clock))

    def add(self, names: Iterable[str]) -> "Importer":
        self.queue.add(job(name) for name in names)
        return self

    def take(self) -> Job:
        found = self.queue.take()
        assert found is not None
        return found

    def wait(self, seconds: float) -> None:
        """Let time pass, checking the other importers every second."""
        for _ in range(int(seconds)):
            self.clock.seconds += 1
            self.queue.renew_claims()

    def finish(self, job: Job) -> None:
        self.queue.record([entry(job.name, finished=True)])
        self.queue.done(job)


def job(name: str, size: int = 7) -> Job:
    path = f"/warcs/{name}"
    return Job(ArchiveSource(name, path, size), path, None)


def entry(name: str, *, done_to: int = 3, finished: bool = False) -> SourceFile:
    return SourceFile("web", name, f"/warcs/{name}", 7, "7-0", done_to, finished)


@pytest.fixture
def ledger() -> LedgerInMemory:
    return LedgerInMemory()


def names_of(jobs: Iterable[Job]) -> list[str]:
    return sorted(one.name for one in jobs)


def test_a_file_is_given_to_one_importer_only(ledger: LedgerInMemory) -> None:
    one, two = (Importer(ledger, name).add("ab") for name in ("one", "two"))
    taken = [one.take(), two.take()]
    assert names_of(taken) == ["a", "b"]
    assert one.queue.take() is two.queue.take() is None
    assert len(one.queue) == 1, "the other's file is waited for"
    assert names_of(one.queue.done_by_others()) == []


def test_what_is_found_out_after_the_end_of_a_file_is_noted(ledger: LedgerInMemory) -> None:
    one = Importer(ledger, "one").add(["a"])
    one.finish(one.take())
    late = replace(entry("a", finished=True), counts={"errors": 1})
    one.queue.record([late])
    assert ledger.rows["a"].file == late
    assert ledger.rows["a"].claim is None
    assert not one.queue.lost()


def test_what_another_has_done_is_not_read_again(ledger: LedgerInMemory) -> None:
    one, two = (Importer(ledger, name).add("ab") for name in ("one", "two"))
    theirs = two.take()
    one.finish(one.take())
    two.finish(theirs)
    two.wait(4)
    one.wait(4)
    assert one.queue.take() is two.queue.take() is None
    assert [*map(len, (one.queue, two.queue))] == [0, 0]
    assert names_of(one.queue.done_by_others()) == [theirs.name]
    assert names_of(one.queue.done_by_others()) == []
    assert ledger.held() == []


def test_files_of_a_dead_importer_are_taken_over_where_it_stopped(ledger: LedgerInMemory) -> None:
    dead, other = Importer(ledger, "dead").add("a"), Importer(ledger, "other", 1.0).add("a")
    dead.take()
    dead.queue.record([entry("a", done_to=5)])
    assert other.queue.take() is None
    other.wait(LEASE - 10)
    assert other.queue.take() is None
    other.wait(20)
    taken = other.take()
    assert taken.entry is not None
    assert taken.entry.done_to == 5


def test_an_importer_that_goes_on_keeps_its_files(ledger: LedgerInMemory) -> None:
    slow, other = Importer(ledger, "slow").add("a"), Importer(ledger, "other", -1.0).add("a")
    slow.take()
    other.queue.take()
    for _ in range(600):
        slow.wait(1)
        other.wait(1)
        assert other.queue.take() is None
    assert slow.queue.lost() == []


def test_who_was_taken_for_dead_leaves_the_file(ledger: LedgerInMemory) -> None:
    stopped, other = (Importer(ledger, name).add("a") for name in ("stopped", "other"))
    mine = stopped.take()
    other.queue.take()
    other.wait(2 * LEASE)
    other.take()
    other.queue.record([entry("a", done_to=6)])
    stopped.queue.record([entry("a", done_to=4)])
    assert ledger.rows["a"].file == entry("a", done_to=6)
    assert stopped.queue.has_lost(mine)
    stopped.queue.done(mine)
    assert names_of(stopped.queue.lost()) == ["a"]
    assert not stopped.queue.has_lost(mine)
    assert stopped.queue.take() is None
    assert len(stopped.queue) == 1, "it waits for the one who has it"


def test_a_lost_file_is_noticed_when_claims_are_renewed(ledger: LedgerInMemory) -> None:
    stopped, other = (Importer(ledger, name).add("ab") for name in ("stopped", "other"))
    stopped.take()
    mine = stopped.take()
    other.queue.take()
    other.wait(2 * LEASE)
    stopped.queue.put_back([mine])
    other.take()
    other.take()
    stopped.wait(LEASE)
    assert names_of(stopped.queue.lost()) == ["a", "b"]
    assert stopped.queue.take() is None


def test_an_entry_that_lost_its_claim_is_claimed_again(ledger: LedgerInMemory) -> None:
    one = Importer(ledger, "one").add("a")
    one.take()
    ledger.rows["a"] = replace(ledger.rows["a"], file=entry("a", done_to=2), claim=None)
    one.wait(LEASE)
    assert names_of(one.queue.lost()) == ["a"]
    again = one.take()
    assert again.entry == entry("a", done_to=2)


def test_time_in_which_nobody_looked_does_not_count(ledger: LedgerInMemory) -> None:
    holder, other = (Importer(ledger, name).add("a") for name in ("holder", "other"))
    holder.take()
    other.queue.take()
    for _ in range(3):
        other.clock.seconds += 10 * LEASE  # it was suspended, or the server unavailable
        other.queue.renew_claims()
    assert other.queue.take() is None


def test_a_file_that_cannot_be_read_is_tried_once_by_one_of_them(ledger: LedgerInMemory) -> None:
    one, two = (Importer(ledger, name).add("a") for name in ("one", "two"))
    one.queue.done(one.take())
    assert two.queue.take() is None
    assert names_of(two.queue.done_by_others()) == ["a"]
    later = Importer(ledger, "later").add("a")
    assert later.take().name == "a"


def test_a_stopped_import_leaves_its_files_to_others_at_once(ledger: LedgerInMemory) -> None:
    stopped, other = (Importer(ledger, name).add("ab") for name in ("stopped", "other"))
    first = stopped.take()
    stopped.queue.record([entry(first.name)])
    stopped.take()
    stopped.queue.end()
    assert names_of([other.take(), other.take()]) == ["a", "b"]


def test_a_finished_file_needs_no_claim(ledger: LedgerInMemory) -> None:
    one = Importer(ledger, "one")
    done = job("a")
    done.entry = entry("a", finished=True)
    one.queue.add([done])
    assert one.take() is done
    one.queue.done(done)
    assert ledger.rows == {}


def test_a_finished_file_behind_others_is_not_taken_for_one_of_theirs(
    ledger: LedgerInMemory,
) -> None:
    one, done = Importer(ledger, "one"), job("b")
    done.entry = entry("b", finished=True)
    ledger.rows["b"] = ClaimedFile("web", "b", done.entry)
    one.queue.add([job("a"), done])
    assert one.take().name == "a"
    assert one.take() is done
    assert names_of(one.queue.done_by_others()) == []


def test_files_that_cannot_be_opened_are_noted_unless_others_can(ledger: LedgerInMemory) -> None:
    other = Importer(ledger, "other").add("ab")
    taken = other.take()
    other.finish(other.take())
    before = dict(ledger.rows)
    errors = [
        SourceFile("web", name, f"/warcs/{name}", 7, "", counts={"errors": 1, "unreadable": 1})
        for name in "abc"
    ]
    Importer(ledger, "mine").queue.note_unread(errors)
    assert ledger.rows.pop("c") == ClaimedFile("web", "c", errors[-1])
    assert ledger.rows == before
    other.finish(taken)
    assert other.queue.lost() == []


def test_another_file_of_a_name_that_another_imported_is_looked_at(ledger: LedgerInMemory) -> None:
    one, two = Importer(ledger, "one").add("a"), Importer(ledger, "two")
    one.finish(one.take())
    two.queue.add([job("a", size=8)])
    assert two.take().entry == entry("a", finished=True)


def test_files_to_be_read_again_come_first(ledger: LedgerInMemory) -> None:
    one = Importer(ledger, "one").add("abc")
    first = one.take()
    one.queue.put_back([first])
    assert len(one.queue) == 3
    assert one.take() is first


def test_claims_of_an_importer_that_died_on_this_machine_do_not_wait(
    ledger: LedgerInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = own_holder()
    Importer(ledger, dead).add("a").take()
    other = Importer(ledger, "other").add("a")
    assert other.queue.take() is None
    monkeypatch.setattr("nwx.importing.shared_queue.is_known_dead", lambda holder: holder == dead)
    other.wait(4)
    assert other.take().name == "a"


def test_an_outage_leaves_the_queue_as_it_is(ledger: LedgerInMemory) -> None:
    one = Importer(ledger, "one").add("ab")
    ledger.away = True
    with pytest.raises(EngineUnavailableError):
        one.queue.take()
    ledger.away = False
    assert names_of([one.take(), one.take()]) == ["a", "b"]


@pytest.mark.parametrize("seed", range(20))
def test_six_importers_do_each_file_whoever_dies(ledger: LedgerInMemory, seed: int) -> None:
    chance, names = random.Random(seed), [f"{number:02}" for number in range(40)]
    alive = [Importer(ledger, str(n), hour=n - 3.0).add(names) for n in range(6)]
    reading: dict[Importer, Job] = {}
    written: dict[str, set[int]] = {name: set() for name in names}
    for step in count():
        importer = chance.choice(alive)
        importer.wait(3)
        importer.queue.done_by_others()
        if reading.get(importer) in importer.queue.lost():
            del reading[importer]
        if importer not in reading and (taken := importer.queue.take()):
            reading[importer] = taken
        elif importer in reading:
            _read_on(importer, reading, written)
        if step in (50, 90, 130):
            reading.pop(alive.pop(chance.randrange(len(alive))), None)
        if not any(len(one.queue) for one in alive) and not reading:
            break
    assert all(parts == {0, 1, 2, 3} for parts in written.values())
    assert all(ledger.rows[name].file == entry(name, done_to=4, finished=True) for name in names)
    assert ledger.held() == []


def _read_on(
    importer: Importer, reading: dict[Importer, Job], written: dict[str, set[int]]
) -> None:
    """Import the next of the four parts of an importer's file."""
    job = reading[importer]
    done_to = job.entry.done_to if job.entry else 0
    written[job.name].add(done_to)
    job.entry = entry(job.name, done_to=done_to + 1, finished=done_to == 3)
    importer.queue.record([job.entry])
    if job.entry.finished:
        importer.queue.done(job)
        del reading[importer]


def test_a_lost_file_is_waited_for(ledger: LedgerInMemory) -> None:
    one = Importer(ledger, "one").add("a")
    lost = one.take()
    ledger.rows["a"] = replace(ledger.rows["a"], claim=Claim("two", 1, LEASE))
    one.queue.record([entry("a", finished=True)])
    assert one.queue.has_lost(lost)
    assert len(one.queue) == 1
    assert (one.queue.lost(), len(one.queue)) == ([lost], 1)
