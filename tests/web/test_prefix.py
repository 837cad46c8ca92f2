"""Pages under a path prefix, from reverse proxies that strip the prefix and ones that do not."""

import re
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
from flask import Flask

from tests.web.serving import serving

PREFIX = "/old/web"
_ADDRESS = re.compile(r'(?:href|src|action|data-[a-z]+)="(/[^"]*)"')


@pytest.fixture(scope="module")
def server(app: Flask) -> Iterator[str]:
    with serving(app, prefix=PREFIX) as address:
        yield address


def _get(address: str) -> str:
    with urlopen(address, timeout=30) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize("page", ["", "search?q=quarry", "explore", "help", "api", "settings"])
@pytest.mark.parametrize("prefix", [PREFIX, ""], ids=["kept", "cut"])
def test_every_address_of_a_page_begins_with_the_prefix(
    server: str, prefix: str, page: str
) -> None:
    found = _ADDRESS.findall(_get(f"{server}{prefix}/{page}"))
    assert found
    assert [one for one in found if not one.startswith(f"{PREFIX}/")] == []


def test_pages_lead_to_pages(server: str) -> None:
    text = _get(f"{server}{PREFIX}")
    (static,) = {one for one in _ADDRESS.findall(text) if one.partition("?")[0].endswith(".css")}
    assert _get(f"{server}{static}")
    assert f'"url":"{PREFIX}"' in _get(f"{server}{PREFIX}/api/openapi.json").replace(" ", "")


def test_a_path_that_only_begins_alike_is_another(server: str) -> None:
    with pytest.raises(Exception, match="404"):
        _get(f"{server}{PREFIX}site/search")
