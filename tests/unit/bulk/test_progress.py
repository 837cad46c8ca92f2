"""How far work is, as a value."""

from nwx.bulk.progress import WorkProgress, no_progress


def test_what_is_not_told_is_not_known() -> None:
    now = WorkProgress("reading", 5)
    assert (now.total, now.in_bytes, now.files, dict(now.counts)) == (0, False, (0, 0), {})
    no_progress(now)
