"""OpenGraph and Dublin Core."""

from tests.unit.steering.structured.pages import URL, facts


def test_named_metadata_are_statements_about_the_page() -> None:
    html = """<meta property="og:title" content="A title"><meta name="viewport" content="x">
    <meta property="og:image" content="http://b.example/i.png">
    <meta property="og:url" content="not an address">
    <meta property="article:published_time" content="2015-01-01">
    <meta name="DC.Creator" content="Ada"><meta name="DC.creator" content="Bea">
    <meta name="dcterms.issued" content="2014"><meta name="og:" content="x">"""
    assert facts(html) == {
        (URL, "http://ogp.me/ns#title", '"A title"'),
        (URL, "http://ogp.me/ns#image", "http://b.example/i.png"),
        (URL, "http://ogp.me/ns#url", '"not an address"'),
        (URL, "http://ogp.me/ns/article#published_time", '"2015-01-01"'),
        (URL, "http://purl.org/dc/elements/1.1/creator", '"Ada"'),
        (URL, "http://purl.org/dc/elements/1.1/creator", '"Bea"'),
        (URL, "http://purl.org/dc/terms/issued", '"2014"'),
    }
