"""What is near links."""

import pytest

from nwx.steering.analysis.near_text import words_of_url


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
