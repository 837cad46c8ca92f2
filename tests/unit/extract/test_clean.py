"""Text as it may be stored."""

import pytest

from nwx.extract.clean import BLOCK, clean_blocks, clean_line, prose


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  a \n b\t", "a b"),
        ("soft\u00adhyphen \u200bzero", "softhyphen zero"),
        ("a\x00b\x1bc", "abc"),
        ("lone\ud800surrogate", "lonesurrogate"),
        ("Pra\u0301va", "Pr\u00e1va"),
    ],
)
def test_clean_line(text: str, line: str) -> None:
    assert clean_line(text) == line


def test_blocks_become_lines_and_empty_ones_vanish() -> None:
    assert clean_blocks(f" a  b{BLOCK}{BLOCK}\n{BLOCK}c", 100) == ("a b\nc", False)


def test_a_text_is_cut_at_its_limit() -> None:
    text, cut = clean_blocks("word " * 100, 22)
    assert (text, cut) == ("word word word word wo", True)


def test_prose_leaves_menus_out_unless_there_is_little_else() -> None:
    long = "A sentence that is long enough to be prose and no menu entry. " * 4
    assert prose(f"Home\nNews\n{long}") == long
    assert prose("Home\nNews") == "Home\nNews"
