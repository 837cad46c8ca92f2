"""Numbers, dates, sizes and errors in the language of the page."""

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache, partial
from urllib.parse import urlsplit

from babel.dates import format_skeleton
from babel.numbers import format_decimal, format_percent
from babel.units import format_unit
from flask_babel import gettext
from markupsafe import Markup

from nwx.errors import ErrorText, NwxError, TimestampError
from nwx.model import Total
from nwx.values.timestamps import parse_timestamp
from webapp.site.preferences import locale_of, page_locale

SAFE_SCHEMES = frozenset({"http", "https", "ftp"})
MAX_SHOWN_URL = 120
_KEPT = 8_192
"""So many numbers, and as many dates, are kept in words: pages of one archive have the same."""

_UNITS = ("kilobyte", "megabyte", "gigabyte", "terabyte")


@lru_cache(_KEPT, typed=True)
def grouped_in(language: str, number: int) -> str:
    """Return a number with its thousands grouped as a language does."""
    return format_decimal(number, locale=locale_of(language))


def grouped(number: int) -> str:
    """Return a number with its thousands grouped as the language of the page does."""
    return grouped_in(page_locale().language, number)


def number(value: float) -> str:
    """Return a number with the digits that it needs, as the language of the page has it."""
    return format_decimal(value, locale=page_locale())


def decimal(number: float, digits: int = 2) -> str:
    """Return a number with so many digits after the point, as the language of the page has it."""
    return format_decimal(number, f"#,##0.{'0' * digits}", locale=page_locale())


def percentage(share: float, digits: str = "") -> str:
    """Return a share of 1 as a percentage, whole, or with `digits` of a pattern: "#", "0"."""
    locale = page_locale()
    pattern = locale.percent_formats[None].pattern
    return format_percent(
        share, pattern.replace("0", f"0.{digits}" if digits else "0"), locale=locale
    )


def total_words(total: Total) -> str:
    """Return a count, with a word where it is a lower bound."""
    words = grouped(total.value)
    return words if total.relation == "eq" else gettext("at least %(count)s", count=words)


def size(length: int | None) -> str:
    """Return a number of bytes in a unit of its size."""
    if length is None:
        return gettext("unknown")
    locale = page_locale()
    if length < 1_000:
        return format_unit(length, "digital-byte", "long", locale=locale)
    value = float(length)
    for unit in _UNITS:
        value /= 1_000
        if value < 999.5 or unit == _UNITS[-1]:
            break
    return format_unit(float(f"{value:.3g}"), f"digital-{unit}", "short", locale=locale)


@lru_cache(_KEPT)
def date_in(language: str, timestamp: str) -> str:
    """Return the day of a timestamp in the words of a language, a damaged one as it is."""
    instant = _instant(timestamp)
    return format_skeleton("yMMMd", instant, locale=locale_of(language)) if instant else timestamp


def date(timestamp: str) -> str:
    """Return the day of a timestamp in words, a damaged one as it is."""
    return date_in(page_locale().language, timestamp)


@lru_cache(_KEPT)
def when_in(language: str, timestamp: str) -> Markup:
    """Return the day of a timestamp in the words of a language, as an element of a page."""
    instant = iso(timestamp)
    attribute = Markup(' datetime="{}"').format(instant) if instant else ""
    return Markup("<time{}>{}</time>").format(attribute, date_in(language, timestamp))


def when(timestamp: str) -> Markup:
    """Return the day of a timestamp in words, as an element of a page."""
    return when_in(page_locale().language, timestamp)


def moment(timestamp: str) -> str:
    """Return day and time of a timestamp in words, a damaged one as it is."""
    instant = _instant(timestamp)
    return f"{date(timestamp)}, {instant:%H:%M:%S} UTC" if instant else timestamp


def clock(timestamp: str) -> str:
    """Return the time of day of a timestamp."""
    instant = _instant(timestamp)
    return f"{instant:%H:%M:%S}" if instant else timestamp


def iso(timestamp: str) -> str:
    """Return a timestamp as machines read it in pages, "" for a damaged one."""
    instant = _instant(timestamp)
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0") if instant else ""


def language_in(page_language: str, code: str) -> str:
    """Return the name of a language in that of a page, or its code where it has none."""
    return str(locale_of(page_language).languages.get(code, code))


def language(code: str) -> str:
    """Return the name of a language in the one of the page, or its code where it has none."""
    return language_in(page_locale().language, code)


def filters_in(language: str) -> dict[str, Callable[..., str]]:
    """Return the filters that templates use most, for pages in a language.

    They need not ask for the language of the page each time.
    """
    usual: dict[str, Callable[..., str]]
    usual = {"grouped": grouped_in, "date": date_in, "when": when_in, "language": language_in}
    return {name: partial(words, language) for name, words in usual.items()}


def safe_url(url: str) -> str:
    """Return an archived URL that may stand behind a link, "" for `javascript:` and its like."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return url.strip() if parts.scheme.lower() in SAFE_SCHEMES and parts.netloc else ""


def shown_url(url: str) -> str:
    """Return a URL short enough for a line: both ends are kept."""
    shown = url.removeprefix("http://").removeprefix("https://")
    if len(shown) <= MAX_SHOWN_URL:
        return shown
    return f"{shown[: MAX_SHOWN_URL - 30]}…{shown[-29:]}"


def _instant(timestamp: str) -> datetime | None:
    try:
        return parse_timestamp(timestamp)
    except TimestampError:
        return None


def error_text(error: NwxError | ErrorText) -> str:
    """Return what an error says in the language of the page.

    Texts that archives, servers and systems give are shown as they are.
    """
    text = error.text if isinstance(error, NwxError) else error
    if not text.values:
        return gettext(text.template) if text.template else ""
    return gettext(text.template) % {name: _shown(value) for name, value in text.values.items()}


def _shown(value: str | float | ErrorText) -> str:
    if isinstance(value, ErrorText):
        return error_text(value)
    if isinstance(value, int):
        return grouped(value)
    return number(value) if isinstance(value, float) else value
