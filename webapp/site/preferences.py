"""What a reader prefers: language, theme, and how results are listed."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from urllib.parse import parse_qsl, urlencode

from babel import Locale
from flask import Flask, has_request_context, request
from flask_babel import Babel, get_locale
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header

from nwx.model import Collapse

COOKIE = "nwx_settings"
COOKIE_SECONDS = 365 * 86_400
PAGE_SIZES = (10, 20, 50, 100)
PAGE_LANGUAGES = {"en": "English", "de": "Deutsch", "fr": "Français", "es": "Español"}
"""The languages that pages are in, each by its own name; the first is the one of the messages."""


class Theme(StrEnum):
    """Colours: as the system has them, or one of two."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a reader has chosen; each address can say otherwise.

    `language` is one of PAGE_LANGUAGES, "" for the one that the browser asks for.
    """

    per_page: int = PAGE_SIZES[0]
    collapse: Collapse = Collapse.URL
    theme: Theme = Theme.AUTO
    new_tab: bool = False
    language: str = ""


def read_preferences(values: Mapping[str, str]) -> Preferences:
    """Return the preferences among some values; what is no known choice counts as not made."""
    default = Preferences()
    per_page = values.get("per_page", "")
    collapse = values.get("collapse", "")
    theme = values.get("theme", "")
    language = values.get("language", "")
    return Preferences(
        per_page=next((size for size in PAGE_SIZES if str(size) == per_page), default.per_page),
        collapse=Collapse(collapse) if collapse in set(Collapse) else default.collapse,
        theme=Theme(theme) if theme in set(Theme) else default.theme,
        new_tab=values.get("new_tab") == "yes",
        language=language if language in PAGE_LANGUAGES else default.language,
    )


def from_cookie(cookie: str) -> Preferences:
    """Return the preferences that a cookie holds; a broken cookie holds none."""
    return read_preferences(dict(parse_qsl(cookie[:500])))


def page_language(cookie: str, accepted: str) -> str:
    """Return the language for a reader: as set in the cookie, else as the browser asks for one.

    `accepted` is a header Accept-Language; where it names none of
    PAGE_LANGUAGES, pages are in English.
    """
    asked = parse_accept_header(accepted[:1_000], LanguageAccept).values()
    names = (language.partition("-")[0].lower() for language in asked)
    return from_cookie(cookie).language or next((n for n in names if n in PAGE_LANGUAGES), "en")


def to_cookie(preferences: Preferences) -> str:
    """Return the value of the cookie that keeps the preferences."""
    return urlencode(
        {
            "per_page": preferences.per_page,
            "collapse": preferences.collapse,
            "theme": preferences.theme,
            "new_tab": "yes" if preferences.new_tab else "no",
            "language": preferences.language,
        }
    )


FOR_PROGRAMS = ("/api/", "/urls", "/cdx", "/dedup", "/health")
"""What addresses begin with that programs ask: their answers are English, whoever asks."""

_ENGLISH = Locale("en", "GB")
"""Writes dates and numbers for English pages: day before month, 24 hours."""


def prepare_languages(app: Flask) -> None:
    """Let the pages of an application be in the language of whoever asks.

    Messages are marked with `_` in templates and with `gettext` and its
    kin in Python, and translated by the catalogues of `translations/`.
    """
    app.jinja_env.policies["ext.i18n.trimmed"] = True
    Babel(app, locale_selector=chosen_language)


def chosen_language() -> str:
    """Return the language for a request: as set, else as its browser asks, else English."""
    if not has_request_context() or request.path.startswith(FOR_PROGRAMS):
        return "en"
    accepted = request.headers.get("Accept-Language", "")
    return page_language(request.cookies.get(COOKIE, ""), accepted)


def page_locale() -> Locale:
    """Return the locale that numbers, dates and names of languages are written in."""
    locale = get_locale()
    return locale if locale is not None and locale.language != "en" else _ENGLISH


@cache
def locale_of(language: str) -> Locale:
    """Return the locale that numbers and dates of pages in a language are written in."""
    return _ENGLISH if language == "en" else Locale(language)
