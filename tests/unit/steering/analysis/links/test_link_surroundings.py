"""What is around links, in text and markup."""

from nwx.steering.analysis.links.link_surroundings import words_around
from nwx.steering.analysis.page_view import page_view


def test_words_are_not_cut() -> None:
    content = " ".join(f"number{nth}" for nth in range(100))
    place = content.index("number50")
    start, end = words_around(content, place, len("number50"))
    words = content[start:end].split()
    assert words == content.split()[50 - words.index("number50") :][: len(words)]
    assert words_around(content, -1, 5) == (-1, -1)


def test_text_without_spaces_is_cut_all_the_same() -> None:
    start, end = words_around("x" * 10_000, 5_000, 3)
    assert 200 < end - start < 400


def test_names_of_deep_elements_are_bounded() -> None:
    name = "class='" + "long " * 1_000 + "'"
    html = f"<div {name}>" * 300 + "<a href=x>y</a>"
    (link,) = page_view(html.encode(), "http://a.example/", "2020").links
    assert len(link.classes) < 1_000
