"""The images of pages, with the text describing them."""

import pytest

from nwx.errors import FormatError
from nwx.pictures.page_images import MOST_IMAGES, ImagesOfPage, PageImage, images_of_page

URL = "http://a.org/dir/page.html"


def _read(html: str) -> ImagesOfPage:
    return images_of_page(html.encode(), URL, "text/html", "utf-8")


def _images(html: str) -> dict[str, PageImage]:
    return {one.urlkey: one for one in _read(html).images}


def test_words_of_an_image() -> None:
    page = _read(
        "<title> Page &amp; more </title><p>The old<b> harbour</b> "
        "<a href=/x title='Of the link'><img src=ship.png alt='A  ship' title='Own'></a>"
        " at dawn</p><script>not this</script>"
    )
    assert page.title == "Page & more"
    assert page.images == (
        PageImage(
            "org,a)/dir/ship.png", "A ship", "Own Of the link", "", "The old harbour at dawn"
        ),
    )


def test_all_ways_to_show_an_image() -> None:
    found = _images(
        "<base href=http://b.org/><img src=a.png srcset='b.png 2x, c.png 3x' alt=one>"
        "<picture><source srcset='d.webp'><img src=e.png alt=two></picture>"
        "<img data-src=f.png src='data:image/png;base64,AAAA'><input type=image src=g.png alt=go>"
        "<input type=text src=no.png><video poster=h.png title=film></video>"
        "<a href='i.JPG?x=1'>link <b>text</b></a><a href=/page>no image</a>"
    )
    assert sorted(found) == [
        f"org,b)/{name}"
        for name in (
            *("a.png", "b.png", "c.png", "d.webp", "e.png"),
            *("f.png", "g.png", "h.png", "i.jpg?x=1"),
        )
    ]
    assert {found[f"org,b)/{name}.png"].alt for name in "abc"} == {"one"}
    assert found["org,b)/d.webp"].alt == found["org,b)/e.png"].alt == "two"
    assert found["org,b)/i.jpg?x=1"].anchor == "link text"
    assert found["org,b)/h.png"].title == "film"


def test_words_of_an_image_that_is_shown_twice_are_joined() -> None:
    found = _images("<img src=a.png title=first><a href=a.png>large</a><img src=a.png alt=second>")
    (one,) = found.values()
    assert (one.alt, one.title, one.anchor) == ("second", "first", "large")


def test_the_text_around_has_whole_words_and_is_short() -> None:
    (one,) = _images("before " * 100 + "<img src=a.png>" + "behind " * 100).values()
    assert set(one.around.split()) == {"before", "behind"}
    assert 200 < len(one.around) <= 322


def test_pages_are_bounded() -> None:
    many = "".join(f"<img src={number}.png>" for number in range(MOST_IMAGES + 50))
    assert len(_images(many)) == MOST_IMAGES
    with pytest.raises(FormatError):
        _read(f"<p {' '.join(f'a{number}' for number in range(100_000))}><img src=a.png>")
    (one,) = _images(f"<img src=a.png alt='{'x ' * 5_000}'><img src=http://[::1 alt=bad>").values()
    assert len(one.alt) <= 500


def test_a_page_may_be_empty() -> None:
    assert _read("") == ImagesOfPage("", ())
