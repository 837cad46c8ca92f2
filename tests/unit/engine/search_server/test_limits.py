"""What one request may hold."""

from nwx.engine.search_server import limits


def test_numbers_of_a_page_can_be_named_in_one_query() -> None:
    assert limits.SHORT_LIST < limits.PAGE < limits.MAX_IDS
    assert limits.PAGE <= 10_000  # index.max_result_window
    assert limits.MAX_IDS < 65_536  # index.max_terms_count
