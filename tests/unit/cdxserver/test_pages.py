"""Pages of an answer."""

import pytest

from nwx.cdxserver.pages import blocks_of, of_page, page_count
from nwx.cdxserver.query.dialects import IA
from nwx.cdxserver.query.model import Paging
from nwx.cdxserver.query.parameters import parameters_of
from nwx.cdxserver.query.parser import parse_cdx_query
from tests.unit.cdxserver.rows import ListSource, row

SOURCE = ListSource([row(f"p{number}", "20100101000000") for number in range(7)])
QUERY = parse_cdx_query(parameters_of("url=a.example/*"), IA)


@pytest.mark.parametrize(("size", "pages"), [(1, 4), (3, 2), (10, 1)])
def test_page_count(size: int, pages: int) -> None:
    assert page_count(blocks_of(QUERY, SOURCE), Paging(0, size, count=False)) == pages


def test_pages_divide_the_captures() -> None:
    blocks = blocks_of(QUERY, SOURCE)
    found = []
    for number in range(2):
        page = of_page(QUERY, Paging(number, 3, count=False), blocks, IA)
        assert page is not None
        found.append([one.url for one in SOURCE.rows(page.span)])
    assert [len(urls) for urls in found] == [6, 1]
    assert of_page(QUERY, Paging(2, 3, count=False), blocks, IA) is None
