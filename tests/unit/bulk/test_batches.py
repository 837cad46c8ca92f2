"""Values, some at a time."""

from nwx.bulk.batches import batches


def test_all_values_come_in_order_and_the_last_list_is_shorter() -> None:
    assert list(batches(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(batches(iter(()), 2)) == []
