"""Text and elements of a page are the same with either parser."""

from collections.abc import Callable

import pytest

from nwx.extract import extract
from nwx.extract.html import read_lexbor
from nwx.extract.page import Outline
from nwx.extract.soup import read_soup
from nwx.extract.text import BLOCK, clean_blocks
from nwx.values.media_types import POOR_PAGES

PAGE = """<html><head><title>The quarry</title><style>p {}</style></head><body>
<h1>The <b>old</b> quarry</h1><p>Stone is c<i>u</i>t here.</p><script>var x = "hidden"</script>
<ul><li><a href="/a">First</a></li><li><a href="/b">Second</a></li></ul>
<img src="x.png" alt="A"></body>"""

Read = Callable[[str], Outline]

both = pytest.mark.parametrize("read", [read_lexbor, read_soup])


@both
def test_visible_text_is_read_block_by_block(read: Read) -> None:
    text, _ = clean_blocks(read(PAGE).text, 1000)
    assert text.split("\n") == ["The old quarry", "Stone is cut here.", "First", "Second"]


@both
def test_wanted_elements_come_in_order(read: Read) -> None:
    outline = read(PAGE)
    links = outline.named("a")
    assert [link.attributes["href"] for link in links] == ["/a", "/b"]
    assert [link.text().strip() for link in links] == ["First", "Second"]
    assert outline.named("title")[0].text() == "The quarry"
    assert "hidden" not in outline.text


@both
def test_an_empty_page_has_no_text(read: Read) -> None:
    assert read("").text.replace(BLOCK, "").strip() == ""


ERROR, LINKS, _ = POOR_PAGES
MENU = "".join(f"<a href='/{n}'>Section {n}</a> " for n in range(9))


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<title>404 Not Found</title><p>Sorry.", (ERROR,)),
        (f"<title>Example</title>{MENU}<h1>Page not found</h1>", (ERROR,)),
        ("<title>Beispiel</title><p>Die Seite wurde leider nicht gefunden.", (ERROR,)),
        ("<p>La page demandée n'existe plus", (ERROR,)),
        ("<p>お探しのページは見つかりませんでした", (ERROR,)),
        ("<title>Example: Error</title><p>Sorry.", (ERROR,)),
        ("<title>Trial and error</title><p>Sorry.", ()),
        (MENU, (LINKS,)),
        (f"{MENU}<p>The museum in the old quarry is open on Sundays", ()),
        ("<title>Home</title><img src=a.gif>", ()),
        ("<title>How a page not found is told</title><p>" + "A long text of sense. " * 90, ()),
        ("<p>404 sheep were counted in the valley this year", ()),
    ],
)
def test_errors_and_menus_are_told(html: str, found: tuple[str, ...]) -> None:
    page = extract(
        html.encode(), url="http://example.org/", content_type_norm="html", charset="utf-8"
    )
    assert page.problems == found
