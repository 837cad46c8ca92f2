"""The language of what playback says around captures: that of whoever asks."""

from collections.abc import Callable
from functools import cache
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from babel.support import NullTranslations, Translations
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from webapp.site.preferences import COOKIE, page_language

_CATALOGUES = Path(__file__).parent.parent / "translations"


def asked_language(environ: dict[str, Any]) -> str:
    """Return the language for a request to playback, as the pages choose theirs."""
    try:
        cookies = SimpleCookie(environ.get("HTTP_COOKIE", ""))
    except CookieError:
        cookies = SimpleCookie()
    chosen = cookies[COOKIE].value if COOKIE in cookies else ""
    return page_language(chosen, str(environ.get("HTTP_ACCEPT_LANGUAGE", "")))


@cache
def _translations(language: str) -> NullTranslations:
    return Translations.load(_CATALOGUES, [language])


@pass_context
def translated(context: Context, message: str, **values: object) -> Markup:
    """Return a message of a template of playback in the language of its request."""
    found = _translations(_language(context)).gettext(message)
    return Markup(found) % values


@pass_context
def _language(context: Context) -> str:
    return asked_language(context.get("env") or {})


TEMPLATE_FUNCTIONS: dict[str, Callable[..., str]] = {
    "_": translated,
    "page_language": _language,
}
"""What templates of playback can call."""
