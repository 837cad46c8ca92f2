"""Preferences of a reader: language, theme, and how results are listed."""

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
"""The languages of pages, each by its native name; messages in code are in the first."""


class Theme(StrEnum):
    """The colour theme: light, dark, or as set in the system."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Preferences:
    """The choices of a reader; parameters of an address override them.

    `language` is one of PAGE_LANGUAGES, "" for the browser's preference.
    """

    per_page: int = PAGE_SIZES[0]
    collapse: Collapse = Collapse.URL
    theme: Theme = Theme.AUTO
    new_tab: bool = False
    language: str = ""


def read_preferences(values: Mapping[str, str]) -> Preferences:
    """Return the preferences in some values; unknown choices become defaults."""
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
    """Return the preferences in a cookie; defaults if it is broken."""
    return read_preferences(dict(parse_qsl(cookie[:500])))


def page_language(cookie: str, accepted: str) -> str:
    """Return the language for a reader: set in the cookie, else preferred by the browser.

    `accepted` is an Accept-Language header; if it has none of PAGE_LANGUAGES,
    pages are in English.
    """
    asked = parse_accept_header(accepted[:1_000], LanguageAccept).values()
    names = (language.partition("-")[0].lower() for language in asked)
    return from_cookie(cookie).language or next((n for n in names if n in PAGE_LANGUAGES), "en")


def to_cookie(preferences: Preferences) -> str:
    """Return the value of the cookie for preferences."""
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
"""Path prefixes of APIs for programs: their answers are always in English."""

_ENGLISH = Locale("en", "GB")
"""The locale of English pages: day before month, 24 hours."""


def prepare_languages(app: Flask) -> None:
    """Set up an application to answer in the language of the reader.

    Messages are marked with `_` in templates and with `gettext` and its
    variants in Python, and translated by the catalogues in `translations/`.
    """
    app.jinja_env.policies["ext.i18n.trimmed"] = True
    Babel(app, locale_selector=chosen_language)


def chosen_language() -> str:
    """Return the language of a request: set by the reader, else the browser's, else English."""
    if not has_request_context() or request.path.startswith(FOR_PROGRAMS):
        return "en"
    accepted = request.headers.get("Accept-Language", "")
    return page_language(request.cookies.get(COOKIE, ""), accepted)


def page_locale() -> Locale:
    """Return the locale for numbers, dates and names of languages on the page."""
    locale = get_locale()
    return locale if locale is not None and locale.language != "en" else _ENGLISH


@cache
def locale_of(language: str) -> Locale:
    """Return the locale for numbers and dates of pages in a language."""
    return _ENGLISH if language == "en" else Locale(language)
