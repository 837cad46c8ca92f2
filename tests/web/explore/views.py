"""Content of the explorer's pages as read by tests."""

import csv
import io
from collections.abc import Callable

from flask.testing import FlaskClient

from nwx.facets.criteria import Criterion
from nwx.model import Capture
from tests.web.holdings import batch
from tests.web.html import Element, Page

CAPTURES = list(batch().captures)
OF: dict[str, Callable[[Capture], str]] = {
    "month": lambda one: Criterion.MONTH.definition.of_value(one.timestamp),
    "year": lambda one: one.timestamp[:4],
    "type": lambda one: one.content_type_norm,
    "status": lambda one: Criterion.STATUS.definition.of_value(one.status_code),
    "site": lambda one: one.domain,
    "size": lambda one: Criterion.SIZE.definition.of_value(one.content_length),
    "collection": lambda one: one.collection,
}


def sound_page(client: FlaskClient, address: str) -> Page:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    page = Page(answer.text)
    assert page.faults == []
    return page


def status_of(page: Page) -> str:
    return " ".join(page.all("p", role="status")[0].text.split())


def links_of(page: Page, label: str) -> list[str]:
    return [
        link.attributes["href"] for link in page.all("a") if " ".join(link.text.split()) == label
    ]


def table_of(client: FlaskClient, query: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(f"/explore/table.csv?{query}").text)))


def row_of(page: Page, value: str) -> list[str]:
    """Return the texts of the cells in a table row."""
    cells: list[Element] = []
    inside = False
    for element in page.elements:
        if element.tag == "tr":
            inside = False
        if element.tag == "th" and element.attributes.get("scope") == "row":
            inside = element.text.strip() == value
        if inside and element.tag == "td":
            cells.append(element)
    return [cell.text.strip() for cell in cells]
