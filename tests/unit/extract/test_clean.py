"""Text as it may be stored."""

import random

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


@pytest.mark.parametrize("spaces", [" \n\t", " \x1c\x1f", " \xa0", " \xa0\u2003\u3000\x85"])
def test_white_space_and_borders_of_blocks_become_one_character(spaces: str) -> None:
    chance = random.Random(3)
    for _ in range(200):
        text = "".join(chance.choices(f"{spaces}{BLOCK}{BLOCK}aé語", k=chance.randint(0, 12)))
        lines = [" ".join(block.split()) for block in text.split(BLOCK)]
        assert clean_blocks(text, 100) == ("\n".join(filter(None, lines)), False)
