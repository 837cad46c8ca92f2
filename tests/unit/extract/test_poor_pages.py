"""Pages with nothing to read."""

import pytest

from nwx.extract import extract
from nwx.values.media_types import POOR_PAGES

ERROR, LINKS = POOR_PAGES
MENU = "".join(f"<a href='/{n}'>Section {n}</a> " for n in range(9))


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<title>404 Not Found</title><p>Sorry.", (ERROR,)),
        (f"<title>Example</title>{MENU}<h1>Page not found</h1>", (ERROR,)),
        ("<title>Beispiel</title><p>Die Seite wurde leider nicht gefunden.", (ERROR,)),
        ("<p>La page demandée n'existe plus", (ERROR,)),
        ("<p>お探しのページは見つかりませんでした", (ERROR,)),
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
