"""The MCP server over HTTP, for clients with a token."""

import hmac
import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from uvicorn import Config, Server

from nwx.access.account_store import check_account_name
from nwx.access.user_options import LEAST_TOKEN_CHARACTERS
from nwx.assistants.server import AssistantDesk, assistant_server
from nwx.engine.access.rules import Viewer
from nwx.errors import SettingsError, SourceError
from nwx.settings import Settings
from webapp.server.connections import address_of
from webapp.server.worker_pool import listening_service

_LAST_ANSWERS_SECONDS = 5
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class AssistantPlace:
    """The address to listen on, the machine's host names, and users by token ("" is anybody)."""

    host: str
    port: int
    host_names: tuple[str, ...]
    tokens: Mapping[str, str]


class _Tokens:
    """Maps tokens to users: a token verifier of MCP."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        given = token.encode("utf-8", "surrogateescape")
        users = [
            user
            for known, user in self._tokens.items()
            if hmac.compare_digest(known.encode(), given)
        ]
        if not users:
            return None
        return AccessToken(token=token, client_id="nwx", scopes=[], subject=users[0] or None)


def read_tokens(path: Path | None) -> dict[str, str]:
    """Return users by token from a file; without a file, a new token for anybody.

    A line is a token, or a user, a space and a token. Raises SettingsError and SourceError.
    """
    if path is None:
        return {secrets.token_urlsafe(32): ""}
    with SourceError.instead_of((OSError, UnicodeDecodeError), f"{path} cannot be read"):
        lines = path.read_text("utf-8").splitlines()
    tokens = {}
    for number, line in enumerate(lines, 1):
        *user, token = line.split() or [""]
        if not token:
            continue
        if len(user) > 1 or len(token) < LEAST_TOKEN_CHARACTERS or not token.isascii():
            raise SettingsError(
                f"{path} line {number}: expected TOKEN or USER TOKEN, with a token of"
                f" {LEAST_TOKEN_CHARACTERS} or more ASCII characters"
            )
        tokens[token] = check_account_name(user[0]) if user else ""
    if not tokens:
        raise SettingsError(f"{path} has no token")
    return tokens


def assistant_app(
    desk: AssistantDesk,
    viewer: Viewer,
    host: str,
    names: tuple[str, ...],
    tokens: Mapping[str, str],
) -> Starlette:
    """Return an ASGI application with the MCP server at /mcp, for its own host names only."""
    hosts = [each for name in (*_LOCAL, host, *names) for each in (name, f"{name}:*")]
    return assistant_server(desk, viewer).streamable_http_app(
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts,
            allowed_origins=[f"{way}://{each}" for way in ("http", "https") for each in hosts],
        ),
        auth=AuthSettings(issuer_url=AnyHttpUrl("http://127.0.0.1"), resource_server_url=None),
        token_verifier=_Tokens(tokens),
    )


def serve_http(
    settings: Settings,
    viewer: Viewer,
    audit: Path | None,
    place: AssistantPlace,
    ready: Callable[[str], object],
) -> None:
    """Serve assistants until SIGINT or SIGTERM; `ready` is called with the address."""
    with (
        listening_service(place.host, place.port) as listening,
        ExitStack() as stack,
        suppress(KeyboardInterrupt),
    ):
        desk = AssistantDesk.open(stack, settings, audit)
        app = assistant_app(desk, viewer, place.host, place.host_names, place.tokens)
        # Proxy headers are not trusted, as access rules depend on addresses.
        config = Config(
            app,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
        )
        ready(f"{address_of(listening)}/mcp")
        Server(config).run([listening])
