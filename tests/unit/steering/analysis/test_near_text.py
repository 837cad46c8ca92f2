"""What is near links."""

import pytest

from nwx.steering.analysis.near_text import text_without, words_of_url
from nwx.steering.analysis.page_view import PageLink


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://a.example/floods-of_2002/index.html?x=elbe", "floods of 2002 index html x elbe"),
        ("http://b.example/x", "b example x"),
        ("http://a.example/%C3%89lys%C3%A9e", "Élysée"),
        ("http://a.example/", ""),
    ],
)
def test_words_of_a_url(url: str, words: str) -> None:
    assert words_of_url(url, "a.example").strip() == words


def test_a_text_without_some_anchors_keeps_the_places_of_the_rest() -> None:
    text = "menu one two the text"
    one = PageLink("http://a.example/1", "one", "a", place=5)
    two = PageLink("http://a.example/2", "two", "a", place=9)
    nowhere = PageLink("http://a.example/3", "text", "a")
    nested = PageLink("http://a.example/4", "ne", "a", place=6)
    assert text_without(text, [one, nested, two, nowhere]) == "menu         the text"
    assert text_without(text, []) == text
    beyond = PageLink("http://a.example/5", "text and more", "a", place=17)
    assert text_without(text, [beyond]) == "menu one two the     "
