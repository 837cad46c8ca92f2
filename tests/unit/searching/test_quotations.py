"""Which texts count as the same words."""

import pytest

from nwx.errors import UsageError
from nwx.query.tree import Bool, Phrase
from nwx.searching.quotations import MOST_QUOTED, QuotedWords

SAME = [
    ("two words", "these two\n \u00a0words here"),
    ("cafe\u0301 noir", "un café noir."),
    ("hyphenated", "a hy\u00adphen\u200bated word"),
    ("archive est", "l'archive est là"),
    ("港です", "ここは港です。"),
    ("ฉันรัก", "ฉันรักคุณ"),
    ("he is", "she is and he is"),
    ("(a+b)*", "that (a+b)* is"),
    ("5 men", "about 5 men"),
    ("the end.", "It is the end.Start again"),
    ("'quoted' words", "some 'quoted' words"),
]
SHAPES = [
    ('the "old" town', "the \u201cold\u201d town"),
    ('the "old" town', "the \u00ab\u00a0old\u00a0\u00bb town"),
    ("\u00ab old \u00bb", 'the "old" town'),
    ("l'eau", "l\u2019eau"),
    ('x "" x', 'x " " x'),
]
OTHER = [
    ("he is", "she is"),
    ("the art", "the arts"),
    ("you can", "you can't"),
    ("elected him", "re-elected him"),
    ("was re", "was re-elected"),
    ("5 million", "1.5 million"),
    ("costs 1", "costs 1.5 million"),
    ("costs 1.", "costs 1.5 million"),
    ("costs 1", "costs 1,000"),
    ("Two words", "two words"),
    ("cafe noir", "café noir"),
    ("two words", "two  other words"),
    ("コンピュータ", "コンピュータウイルス"),
    ("राम", "रामा"),
    ("a_b", "a_bc"),
    ('the "old" town', "the 'old' town"),
    ('the "old" town', "the old town"),
    ("x" + '"' * 40 + "x", "x" + '"    ' * 60 + "y"),
]


@pytest.mark.parametrize(("quoted", "text"), SAME)
def test_white_space_and_unicode_forms_do_not_matter(quoted: str, text: str) -> None:
    place = QuotedWords(quoted).place(text)
    assert place is not None
    assert QuotedWords(text[slice(*place)]).text == QuotedWords(quoted).text


@pytest.mark.parametrize(("quoted", "text"), SHAPES)
def test_shapes_of_quotation_marks_do_not_matter(quoted: str, text: str) -> None:
    place = QuotedWords(quoted).place(f"{text} .")
    assert place is not None and f"{text} ."[slice(*place)] in (text, text[4:-5])


@pytest.mark.parametrize(("quoted", "text"), OTHER)
def test_other_words_and_parts_of_words_are_not_found(quoted: str, text: str) -> None:
    assert QuotedWords(quoted).place(text) is None


@pytest.mark.parametrize("text", ["", " \n", "…!", "x" * (MOST_QUOTED + 1)])
def test_what_is_no_quotation(text: str) -> None:
    with pytest.raises(UsageError):
        QuotedWords(text)


def test_the_index_is_asked_for_whole_words() -> None:
    tree = QuotedWords("one two three four").candidates()
    assert isinstance(tree, Bool) and tree.should[0] == Phrase("content", "two three")
    mixed = QuotedWords("one of ฉันรัก and others too").candidates()
    assert isinstance(mixed, Bool) and mixed.should[0] == Phrase("content", "and others")
    with pytest.raises(UsageError):
        QuotedWords("ฉันรักคุณ").candidates()
