"""A small archive of pages that link to each other, for tests of the link pages."""

from nwx.model import Batch, Link
from tests.conformance.archive import capture
from tests.links import page

HOSTILE_HOST = "x'onload=a.test"
HOSTILE_ANCHOR = "<script>alert(7)</script>\u202e"
STYLE = "http://hub.test/all.css"


def linked_batches() -> list[Batch]:
    """Return pages of a hub and five sites around it, in three years, and a style sheet."""
    hub = [
        Link("http://site3.test/", "Site three"),
        Link("http://never.test/page", "Never captured"),
        Link(f"http://{HOSTILE_HOST}/", HOSTILE_ANCHOR),
        Link(STYLE, "", "stylesheet"),
        Link("http://hub.test/logo.png", "Logo", "img"),
        Link("http://hub.test/gone.png", "", "img"),
        Link("http://hub.test/here.png", "", "img"),
        Link("javascript:alert(9)", "run"),
    ]
    batches = [page("http://hub.test/", hub, [("2010", "web")])]
    batches += [
        page(
            f"http://site{number}.test/",
            [Link("http://hub.test/", "The hub"), Link("http://never.test/page", HOSTILE_ANCHOR)],
            [(f"201{number % 3}", "web")],
        )
        for number in range(5)
    ]
    sheet = [Link("http://hub.test/sky.png", "", "css")]
    batches.append(page(STYLE, sheet, [("2010", "web")]))
    images = (
        capture("http://hub.test/gone.png", "2010", status=404, offset=70_000),
        capture("http://hub.test/here.png", "2010", offset=70_001),
    )
    batches.append(Batch(captures=images))
    return batches
