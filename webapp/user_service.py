"""The users of an application: Flask-Login for sessions, Flask-WTF for forms."""

import hmac
from dataclasses import dataclass

from flask import Flask, Request, Response, current_app, g, request, session
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface, SessionMixin
from flask_babel import gettext
from flask_login import LoginManager, UserMixin, current_user, login_user, logout_user
from flask_wtf.csrf import CSRFError, CSRFProtect, generate_csrf
from itsdangerous import BadSignature
from markupsafe import Markup, escape
from werkzeug.exceptions import BadRequest

from nwx.access.account_store import AccountFile, AccountStore
from nwx.access.logins import LoginLimits, Session, SessionStore, proof_of, session_name
from nwx.access.user_options import UserMode, UserOptions
from nwx.engine.access.rules import Role, Viewer
from webapp.headers import KEPT_PRIVATE, has_token
from webapp.site.viewer import (
    NAMED_EXTENSION,
    REMOTE_USER,
    VIEWER_EXTENSION,
    PlaybackNames,
    forget_viewer,
    found_viewer,
)

TOKEN_USER = "token"
"""The name of the user who logs in with the access token."""

_EXTENSION = "nwx-users"
_COOKIE = "nwx_session"
_BY_HEADER = "nwx.by-header"
_MOST_PATHS = 5


@dataclass(frozen=True, slots=True)
class UserService:
    """The users of an application, and the file shared by its workers."""

    options: UserOptions
    file: AccountFile
    store: AccountStore
    sessions: SessionStore
    limits: LoginLimits

    @property
    def has_login(self) -> bool:
        """Whether users log in at a page of this service."""
        return self.options.mode in (UserMode.ACCOUNTS, UserMode.TOKEN)


def user_service(options: UserOptions, file: AccountFile) -> UserService:
    """Return the user service of an open accounts file."""
    return UserService(options, file, AccountStore(file), SessionStore(file), LoginLimits(file))


class SessionUser(UserMixin):  # type: ignore[misc]
    """A known user; the id for Flask-Login is the token of the session."""

    def __init__(self, name: str, role: Role, token: str = "") -> None:
        self.name, self.role, self.token = name, role, token

    def get_id(self) -> str:
        """Return the token of the session."""
        return self.token


@dataclass(frozen=True, slots=True)
class Login:
    """A successful login: the user, and the proof stored with the session."""

    name: str
    role: Role
    proof: bytes


class _Cookies(SecureCookieSessionInterface):
    """Session cookies, with the Secure attribute if readers use TLS.

    Other services of the same host or domain can set cookies of the same name
    for other paths: invalid ones are ignored and expired.
    """

    def __init__(self, secure: bool) -> None:
        self._secure = secure

    def get_cookie_secure(self, app: Flask) -> bool:
        return self._secure or request.is_secure

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """Return the session of the first valid cookie."""
        signing = self.get_signing_serializer(app)
        if signing is None:
            return None
        age = int(app.permanent_session_lifetime.total_seconds())
        found = []
        for text in request.cookies.getlist(self.get_cookie_name(app)):
            try:
                found.append(signing.loads(text, max_age=age))
            except BadSignature:
                g.has_foreign_cookies = True
        return self.session_class(*found[:1])

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        """Write the session, and expire foreign cookies for the paths of the request."""
        if g.get("has_foreign_cookies"):
            parts = request.path.split("/")[:_MOST_PATHS]
            paths = ["/".join(parts[: number + 1]) for number in range(len(parts))]
            for path in {"/", *filter(None, paths), *(f"{each}/" for each in paths)}:
                for domain in (None, request.host.partition(":")[0]):
                    response.delete_cookie(self.get_cookie_name(app), path, domain)
            session.modified = bool(session) or session.modified  # its cookie is expired too
        super().save_session(app, session, response)


def prepare_user_service(app: Flask, found: UserService, search_url: str = "") -> None:
    """Set up sessions, form tokens and viewers of an application."""
    app.extensions[_EXTENSION] = found
    secure = search_url.startswith("https:")
    app.secret_key = found.file.secret()
    app.session_interface = _Cookies(secure)
    app.config.update(
        # With this prefix, browsers reject cookies set by another host or over plain HTTP.
        SESSION_COOKIE_NAME=f"__Host-{_COOKIE}" if secure else _COOKIE,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        WTF_CSRF_CHECK_DEFAULT=False,  # `check_guard` does it
        WTF_CSRF_TIME_LIMIT=None,  # a session's tokens end with it
        WTF_CSRF_SSL_STRICT=False,  # `check_origin` does it
    )
    CSRFProtect(app)
    manager = LoginManager(app, add_context_processor=False)
    manager.session_protection = None
    manager.user_loader(_user_of_session)
    manager.request_loader(_user_of_request)
    app.extensions[VIEWER_EXTENSION] = _find_viewer
    app.extensions[NAMED_EXTENSION] = PlaybackNames(_viewer_name, _named_viewer)
    app.after_request(_keep_private)


def _keep_private(response: Response) -> Response:
    """Keep caches, and the browser after logout, from reusing a response made for a user."""
    found = found_viewer()
    if found is not None and found.user and not response.cache_control.no_store:
        response.headers.set(*KEPT_PRIVATE)
    return response


def users() -> UserService | None:
    """Return the user service of the running application, or None."""
    found: UserService | None = current_app.extensions.get(_EXTENSION)
    return found


def _find_viewer() -> Viewer:
    address = request.remote_addr or ""
    if not current_user.is_authenticated:
        return Viewer(address)
    return Viewer(address, current_user.name, current_user.role)


def _viewer_name() -> str:
    """Return the viewer's name in playback: of the session, or as sent by a proxy."""
    if not current_user.is_authenticated:
        return ""
    token = current_user.get_id()
    return session_name(token) if token else str(current_user.name)


def _named_viewer(address: str, name: str) -> Viewer:
    """Return the viewer of a name in playback, with the current role.

    A user who has logged out since is nobody.
    """
    found = users()
    if found is None:
        return Viewer(address)
    if found.has_login:
        user = _session_user(found, found.sessions.named_session(name))
    else:
        user = _proxy_user(found, name)
    return Viewer(address, user.name, user.role) if user else Viewer(address)


def _user_of_session(token: str) -> SessionUser | None:
    found = users()
    if found is None or not found.has_login:
        return None
    return _session_user(found, found.sessions.session(token), token)


def _session_user(
    found: UserService, opened: Session | None, token: str = ""
) -> SessionUser | None:
    """Return the user of a session, None if its token or password is no longer valid."""
    if opened is None:
        return None
    if found.options.mode is UserMode.TOKEN:
        same = hmac.compare_digest(opened.proof, proof_of(found.options.access_token))
        is_ours = opened.name == TOKEN_USER and same
        return SessionUser(TOKEN_USER, Role.ADMINISTRATOR, token) if is_ours else None
    account = found.store.account(opened.name)
    if account is None or not account.has_password:
        return None
    if not hmac.compare_digest(opened.proof, proof_of(account.password_hash)):
        return None
    return SessionUser(account.name, account.role, token)


def _user_of_request(asked: Request) -> SessionUser | None:
    """Return the user named by a proxy, or the sender of the access token."""
    found = users()
    if found is None:
        return None
    if found.options.mode is UserMode.TOKEN:
        header = asked.headers.get("Authorization", "")
        if not has_token(header, found.options.access_token):
            return None
        asked.environ[_BY_HEADER] = True
        return SessionUser(TOKEN_USER, Role.ADMINISTRATOR)
    if found.options.mode is not UserMode.PROXY:
        return None
    return _proxy_user(found, asked.environ.get(REMOTE_USER, ""))


def _proxy_user(found: UserService, name: str) -> SessionUser | None:
    """Return the user named by a proxy, with the role of the account, by default reader."""
    account = found.store.account(name) if name else None
    if account is not None:
        return SessionUser(account.name, account.role)
    return SessionUser(name, Role.READER) if name else None


def is_by_cookie() -> bool:
    """Return whether the user was identified without an explicit header: forms need a token."""
    return not request.environ.get(_BY_HEADER, False)


def checked_login(found: UserService, name: str, secret: str) -> Login | None:
    """Return the login for a name and a password, or for the access token; None if wrong."""
    if found.options.mode is UserMode.TOKEN:
        token = found.options.access_token
        same = has_token(f"Bearer {secret}", token)
        return Login(TOKEN_USER, Role.ADMINISTRATOR, proof_of(token)) if same else None
    account = found.store.logged_in(name, secret)
    if account is None:
        return None
    return Login(account.name, account.role, proof_of(account.password_hash))


def begin_session(found: UserService, login: Login) -> None:
    """Log in with a new session.

    The content of the previous session is dropped: an attacker may have set
    it (session fixation).
    """
    end_session(found)
    token = found.sessions.begin(login.name, login.proof)
    login_user(SessionUser(login.name, login.role, token))
    forget_viewer()


def end_session(found: UserService) -> None:
    """Log out and clear the session."""
    token = session.get("_user_id")
    if isinstance(token, str):
        found.sessions.end(token)
    logout_user()
    session.clear()
    g.pop("csrf_token", None)
    forget_viewer()


def check_form() -> None:
    """Raise BadRequest unless a form has the CSRF token of its session."""
    protect: CSRFProtect = current_app.extensions["csrf"]
    try:
        protect.protect()
    except CSRFError as error:
        raise BadRequest(
            gettext(
                "this form is out of date, or belongs to another user; open its page again and"
                " send it"
            )
        ) from error


def form_token() -> Markup:
    """Return the hidden form field with the CSRF token, "" without users."""
    if users() is None:
        return Markup()
    return Markup(f'<input type="hidden" name="csrf_token" value="{escape(generate_csrf())}">')
