"""The language of the bar and messages of playback, as chosen by the reader."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from babel.support import NullTranslations, Translations
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from webapp.replay.routes import COLLECTION, SAFE
from webapp.site.preferences import (
    COOKIE,
    COOKIE_SECONDS,
    PAGE_LANGUAGES,
    from_cookie,
    page_language,
    read_preferences,
    to_cookie,
)

_LANGUAGE = "/nwx-language"

_CATALOGUES = Path(__file__).parent.parent / "translations"


def asked_language(environ: dict[str, Any]) -> str:
    """Return the language for a request to playback, chosen as for the pages."""
    return page_language(_cookie(environ), str(environ.get("HTTP_ACCEPT_LANGUAGE", "")))


def language_answer(
    environ: dict[str, Any], start_response: Callable[..., Any]
) -> Iterable[bytes] | None:
    """Store the language chosen in the bar and redirect back; None for other requests."""
    if environ.get("PATH_INFO") != _LANGUAGE:
        return None
    given = parse_qs(environ.get("QUERY_STRING", ""))
    back = given.get("back", [""])[0]
    if not back.startswith(f"/{COLLECTION}/"):
        back = f"/{COLLECTION}/"
    language = read_preferences({"language": given.get("to", [""])[0]}).language
    kept = to_cookie(replace(from_cookie(_cookie(environ)), language=language))
    cookie = f"{COOKIE}={kept}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Lax"
    start_response("303 See Other", [("Set-Cookie", cookie), ("Location", quote(back, safe=SAFE))])
    return (b"",)


def _cookie(environ: dict[str, Any]) -> str:
    try:
        cookies = SimpleCookie(environ.get("HTTP_COOKIE", ""))
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""


@cache
def _translations(language: str) -> NullTranslations:
    return Translations.load(_CATALOGUES, [language])


@pass_context
def translated(context: Context, message: str, **values: object) -> Markup:
    """Return a message of a playback template in the language of its request."""
    found = _translations(_language(context)).gettext(message)
    return Markup(found) % values


@pass_context
def _language(context: Context) -> str:
    return asked_language(context.get("env") or {})


TEMPLATE_FUNCTIONS: dict[str, Any] = {
    "_": translated,
    "page_language": _language,
    "page_languages": PAGE_LANGUAGES,
}
"""The functions and values for playback templates."""
