"""How far work is, as a value."""

from nwx.bulk.progress import WorkProgress, estimated_total, no_progress


def test_what_is_not_told_is_not_known() -> None:
    now = WorkProgress("reading", 5)
    assert (now.total, now.in_bytes, now.files, dict(now.counts)) == (0, False, (0, 0), {})
    no_progress(now)


def test_a_total_from_what_was_found_so_far() -> None:
    assert estimated_total(0, 0, 90) == 0
    assert estimated_total(10, 30, 90) == 30
    assert estimated_total(10, 90, 90) == 10
    assert estimated_total(10, 95, 90) == 10
