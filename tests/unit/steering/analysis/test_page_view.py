"""The analyser's view of a page: text, links, and their surroundings."""

from nwx.steering.analysis.page_view import LIMITS, PageView, page_view, words_around


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


URL = "http://site.example/a/b.html"


def view(body: str, head: str = "") -> PageView:
    html = f"<html lang=en><head>{head}</head><body class='home blog'>{body}</body></html>"
    return page_view(html.encode(), URL, "20200101000000", "utf-8")


def test_a_link_has_its_text_and_the_words_around_it() -> None:
    page = view("<h2>Rivers</h2><p>The water rose when <a href=/x>the dam</a> broke at night.</p>")
    (link,) = page.links
    assert link.url == "http://site.example/x"
    assert link.text == "the dam"
    assert link.heading == "Rivers"
    assert link.around == "Rivers\nThe water rose when the dam broke at night."
    assert page.content[link.place :].startswith("the dam broke")
    assert page.content[link.start : link.end] == link.around


def test_words_around_a_link_are_some_twenty_on_each_side() -> None:
    words = " ".join(f"word{number}" for number in range(300))
    (link,) = view(f"<p>{words} <a href=x>anchor</a> {words}</p>").links
    before, after = link.around.split("anchor")
    assert 15 <= len(before.split()) <= 25
    assert 15 <= len(after.split()) <= 25
    assert before.split()[0].startswith("word")


def test_the_place_of_an_anchor_is_that_of_its_first_word() -> None:
    page = view("<p>one</p> <a href=1> <div> two </div></a><ul><li><a href=2>\n three</a></ul>")
    assert [page.content[link.place :].split()[0] for link in page.links if link.text] == [
        "two",
        "three",
    ]


def test_classes_name_the_elements_around_a_link() -> None:
    (link,) = view(
        "<nav id=Top class='Menu wide'><div><a rel='next nofollow' href=x>x</a></nav>"
    ).links
    assert link.classes.split() == ["nav", "top", "menu", "wide", "a", "rel:next", "rel:nofollow"]


def test_metadata_keeps_all_values_of_a_name() -> None:
    head = (
        "<meta name=Generator content='WordPress 6.1'><meta property=article:tag content=one>"
        "<meta property=article:tag content=two><title>Title</title>"
    )
    page = view("", head)
    assert page.generator == "WordPress 6.1"
    assert page.metadata["article:tag"] == ("one", "two")
    assert page.title == "Title"
    assert page.body_classes == "home blog"


def test_a_page_that_writes_the_mark_loses_places_only() -> None:
    page = view("<p>&#xe5a7; text \ue5a7 <a href=x>anchor</a></p>")
    assert page.content == "text anchor"
    assert [(link.text, link.place, link.around) for link in page.links] == [("anchor", -1, "")]


def test_links_are_bounded() -> None:
    page = view("<a href=x>y</a> " * (LIMITS.links + 5))
    assert len(page.links) == LIMITS.links


def test_a_title_of_a_link_without_text_is_no_part_of_the_content() -> None:
    page = view("<p>Before <a href=1 title='a long title'><img src=i></a> the text behind it</p>")
    (link,) = page.links
    assert (link.text, link.place) == ("a long title", -1)
    assert link.around == page.content[link.start : link.end] == "Before  the text behind it"
