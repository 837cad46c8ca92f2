"""Users: logins, sessions, roles, and who may use the routes that write."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from nwx.accounts import passwords
from nwx.accounts.account_file import AccountFile
from nwx.accounts.account_store import AccountStore
from nwx.accounts.attempt_limits import OF_ONE_NAME
from nwx.accounts.user_options import UserOptions, user_options
from nwx.engine.access.rules import Role, Viewer
from nwx.engine.base import Engine
from tests.web.html import Page
from webapp import create_app
from webapp.site.viewer import PASSES_EXTENSION, playback_name, viewer, viewer_of
from webapp.site.viewer_passes import ViewerPasses
from webapp.users.guards import RouteGuard, guard_of
from webapp.users.proxies import ProxyHeaders
from webapp.users.user_service import user_service

ADA, ZOE, BOB = "ada", "Zoe", "bob"
PASSWORD = "correct horse 1"
ACCESS_TOKEN = "an-access-token-of-some-length"
MakeApp = Callable[..., Flask]


@pytest.fixture(autouse=True, scope="module")
def cheap_hashes() -> Iterator[None]:
    """Hash in a millisecond."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", PasswordHasher(1, 8, 1))
        passwords._hash_of_nobody.cache_clear()
        yield
    passwords._hash_of_nobody.cache_clear()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[AccountFile]:
    """A file with an administrator, a curator and a reader."""
    found = AccountFile(tmp_path / "users.db")
    store = AccountStore(found)
    store.add(ADA, Role.ADMINISTRATOR, PASSWORD)
    store.add(ZOE, Role.CURATOR, PASSWORD)
    store.add(BOB, Role.READER, PASSWORD)
    yield found
    found.close()


@pytest.fixture
def make_app(engine: Engine, file: AccountFile) -> MakeApp:
    """Makes an application that knows users in a way, as one of several workers."""

    def make(users: str = "accounts", trusted: tuple[str, ...] = (), search_url: str = "") -> Flask:
        options: UserOptions = user_options(users, trusted, ACCESS_TOKEN)
        app = create_app(
            engine,
            queue_token="queue-token",
            search_url=search_url,
            users=user_service(options, file) if options.has_users else None,
            proxies=ProxyHeaders(options.trusted_proxies, options.naming_proxies),
        )
        app.add_url_rule("/who", "who", _who)
        return app

    return make


def _who() -> dict[str, str]:
    found = viewer()
    return {"address": found.address, "user": found.user, "role": found.role.value}


@pytest.fixture
def client(make_app: MakeApp) -> FlaskClient:
    """A client of a service with accounts, not logged in."""
    return make_app().test_client()


def token_of(client: FlaskClient, address: str = "/login") -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(address).text)
    assert found is not None
    return found[1]


def log_in(
    client: FlaskClient, name: str = ADA, password: str = PASSWORD, **given: str
) -> TestResponse:
    form = {"csrf_token": token_of(client), "name": name, "password": password}
    return client.post("/login", data=form | given)


def name_of(client: FlaskClient, **headers: str) -> str:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    found: str = client.get("/who", headers=sent).json["user"]
    return found


def test_an_account_logs_in_and_out(client: FlaskClient) -> None:
    assert 'href="/login?next=/help"' in client.get("/help").text
    answer = log_in(client, next="/search?q=quarry")
    assert (answer.status_code, answer.location) == (303, "/search?q=quarry")
    assert client.get("/who").json == {
        "address": "127.0.0.1",
        "user": ADA,
        "role": "administrator",
    }
    page = client.get("/help").text
    assert "Log out" in page
    assert Page(page).faults == []
    assert client.post("/logout", data={"csrf_token": token_of(client, "/help")}).status_code == 303
    assert name_of(client) == ""


def test_the_login_page_is_sound(client: FlaskClient) -> None:
    answer = client.get("/login?next=/help")
    assert Page(answer.text).faults == []
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("name", "password"),
    [(ADA, "wrong"), (ADA, ""), ("nobody", PASSWORD), ("", ""), (BOB, "é" * 2_000)],
)
def test_wrong_logins_are_alike(client: FlaskClient, name: str, password: str) -> None:
    answer = log_in(client, name, password)
    assert answer.status_code == 403
    assert "Name or password is wrong." in answer.text
    assert name_of(client) == ""


def test_names_do_not_depend_on_the_case_of_letters(client: FlaskClient) -> None:
    log_in(client, "ZOE")
    assert name_of(client) == ZOE


def test_a_session_holds_in_every_worker_and_ends_in_all(make_app: MakeApp) -> None:
    one, other = make_app().test_client(), make_app().test_client()
    log_in(one)
    cookie = one.get_cookie("nwx_session")
    assert cookie is not None
    other.set_cookie("nwx_session", cookie.value)
    assert name_of(other) == ADA
    one.post("/logout", data={"csrf_token": token_of(one, "/help")})
    assert name_of(other) == ""
    one.set_cookie("nwx_session", cookie.value)
    assert name_of(one) == ""


def test_a_session_that_somebody_else_began_is_not_used(make_app: MakeApp) -> None:
    attacker, victim = make_app().test_client(), make_app().test_client()
    token = token_of(attacker)
    planted = attacker.get_cookie("nwx_session")
    assert planted is not None
    victim.set_cookie("nwx_session", planted.value)
    form = {"csrf_token": token, "name": ADA, "password": PASSWORD}
    victim.post("/login", data=form)
    assert name_of(victim) == ADA
    assert name_of(attacker) == ""
    after = victim.get_cookie("nwx_session")
    assert after is not None
    assert after.value != planted.value
    # The attacker's form token is of no use in the session that has begun.
    assert victim.post("/logout", data={"csrf_token": token}).status_code == 400
    assert name_of(victim) == ADA


def test_a_forged_cookie_is_none(client: FlaskClient, engine: Engine, file: AccountFile) -> None:
    log_in(client)
    cookie = client.get_cookie("nwx_session")
    assert cookie is not None
    for forged in (cookie.value[:-2] + "aa", "x", "", cookie.value * 3):
        client.set_cookie("nwx_session", forged)
        assert name_of(client) == ""


def test_a_new_role_or_password_counts_at_once(client: FlaskClient, file: AccountFile) -> None:
    log_in(client)
    store = AccountStore(file)
    store.set_role(ADA, Role.READER)
    assert client.get("/who").json["role"] == "reader"
    store.set_password(ADA, "battery staple 2")
    assert name_of(client) == ""
    log_in(client, ADA, "battery staple 2")
    assert name_of(client) == ADA
    store.remove(ADA)
    assert name_of(client) == ""


def test_the_cookie_is_kept_from_scripts_and_other_sites(make_app: MakeApp) -> None:
    cookie = log_in(make_app().test_client()).headers["Set-Cookie"]
    assert cookie.startswith("nwx_session=")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Domain" not in cookie
    assert "Secure" not in cookie


def test_over_tls_the_cookie_goes_over_tls_only(make_app: MakeApp) -> None:
    client = make_app(search_url="https://archive.example").test_client()
    cookie = client.get("/login").headers["Set-Cookie"]
    assert cookie.startswith("__Host-nwx_session=")
    assert "Secure" in cookie
    assert "Path=/;" in cookie + ";"
    behind = make_app(trusted=("127.0.0.1",)).test_client()
    cookie = behind.get("/login", headers={"X-Forwarded-Proto": "https"}).headers["Set-Cookie"]
    assert "Secure" in cookie


@pytest.mark.parametrize(
    "following", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:1"]
)
def test_a_login_leads_nowhere_else(client: FlaskClient, following: str) -> None:
    shown = client.get("/login", query_string={"next": following}).text
    assert "evil" not in shown.replace("evil.example</", "")
    assert log_in(client, next=following).location == "/"


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


def test_attempts_are_counted_by_all_workers(make_app: MakeApp) -> None:
    workers = [make_app().test_client() for _ in range(2)]
    for number in range(OF_ONE_NAME.amount):
        assert log_in(workers[number % 2], password="wrong password").status_code == 403
    for worker in workers:
        answer = log_in(worker)
        assert answer.status_code == 429
        assert 0 < int(answer.headers["Retry-After"]) <= 900
        assert "Too many attempts" in answer.text
        assert name_of(worker) == ""
    assert log_in(workers[0], ZOE).status_code == 303


def test_an_address_cannot_be_made_up_to_try_more(client: FlaskClient) -> None:
    token = token_of(client)
    for number in range(OF_ONE_NAME.amount + 1):
        headers = {"X-Forwarded-For": f"192.0.2.{number}"}
        form = {"csrf_token": token, "name": ADA, "password": "wrong password"}
        status = client.post("/login", data=form, headers=headers).status_code
    assert status == 429


def test_a_login_that_fails_is_logged_without_what_was_typed(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    log_in(client, "ADA", "wrong password")
    log_in(client, "my password\n", "wrong password")
    assert [record.getMessage() for record in caplog.records] == [
        "a login failed: ada, from 127.0.0.1",
        "a login failed: nobody that is known, from 127.0.0.1",
    ]


def test_without_users_nobody_logs_in(make_app: MakeApp) -> None:
    client = make_app("none").test_client()
    shown = client.get("/help")
    assert "Log in" not in shown.text
    assert "Set-Cookie" not in shown.headers
    for answer in (client.get("/login"), client.post("/login"), client.post("/logout")):
        assert answer.status_code == 404
    headers = {"X-Remote-User": ADA, "X-Forwarded-For": "192.0.2.1"}
    headers["Authorization"] = f"Bearer {ACCESS_TOKEN}"
    found = client.get("/who", headers=headers).json
    assert found == {"address": "127.0.0.1", "user": "", "role": "reader"}


def test_whoever_has_the_token_is_an_administrator(make_app: MakeApp) -> None:
    client = make_app("token").test_client()
    assert log_in(client, password="wrong").status_code == 403
    assert name_of(client, Authorization="Bearer wrong") == ""
    assert name_of(client, Authorization=f"Bearer {ACCESS_TOKEN}") == "token"
    assert name_of(client) == ""
    assert log_in(client, password=ACCESS_TOKEN).status_code == 303
    assert client.get("/who").json["role"] == "administrator"
    # A session of a token is none where there are accounts.
    cookie = client.get_cookie("nwx_session")
    assert cookie is not None
    other = make_app("accounts").test_client()
    other.set_cookie("nwx_session", cookie.value)
    assert name_of(other) == ""


def test_programs_with_the_token_need_no_form(make_app: MakeApp) -> None:
    client = make_app("token").test_client()
    form = {"text": "name = 'x'\n", "action": "check"}
    headers = {"Authorization": f"Bearer {ACCESS_TOKEN}"}
    assert client.post("/crawls/new", data=form, headers=headers).status_code == 200


def test_a_proxy_names_users(make_app: MakeApp) -> None:
    client = make_app("proxy=127.0.0.1").test_client()
    headers = {"X-Remote-User": "zoe", "X-Forwarded-For": "192.0.2.9"}
    found = client.get("/who", headers=headers).json
    assert found == {"address": "192.0.2.9", "user": ZOE, "role": "curator"}
    assert client.get("/who", headers={"X-Remote-User": "eve"}).json == {
        "address": "",
        "user": "eve",
        "role": "reader",
    }
    assert name_of(client) == ""
    assert name_of(client, X_Remote_User="") == ""
    assert client.get("/login").status_code == 404
    assert "Log in" not in client.get("/help").text


def test_two_names_of_a_proxy_are_refused(make_app: MakeApp) -> None:
    client = make_app("proxy=127.0.0.1").test_client()
    assert client.get("/who", headers={"X-Remote-User": "ada, bob"}).status_code == 400


def test_others_than_the_proxy_name_nobody(make_app: MakeApp) -> None:
    client = make_app("proxy=10.0.0.1").test_client()
    for peer in ("127.0.0.1", "10.0.0.2", "::1", ""):
        answer = client.get(
            "/who", headers={"X-Remote-User": ADA}, environ_overrides={"REMOTE_ADDR": peer}
        )
        assert answer.json == {"address": peer, "user": "", "role": "reader"}


def test_a_session_is_none_behind_a_proxy_that_names_users(make_app: MakeApp) -> None:
    client = make_app("accounts").test_client()
    log_in(client)
    cookie = client.get_cookie("nwx_session")
    assert cookie is not None
    other = make_app("proxy=127.0.0.1").test_client()
    other.set_cookie("nwx_session", cookie.value)
    assert name_of(other) == ""


def test_viewers_are_known_outside_of_routes(make_app: MakeApp) -> None:
    app = make_app("proxy=127.0.0.1")
    environ = app.test_request_context("/").request.environ | {"nwx.remote-user": ZOE}
    assert viewer_of(app, environ) == Viewer("", ZOE, Role.CURATOR)
    assert viewer_of(app, environ) is viewer_of(app, environ)
    plain = make_app("none")
    assert viewer_of(plain, {"REMOTE_ADDR": "192.0.2.1"}) == Viewer("192.0.2.1")


def test_no_cache_keeps_what_a_user_sees(client: FlaskClient) -> None:
    assert client.get("/search?q=quarry").headers["Cache-Control"] == "no-cache"
    log_in(client)
    assert client.get("/search?q=quarry").headers["Cache-Control"] == "private, no-cache"


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


def test_playback_knows_a_user_until_their_session_ends(make_app: MakeApp) -> None:
    app, passes = make_app(), ViewerPasses("key")
    app.extensions[PASSES_EXTENSION] = passes
    client = app.test_client()
    log_in(client)
    with client:
        client.get("/who")
        name = playback_name()
    assert name
    assert ADA not in name
    asking = {"X-Nwx-Viewer": passes.header("192.0.2.9", name)}
    playback = app.test_client()
    found = playback.get("/who", headers=asking).json
    assert found == {"address": "192.0.2.9", "user": ADA, "role": "administrator"}
    assert playback.get("/settings/access", headers=asking).status_code == 403
    for made_up in (ViewerPasses("other").header("192.0.2.9", name), passes.cookie(name), name):
        found = playback.get("/who", headers={"X-Nwx-Viewer": made_up}).json
        assert found == {"address": "", "user": "", "role": "reader"}
    client.post("/logout", data={"csrf_token": token_of(client, "/help")})
    assert name_of(playback, **asking) == ""


def test_playback_knows_whom_a_proxy_names(make_app: MakeApp) -> None:
    app, passes = make_app("proxy=127.0.0.1"), ViewerPasses("key")
    app.extensions[PASSES_EXTENSION] = passes
    client = app.test_client()
    for name, role in (("zoe", "curator"), ("eve", "reader")):
        answer = client.get("/who", headers={"X-Nwx-Viewer": passes.header("", name)})
        assert answer.json["role"] == role


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
    "cdx.delete_lines",
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
