"""Logins, sessions and attempts."""

import pytest
from flask.testing import FlaskClient

from nwx.access.account_store import AccountFile, AccountStore
from nwx.access.logins import OF_ONE_NAME
from nwx.engine.access.rules import Role
from nwx.engine.base import Engine
from tests.web.html import Page
from tests.web.users.logins import ADA, BOB, PASSWORD, ZOE, MakeApp, log_in, name_of, token_of


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
    assert f'value="{name}"' in answer.text
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
    # The attacker's form token is invalid in the new session.
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


def test_cookies_that_others_set_keep_nobody_from_logging_in(client: FlaskClient) -> None:
    """Captures played at the same host name can set them; a longer path comes first."""
    client.set_cookie("nwx_session", "junk", path="/login")
    assert "nwx_session=junk" in client.get("/login").request.headers["Cookie"]
    client.set_cookie("nwx_session", "junk", path="/login")
    assert log_in(client).status_code == 303
    client.set_cookie("nwx_session", "junk", path="/who")
    assert name_of(client) == ADA
    assert name_of(client) == ADA
    assert client.get_cookie("nwx_session", path="/login") is None
    assert client.get_cookie("nwx_session", path="/who") is None


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
        "a login failed: an unknown name, from 127.0.0.1",
    ]


def test_no_cache_keeps_what_a_user_sees(client: FlaskClient) -> None:
    assert client.get("/search?q=quarry").headers["Cache-Control"] == "no-cache"
    log_in(client)
    assert client.get("/search?q=quarry").headers["Cache-Control"] == "private, no-cache"
