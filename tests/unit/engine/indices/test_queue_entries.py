"""Queue entries changed by updates."""

from nwx.engine.indices.crawl_queue import PutCounts, UrlState, UrlUpdate
from nwx.engine.indices.queue_entries import (
    PutOutcome,
    QueueEntry,
    UpdateBatch,
    ended,
    id_of_lease,
    leases_by_id,
    queue_id,
    updated,
)

A = "http://a.example/"


def test_ids_differ_by_crawl_and_url() -> None:
    ids = {queue_id("", A), queue_id("x", A), queue_id("", f"{A}x")}
    assert len(ids) == 3
    assert all(len(id) == 32 for id in ids)


def test_a_lease_names_its_entry() -> None:
    entry, _ = updated(None, UrlUpdate(A, 0.5))
    assert entry is not None
    leased = entry.leased(7.0)
    assert id_of_lease(leased.lease) == entry.id
    assert leased.lease != entry.leased(7.0).lease
    assert leased.finished(leased.lease).state is UrlState.DONE
    assert leased.finished("another") is leased
    assert leased.expired().finished(leased.lease).state is UrlState.DONE


def test_only_the_last_senders_are_remembered() -> None:
    entry = None
    for number in range(20):
        batch = UpdateBatch([UrlUpdate(A, number / 20)], f"sender-{number}", [7])
        (entry,) = batch.apply({batch.ids[0]: entry}).values()
    assert entry is not None
    assert list(entry.marks) == [f"sender-{number}" for number in range(12, 20)]


def test_updates_apply_one_after_the_other() -> None:
    batch = UpdateBatch(
        [UrlUpdate(A, None), UrlUpdate(A, 0.5), UrlUpdate(A, 0.7, lifted=True)], "", ()
    )
    assert batch.apply({}) == {}
    written = batch.apply(dict.fromkeys(batch.ids))
    assert [(one.priority, one.state) for one in written.values()] == [(0.7, UrlState.WAITING)]
    assert batch.counts == PutCounts(new=1, changed=1, blacklisted=1)
    batch.apply(written)
    assert batch.counts == PutCounts(changed=2, blacklisted=1)


def test_of_two_leases_of_a_url_the_one_that_lasts_is_finished() -> None:
    entry, _ = updated(None, UrlUpdate(A, 0.5))
    assert entry is not None
    first = entry.leased(7.0)
    second = first.expired().leased(9.0)
    for leases in ([first.lease, second.lease], [second.lease, first.lease]):
        found = ended({second.id: second}, leases_by_id(leases), QueueEntry.finished)
        assert [one.state for one in found.values()] == [UrlState.DONE]


def test_a_url_that_is_lifted_and_asked_for_again_waits_once_more() -> None:
    entry, _ = updated(None, UrlUpdate(A, 0.5))
    assert entry is not None
    leased = entry.leased(7.0)
    done = leased.finished(leased.lease)
    again, outcome = updated(done, UrlUpdate(A, None, lifted=True, again=True))
    assert again is not None
    assert (again.state, again.priority, str(outcome)) == (UrlState.WAITING, 0.5, "changed")
    assert updated(done, UrlUpdate(A, None, lifted=True)) == (done, PutOutcome.UNCHANGED)
