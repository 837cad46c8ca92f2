"""Authorization for the writing routes, and which forms are accepted."""

import re

import pytest
from flask.testing import FlaskClient

from nwx.engine.access.rules import Role
from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import review_index
from tests.web.checked_archive import HOME_SCORE
from tests.web.html import Page
from tests.web.users.logins import ADA, BOB, PASSWORD, ZOE, MakeApp, log_in, name_of, token_of
from webapp.login_page import RouteGuard, guard_of

FROM_ELSEWHERE = [
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://localhost:8081"},
    {"Origin": "https://localhost"},
    {"Origin": "null"},
    {"Origin": "http://evil.example"},
]


@pytest.mark.parametrize("headers", FROM_ELSEWHERE)
@pytest.mark.parametrize("address", ["/login", "/logout", "/crawls/new"])
def test_forms_from_elsewhere_are_refused(
    client: FlaskClient, headers: dict[str, str], address: str
) -> None:
    log_in(client)
    form = {"csrf_token": token_of(client, "/help"), "name": BOB, "password": PASSWORD}
    assert client.post(address, data=form, headers=headers).status_code == 403
    assert name_of(client) == ADA


@pytest.mark.parametrize("token", ["", "wrong", "IjEi.aaaa.bbbb"])
def test_forms_without_the_token_of_the_session_are_refused(
    client: FlaskClient, token: str
) -> None:
    assert client.post("/login", data={"name": ADA, "password": PASSWORD}).status_code == 400
    log_in(client)
    for address in ("/logout", "/crawls/new"):
        assert client.post(address, data={"csrf_token": token}).status_code == 400
    assert name_of(client) == ADA


def test_forms_of_the_public_address_are_taken(make_app: MakeApp) -> None:
    client = make_app(search_url="https://archive.example/nwx").test_client()
    base = "https://backend.internal"
    shown = client.get("/login", base_url=base).text
    token = re.search(r'name="csrf_token" value="([^"]+)"', shown)
    assert token is not None
    form = {"csrf_token": token[1], "name": ADA, "password": PASSWORD}
    headers = {"Origin": "https://archive.example"}
    assert client.post("/login", data=form, headers=headers, base_url=base).status_code == 303


def test_a_page_for_a_role_leads_to_the_login(client: FlaskClient) -> None:
    answer = client.get("/settings/access?page=2")
    assert (answer.status_code, answer.location) == (302, "/login?next=/settings/access?page%3D2")
    log_in(client, BOB)
    assert client.get("/settings/access").status_code == 403


def test_a_curator_saves_specifications_without_the_token(client: FlaskClient) -> None:
    form = {"text": "name = 'a b'", "action": "save", "number": "0", "token": ""}
    log_in(client, BOB)
    assert 'name="token"' in client.get("/crawls/new").text
    valid = form | {"text": "name = 'votes'", "csrf_token": token_of(client, "/crawls/new")}
    assert client.post("/crawls/new", data=valid).status_code == 403
    log_in(client, ZOE)
    page = client.get("/crawls/new").text
    assert 'name="token"' not in page
    assert Page(page).faults == []
    refused = client.post("/crawls/new", data=form | {"csrf_token": token_of(client, "/help")})
    assert refused.status_code == 400
    assert "nothing was saved" in refused.text


def test_a_curator_cannot_have_the_token_sent_elsewhere(client: FlaskClient) -> None:
    elsewhere = {"text": "name = 'votes'\nqueue = 'http://evil.example/'", "action": "save"}

    def save(name: str, **fields: str) -> tuple[int, str]:
        log_in(client, name)
        form = {"number": "0", "csrf_token": token_of(client, "/help")} | elsewhere | fields
        answer = client.post("/crawls/new", data=form)
        return answer.status_code, answer.text

    code, text = save(ZOE)
    assert code == 400
    assert "administrators only" in text
    assert save(ZOE, text="name = 'votes'")[0] == 303
    assert save(ADA, number="1")[0] == 303


def test_verdicts_are_of_curators_or_of_users_with_the_token(
    client: FlaskClient, engine: Engine
) -> None:
    address = "/quality/review"
    reviews = review_index(engine)
    assert Page(client.get(address).text).faults == []
    form = {"capture": HOME_SCORE, "verdict": "bad", "reviewer": "somebody else"}

    def save(**fields: str) -> int:
        sent = form | {"csrf_token": token_of(client, address)} | fields
        return client.post(address, data=sent).status_code

    try:
        for name, is_asked in ((BOB, True), (ZOE, False)):
            log_in(client, name)
            shown = client.get(address).text
            assert ('name="token"' in shown, shown.count('value="bad"')) == (is_asked, 1)
            assert Page(shown).faults == []
            assert save() == (403 if is_asked else 303)
            assert save(token="queue-token") == 303
        found = reviews.of_captures([HOME_SCORE])[HOME_SCORE]
        assert {one.reviewer for one in found} == {BOB, ZOE}
        assert client.post(address, data=form).status_code == 400
    finally:
        reviews.remove([HOME_SCORE])


OPEN_TO_ALL = {
    "login.log_in": "has a form token, and limits",
    "login.log_out": "has a form token",
    "pages.save_settings": "sets a cookie of the reader's own",
    "picture_pages.upload": "looks for pictures like one, and keeps nothing",
    "picture_api.like_image": "looks for pictures like one, and keeps nothing",
    "sparql.show": "queries are sent so too",
}


WITH_TOKEN = {
    "cdx.add_lines",
    "cdx.aliases",
    "cdx.changes",
    "cdx.delete_lines",
    "cdx.sequence",
    "queue.take_updates",
    "queue.finish",
    "queue.release",
    "queue.lease_next",
}


WITH_ROLE = {
    "access.show": RouteGuard(Role.ADMINISTRATOR),
    "access.show_log": RouteGuard(Role.ADMINISTRATOR),
    "access.add_rule": RouteGuard(Role.ADMINISTRATOR),
    "access.remove_rule": RouteGuard(Role.ADMINISTRATOR),
    "crawl_editor.save_new_crawl": RouteGuard(Role.CURATOR, takes_token=True),
    "crawl_editor.save_crawl": RouteGuard(Role.CURATOR, takes_token=True),
    "crawl_editor.restore_version": RouteGuard(Role.CURATOR, takes_token=True),
    "changes.watch": RouteGuard(Role.CURATOR, takes_token=True),
    "judging.save": RouteGuard(Role.CURATOR, takes_token=True),
    "reviews.save": RouteGuard(Role.CURATOR, takes_token=True),
    "sql.show": RouteGuard(Role.READER),
    "sql.rows": RouteGuard(Role.READER),
}


def test_every_route_that_writes_says_who_may_use_it(make_app: MakeApp) -> None:
    app = make_app("none")
    guards = {rule.endpoint: guard_of(app, rule.endpoint) for rule in app.url_map.iter_rules()}
    writing = {
        rule.endpoint
        for rule in app.url_map.iter_rules()
        if (rule.methods or set()) - {"GET", "HEAD", "OPTIONS"}
    }
    assert {name for name in writing if guards[name] is None} == set()
    found = {name: guard for name, guard in guards.items() if guard is not None}
    assert {name for name, guard in found.items() if guard == RouteGuard()} == set(OPEN_TO_ALL)
    assert {
        name for name, guard in found.items() if guard == RouteGuard(takes_token=True)
    } == WITH_TOKEN
    assert {name: guard for name, guard in found.items() if guard.role} == WITH_ROLE


def test_a_route_that_says_nothing_answers_nobody(make_app: MakeApp) -> None:
    app = make_app()
    app.add_url_rule("/forgotten", "forgotten", lambda: "written", methods=["POST", "GET"])
    client = app.test_client()
    log_in(client)
    assert client.post("/forgotten", data={}).status_code == 403
    assert client.get("/forgotten").text == "written"
