"""The text and the elements of a page, as read by `soup`."""

from nwx.extract.clean import BLOCK, clean_blocks
from nwx.extract.soup import read_soup

PAGE = """<html><head><title>The quarry</title><style>p {}</style></head><body>
<h1>The <b>old</b> quarry</h1><p>Stone is c<i>u</i>t here.</p><script>var x = "hidden"</script>
<ul><li><a href="/a">First</a></li><li><a href="/b">Second</a></li></ul>
<img src="x.png" alt="A"></body>"""


def test_visible_text_is_read_block_by_block() -> None:
    text, _ = clean_blocks(read_soup(PAGE).text, 1000)
    assert text.split("\n") == ["The old quarry", "Stone is cut here.", "First", "Second"]


def test_wanted_elements_come_in_order() -> None:
    outline = read_soup(PAGE)
    links = outline.named("a")
    assert [link.attributes["href"] for link in links] == ["/a", "/b"]
    assert [link.text().strip() for link in links] == ["First", "Second"]
    assert outline.named("title")[0].text() == "The quarry"
    assert "hidden" not in outline.text


def test_an_empty_page_has_no_text() -> None:
    assert read_soup("").text.replace(BLOCK, "").strip() == ""
