"""Authentication by token or by proxy, and viewers of playback."""

from nwx.engine.access.rules import Role, Viewer
from tests.web.users.logins import ACCESS_TOKEN, ADA, ZOE, MakeApp, log_in, name_of, token_of
from webapp.site.viewer import PASSES_EXTENSION, ViewerPasses, playback_name, viewer_of


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
    # A session of a token is invalid for a service with accounts.
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


def test_playback_knows_a_user_until_their_session_ends(make_app: MakeApp) -> None:
    app, passes = make_app(), ViewerPasses("key")
    app.extensions[PASSES_EXTENSION] = passes
    client = app.test_client()
    log_in(client, ZOE)
    with client:
        client.get("/who")
        name = playback_name()
    assert name
    assert ZOE not in name
    asking = {"X-Nwx-Viewer": passes.header("192.0.2.9", name)}
    playback = app.test_client()
    found = playback.get("/who", headers=asking).json
    assert found == {"address": "192.0.2.9", "user": ZOE, "role": "curator"}
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
