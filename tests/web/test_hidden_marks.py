"""Marks of hidden captures, on all pages that show these to curators."""

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from nwx.access.account_store import AccountFile, AccountStore
from nwx.access.user_options import user_options
from nwx.engine.access.rules import AccessRule, Action, Role, Scope
from nwx.engine.base import Engine
from tests.web.addresses import FIRST, SECOND
from tests.web.archive import HOME
from tests.web.checked_archive import HOME_SCORE
from tests.web.html import Page
from webapp import create_app
from webapp.site.viewer import ProxyHeaders
from webapp.user_service import user_service

LISTED = {
    "captures": "/explore/captures",
    "difference": f"/documents/{FIRST}/diff/{SECOND}",
    "links to a page": f"/links?url={HOME}",
    "pictures": "/pictures",
    "picture": f"/pictures/{FIRST}",
    "quality": "/quality",
    "checked page": f"/quality/page?id={HOME_SCORE}",
    "crawl": "/crawls/stones",
    "repairs": "/quality/repairs",
    "missing": "/missing",
}
COUNTED = {
    "results": "/search?q=quarry",
    "explore": "/explore",
    "trends": "/trends?q=quarry",
    "words": "/words?q=quarry",
    "links": "/links",
    "hosts": "/hosts",
    "entities": "/entities",
    "compare": "/crawls/compare",
    "monitored crawl": "/crawls/watched",
}
MARK = "hidden from readers: block"
COUNTS = "What readers do not see is counted and listed here too."


@pytest.fixture(scope="module")
def client(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client whose user name is set by a proxy; a host of the archive is blocked."""
    rule = AccessRule("", Action.BLOCK, Scope(prefix="org,example)/"), reason="<b>x")
    file = AccountFile(tmp_path_factory.mktemp("marks") / "users.db")
    AccountStore(file).add("zoe", Role.CURATOR)
    options = user_options("proxy=127.0.0.1")
    proxies = ProxyHeaders(options.trusted_proxies, options.naming_proxies)
    engine.access_index().put([rule], "ada")
    try:
        app = create_app(engine, users=user_service(options, file), proxies=proxies)
        yield app.test_client()
    finally:
        rules = engine.access_index().rules().rules
        engine.access_index().remove([one.id for one in rules], "ada")
        file.close()


def _texts(client: FlaskClient, address: str) -> tuple[str, str]:
    """Return a page as seen by a curator and by a reader."""
    curator = client.get(address, headers={"X-Remote-User": "zoe"})
    assert curator.status_code == 200
    assert Page(curator.text).faults == []
    return curator.text, client.get(address, headers={"X-Remote-User": "eve"}).text


@pytest.mark.parametrize("name", LISTED)
def test_what_is_listed_is_marked(client: FlaskClient, name: str) -> None:
    curator, reader = _texts(client, LISTED[name])
    # Rules on captures name these; a URL also has a mark next to that of the counts.
    assert MARK in curator or curator.count("hidden from readers") >= 2
    assert "hidden from readers" not in reader


@pytest.mark.parametrize("name", COUNTED)
def test_what_is_counted_is_told(client: FlaskClient, name: str) -> None:
    curator, reader = _texts(client, COUNTED[name])
    assert COUNTS in curator
    assert COUNTS not in reader
