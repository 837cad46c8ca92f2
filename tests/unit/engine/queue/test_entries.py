"""What an update makes of an entry of a queue."""

from nwx.engine.queue.crawl_queue import PutCounts, UrlState, UrlUpdate
from nwx.engine.queue.entries import UpdateBatch, id_of_lease, queue_id, updated

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
    known = {}
    for number in range(20):
        batch = UpdateBatch([UrlUpdate(A, number / 20)], f"sender-{number}", [7])
        known, _ = batch.apply(known)
    (entry,) = known.values()
    assert list(entry.marks) == [f"sender-{number}" for number in range(12, 20)]


def test_updates_apply_one_after_the_other() -> None:
    batch = UpdateBatch(
        [UrlUpdate(A, None), UrlUpdate(A, 0.5), UrlUpdate(A, 0.7, lifted=True)], "", ()
    )
    written, counts = batch.apply({})
    assert [(one.priority, one.state) for one in written.values()] == [(0.7, UrlState.WAITING)]
    assert counts == PutCounts(new=1, changed=1, blacklisted=1)
    assert batch.apply(written)[1] == PutCounts(changed=2, blacklisted=1)
