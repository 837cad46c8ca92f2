"""The page of access rules."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.access.account_store import AccountFile, AccountStore
from nwx.access.user_options import user_options
from nwx.engine.access.rules import AccessRule, Action, Role, Scope
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.maintenance.takedown_targets import takedown_rule, takedown_scope
from nwx.values.urlkeys import urlkey
from tests.web.addresses import FIRST
from tests.web.archive import HOME, batch
from tests.web.html import Page
from webapp import create_app
from webapp.site.viewer import ProxyHeaders
from webapp.user_service import user_service

PAGE = "/settings/access"
RULE = {"action": "block", "what": "http://rule.example/a*", "reason": "a <b>court</b> order"}


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Engine]:
    """An archive for storing rules."""
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        engine.write(batch())
        engine.refresh()
        yield engine


@pytest.fixture
def client(archive: Engine, tmp_path: Path) -> Iterator[FlaskClient]:
    """A client whose user name is set by a proxy."""
    file = AccountFile(tmp_path / "users.db")
    store = AccountStore(file)
    store.add("ada", Role.ADMINISTRATOR)
    store.add("zoe", Role.CURATOR)
    options = user_options("proxy=127.0.0.1")
    app = create_app(
        archive,
        users=user_service(options, file),
        proxies=ProxyHeaders(options.trusted_proxies, options.naming_proxies),
    )
    client = app.test_client()
    client.environ_base["HTTP_X_REMOTE_USER"] = "ada"
    yield client
    file.close()


def _token(client: FlaskClient) -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(PAGE).text)
    assert found is not None
    return found[1]


def _add(client: FlaskClient, **given: str) -> str:
    answer = client.post(PAGE, data={"csrf_token": _token(client), **RULE, **given})
    assert answer.status_code == 303
    return re.search(r"saved=(\w+)", answer.location)[1]  # type: ignore[index]


def test_a_rule_is_added_listed_and_removed(client: FlaskClient, archive: Engine) -> None:
    assert "There are no rules" in client.get(PAGE).text
    id = _add(client, **{"from": "2014", "to": "2014-03", "collection": "web"})
    (rule,) = archive.access_index().rules().rules
    assert (rule.id, rule.action, rule.made_by) == (id, "block", "ada")
    assert rule.scope.prefix == "example,rule)/a"
    assert (rule.scope.date_from, rule.scope.date_to) == ("20140101000000", "20140331235959")
    shown = client.get(f"{PAGE}?saved={id}").text
    assert "a &lt;b&gt;court&lt;/b&gt; order" in shown
    assert "1 rule<" in shown
    assert Page(shown).faults == []
    answer = client.post(f"{PAGE}/remove", data={"csrf_token": _token(client), "id": id})
    assert answer.status_code == 303
    assert archive.access_index().rules().rules == ()
    log = client.get(f"{PAGE}/log")
    assert Page(log.text).faults == []
    assert log.text.index("removed") < log.text.index("added")


def test_all_fields_of_a_rule_are_kept(client: FlaskClient, archive: Engine) -> None:
    _add(client, action="local", users="bob, zoe", addresses="192.0.2.0/24\n2001:db8::1")
    _add(client, action="embargo", what="sha1:" + "A" * 32, until="2030")
    _add(client, action="embargo", what="*.rule.example", years="20")
    by_action = {(each.action, each.years): each for each in archive.access_index().rules().rules}
    local = by_action["local", None]
    assert local.users == ("bob", "zoe")
    assert local.addresses == ("192.0.2.0/24", "2001:db8::1/128")
    assert by_action["embargo", None].until == "20300101000000"
    assert by_action["embargo", 20].scope.prefix == "example,rule"
    shown = client.get(PAGE).text
    assert "until 1 Jan 2030" in shown
    assert "20 years after capture" in shown
    assert "users: bob, zoe" in shown
    assert Page(shown).faults == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "erase"},
        {"what": ""},
        {"what": "sha1:short"},
        {"reason": " "},
        {"action": "embargo"},
        {"action": "local"},
        {"action": "embargo", "years": "many"},
        {"action": "embargo", "until": "tomorrow"},
        {"action": "local", "addresses": "300.1.1.1"},
        {"from": "2015", "to": "2014"},
        {"what": "http://a.example/" + "a" * 20_000},
    ],
)
def test_what_is_wrong_is_told_and_kept_in_the_form(
    client: FlaskClient, archive: Engine, wrong: dict[str, str]
) -> None:
    answer = client.post(PAGE, data={"csrf_token": _token(client), **RULE, **wrong})
    assert answer.status_code == 400
    page = Page(answer.text)
    assert page.faults == []
    (alert,) = page.all("p", role="alert")
    assert alert.text.strip()
    assert archive.access_index().rules().rules == ()


def test_a_url_is_tested(client: FlaskClient) -> None:
    _add(client, action="local", users="bob")
    asked = {"url": "http://rule.example/abc", "date": "2014"}
    refused = client.get(PAGE, query_string=asked).text
    assert "<strong>local</strong>" in refused
    french = client.get(PAGE, headers={"Accept-Language": "fr"}, query_string={"url": "http://a/"})
    assert "<strong>autoriser</strong>" in french.text
    assert "a &lt;b&gt;court&lt;/b&gt; order" in refused
    assert Page(refused).faults == []
    assert "<strong>allow</strong>" in client.get(PAGE, query_string={**asked, "user": "bob"}).text
    other = client.get(PAGE, query_string={"url": "http://other.example/"}).text
    assert "no rule hides it" in other
    wrong = client.get(PAGE, query_string={**asked, "date": "tomorrow"})
    assert wrong.status_code == 400


def test_rules_are_found_by_a_text_and_shown_by_page(client: FlaskClient, archive: Engine) -> None:
    many = [
        AccessRule("", Action.BLOCK, Scope(prefix=f"example,host{n})/"), reason=f"case {n}")
        for n in range(101)
    ]
    archive.access_index().put(many, "ada")
    first = client.get(PAGE).text
    assert "101 rules" in first
    assert 'rel="next"' in first
    assert client.get(f"{PAGE}?page=2").text.count('name="id"') == 1
    found = client.get(f"{PAGE}?q=CASE+77").text
    assert found.count('name="id"') == 1
    assert "No rule has this text" in client.get(f"{PAGE}?q=nothing").text


@pytest.mark.parametrize("user", ["", "zoe", "eve", "ADAM"])
def test_only_administrators_see_and_change_rules(
    client: FlaskClient, archive: Engine, user: str
) -> None:
    token = _token(client)
    id = _add(client)
    client.environ_base["HTTP_X_REMOTE_USER"] = user
    form = {"csrf_token": token, "id": id, **RULE}
    for address in (PAGE, f"{PAGE}/log", f"{PAGE}?url=http://rule.example/a"):
        answer = client.get(address)
        assert answer.status_code == 403
        assert "<h1>Not allowed</h1>" in answer.text
        assert "rule.example" not in answer.text.replace("?url=http://rule.example/a", "")
    for address in (PAGE, f"{PAGE}/remove"):
        assert client.post(address, data=form).status_code == 403
    assert len(archive.access_index().rules().rules) == 1


def test_without_users_the_page_answers_nobody(archive: Engine) -> None:
    client = create_app(archive, queue_token="a-token", cdx_token="b-token").test_client()
    headers = {"X-Remote-User": "ada", "Authorization": "Bearer a-token"}
    assert client.get(PAGE, headers=headers).status_code == 403
    assert client.post(PAGE, data=RULE, headers=headers).status_code == 403


@pytest.mark.parametrize("address", [PAGE, f"{PAGE}/remove"])
@pytest.mark.parametrize(
    "headers", [{}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://localhost:8081"}]
)
def test_archived_pages_cannot_change_rules(
    client: FlaskClient, archive: Engine, address: str, headers: dict[str, str]
) -> None:
    id = _add(client)
    form = {"id": id, **RULE, "what": "*"} | ({"csrf_token": _token(client)} if headers else {})
    assert client.post(address, data=form, headers=headers).status_code in (400, 403)
    assert [each.id for each in archive.access_index().rules().rules] == [id]


def test_pages_of_rules_are_kept_by_no_browser(client: FlaskClient) -> None:
    for address in (PAGE, f"{PAGE}/log"):
        assert client.get(address).headers["Cache-Control"] == "no-store"


def test_curators_see_what_readers_do_not_with_a_mark(client: FlaskClient, archive: Engine) -> None:
    client.environ_base["HTTP_X_REMOTE_USER"] = "zoe"
    assert "hidden from readers" not in client.get("/search?q=quarry").text
    rule = AccessRule("", Action.BLOCK, Scope(prefix=urlkey(HOME), is_exact=True), reason="<b>x")
    archive.access_index().put([rule], "ada")
    found = client.get("/search", query_string={"q": "quarry", "per_page": 100})
    assert found.text.count("hidden from readers: block") == 1
    assert 'title="&lt;b&gt;x"' in found.text
    assert Page(found.text).faults == []
    shown = client.get(f"/documents/{FIRST}").text
    assert "hidden from readers: block" in shown
    assert Page(shown).faults == []
    client.environ_base["HTTP_X_REMOTE_USER"] = "eve"
    assert client.get(f"/documents/{FIRST}").status_code == 451
    found = client.get("/search", query_string={"q": "quarry", "per_page": 100})
    assert "hidden from readers" not in found.text


def test_a_part_of_the_captures_is_marked_as_such(client: FlaskClient, archive: Engine) -> None:
    client.environ_base["HTTP_X_REMOTE_USER"] = "zoe"
    seen = archive.dates([FIRST])[FIRST].seen
    assert len(seen) > 1
    scope = Scope(prefix=urlkey(HOME), is_exact=True, date_from=seen[0][0], date_to=seen[0][0])
    archive.access_index().put([AccessRule("", Action.EXCLUDE, scope, reason="x")], "ada")
    shown = client.get(f"/documents/{FIRST}").text
    assert f"1 of {len(seen)} captures hidden from readers" in shown


def test_removing_a_rule_that_purges_warns(client: FlaskClient, archive: Engine) -> None:
    scope = takedown_scope(archive, "http://rule.example/gone")
    rule = takedown_rule(archive, scope, "a court's order", purged=True)
    sent = {"csrf_token": _token(client), "id": rule.id}
    answer = client.post(f"{PAGE}/remove", data=sent, follow_redirects=True)
    alerts = [each.text for each in Page(answer.text).all("p", role="alert")]
    assert any("Imports of further files add them again" in text for text in alerts)
    assert archive.access_index().rules().rules == ()
