"""The part of a text where a query matches."""

from nwx.engine.snippets import SNIPPET_CHARACTERS, Highlighter
from nwx.query.tree import Bool, Fuzzy, Node, Phrase, Term, Wildcard


def _snippet(query: Node, text: str) -> str:
    return "".join(
        f"[{piece}]" if match else piece for piece, match in Highlighter(query).snippet(text)
    )


def test_matches_are_marked_whatever_their_case_and_accents() -> None:
    assert _snippet(Term("content", "schön"), "Wie SCHÖN, so schon!") == "Wie [SCHÖN], so [schon]!"


def test_parts_of_words_are_not_marked() -> None:
    assert _snippet(Term("content", "stone"), "stones and a stone") == "stones and a [stone]"


def test_ideographs_are_marked_where_they_stand_together() -> None:
    text = "11月5日 (日) " + "本 " * 200 + "日本語の東京"
    assert _snippet(Term("", "日本"), text).endswith("本 [日本]語の東京")
    assert _snippet(Phrase("", "東京 日本"), text).endswith("本 [日本]語の[東京]")
    assert _snippet(Phrase("", "日本", 2), "日 本") == "[日] [本]"


def test_patterns_and_likenesses_are_marked() -> None:
    assert _snippet(Wildcard("content", "sto*"), "a storm of stones") == "a [storm] of [stones]"
    assert _snippet(Fuzzy("content", "stone", 1), "a stome, a store, a sand") == (
        "a [stome], a [store], a sand"
    )


def test_words_that_are_ruled_out_or_of_keywords_are_not_marked() -> None:
    query = Bool(must=(Term("content", "red"), Term("domain", "sand")), must_not=(Term("", "old"),))
    assert _snippet(query, "old red sand") == "old [red] sand"


def test_a_long_text_is_shown_where_the_match_is() -> None:
    text = "before " * 200 + "the stone " + "after " * 200
    shown = _snippet(Phrase("content", "the stone"), text)
    assert shown.startswith("… before")
    assert shown.endswith("after …")
    assert "[the] [stone]" in shown
    assert len(shown) < SNIPPET_CHARACTERS + 20


def test_a_text_without_a_match_is_shown_from_its_beginning() -> None:
    assert _snippet(Term("content", "stone"), "  only\n\ngrass ") == "only grass"


def test_the_passage_with_most_of_the_words_is_shown() -> None:
    text = "red " + "gap " * 200 + "red stone " + "gap " * 200
    query = Bool(should=(Term("content", "red"), Term("content", "stone")))
    assert "[red] [stone]" in _snippet(query, text)


MENU = "Home\nOpen Data\nData requests\nSearch data\n" + "Sites\n" * 20
BODY = "The council opened its data on the traffic of the ring road last week.\n"


def test_sentences_are_shown_rather_than_menus() -> None:
    text = MENU + "Other words, which have nothing to do with what is searched for.\n" + BODY
    assert _snippet(Term("", "data"), text).startswith("… The council opened its [data]")
    query = Bool(must=(Term("", "data"), Term("", "traffic")))
    assert _snippet(query, text).startswith("… The council opened its [data] on the [traffic]")


def test_a_menu_with_more_of_the_words_is_shown() -> None:
    query = Bool(must=(Term("", "open"), Term("", "requests"), Term("", "data")))
    assert _snippet(query, MENU + BODY).startswith("Home [Open] [Data] [Data] [requests]")
