"""The language of the pages: chosen by a reader, or by the reader's browser."""

from functools import cache

from babel import Locale
from flask import Flask, has_request_context, request
from flask_babel import Babel, get_locale

from webapp.site.preferences import COOKIE, page_language

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
