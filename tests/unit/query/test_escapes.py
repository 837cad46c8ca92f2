"""User input escaped for the query grammar."""

import pytest

from nwx.errors import QueryError
from nwx.query.escapes import MAX_CHARACTERS, MAX_DEPTH, escape


@pytest.mark.parametrize(
    ("typed", "escaped"),
    [
        ("tide tables", "tide tables"),
        ("rock-n-roll", "rock-n-roll"),
        ("12:30", "12\\:30"),
        ("title:tide", "title:tide"),
        ("http://a.example/b?c", "http\\:\\/\\/a\\.example\\/b\\?c"),
        ("a && b", "a AND b"),
        ("!b", "-b"),
        ("AND", "\\AND"),
        ("size:>=10", "size:>=10"),
    ],
)
def test_only_syntax_stays_syntax(typed: str, escaped: str) -> None:
    assert escape(typed).text.replace("\\.", ".") == escaped.replace("\\.", ".")


def test_a_place_leads_back_to_what_was_typed() -> None:
    made = escape("a:b AND (c)")
    assert made.place(made.text.index("(")) == "a:b AND (c)".index("(")
    assert made.place(len(made.text)) is None


@pytest.mark.parametrize(
    ("typed", "position"), [('"open', 0), ("(open", 0), ("close)", 5), ("size:[1 TO", 5)]
)
def test_what_is_not_closed_is_an_error_with_its_place(typed: str, position: int) -> None:
    with pytest.raises(QueryError) as caught:
        escape(typed)
    assert caught.value.position == position


@pytest.mark.parametrize("typed", ["x" * (MAX_CHARACTERS + 1), "(" * (MAX_DEPTH + 1)])
def test_a_query_is_bounded(typed: str) -> None:
    with pytest.raises(QueryError):
        escape(typed)
