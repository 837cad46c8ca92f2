"""Any text is either a query or an error with a position."""

from hypothesis import given
from hypothesis import strategies as st

from nwx.errors import QueryError
from nwx.query.parser import parse_query
from nwx.query.tree import Bool, Boost, Node

_SIGNS = """a b AND OR NOT TO ( ) [ ] { } : title: year: http://x.org/ ~ ^ * ? \\ + - ! && || / '
< > = 1 2010 . é 日本 ไทย 😀""".split()
_PIECES = st.sampled_from([*_SIGNS, '"', " ", "  ", "\t", "\0", "\ud800"])


def leaves(node: Node) -> int:
    if isinstance(node, Bool):
        return sum(leaves(one) for one in (*node.must, *node.should, *node.must_not))
    return leaves(node.node) if isinstance(node, Boost) else 1


@given(st.one_of(st.text(max_size=80), st.lists(_PIECES, max_size=25).map("".join)))
def test_any_text_is_a_query_or_an_error(query: str) -> None:
    try:
        node = parse_query(query)
    except QueryError as error:
        assert str(error)
        assert error.position is None or 0 <= error.position <= len(query)
    else:
        assert 1 <= leaves(node) <= len(query) + 1


@given(st.lists(st.from_regex(r"[a-z]{1,9}", fullmatch=True), min_size=1, max_size=6))
def test_plain_words_must_all_be_found(words: list[str]) -> None:
    node = parse_query(" ".join(words))
    assert leaves(node) == len(words)


@given(
    st.lists(
        st.from_regex(r"[A-Za-z0-9]{1,12}|AND|OR|NOT|TO|and|musuem", fullmatch=True), min_size=1
    )
)
def test_plain_words_are_read_as_the_grammar_reads_them(words: list[str]) -> None:
    def read(query: str) -> Node | str:
        try:
            return parse_query(query)
        except QueryError as error:
            return str(error)

    # The grammar, which alone reads such a query, ignores repeated spaces.
    assert read(" ".join(words)) == read("  ".join(words) + " ")
