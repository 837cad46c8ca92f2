"""Texts, numbers, dates, sizes and errors in the language of the page; template translation."""

import re
import threading
from collections.abc import Callable, MutableMapping
from datetime import datetime
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlsplit

import flask_babel
from babel.dates import format_skeleton
from babel.numbers import format_decimal, format_percent
from babel.units import format_unit
from flask import Flask, has_request_context, request, url_for
from flask.templating import Environment
from flask_babel import get_locale, gettext, lazy_gettext
from jinja2 import Template, nodes
from jinja2.compiler import CodeGenerator
from jinja2.visitor import NodeTransformer
from markupsafe import Markup, escape

from nwx.errors import ErrorText, NwxError, TimestampError
from nwx.model import Total
from nwx.values.timestamps import parse_timestamp
from webapp.site.preferences import locale_of, page_locale

SAFE_SCHEMES = frozenset({"http", "https", "ftp"})
MAX_SHOWN_URL = 120
_KEPT = 8_192
"""The most formatted numbers, and dates, in caches: pages of an archive repeat the same ones."""

_UNITS = ("kilobyte", "megabyte", "gigabyte", "terabyte")


@lru_cache(_KEPT, typed=True)
def grouped_in(language: str, number: int) -> str:
    """Return a number with thousands separators of a language."""
    return format_decimal(number, locale=locale_of(language))


def grouped(number: int) -> str:
    """Return a number with thousands separators of the language of the page."""
    return grouped_in(page_locale().language, number)


def number(value: float) -> str:
    """Return a number in the language of the page, with at most three decimals."""
    return format_decimal(value, locale=page_locale())


def decimal(number: float, digits: int = 2) -> str:
    """Return a number in the language of the page, with a fixed number of decimals."""
    return format_decimal(number, f"#,##0.{'0' * digits}", locale=page_locale())


def percentage(share: float, digits: str = "") -> str:
    """Return a share of 1 as a whole percentage, or with decimals by a pattern: "#", "0"."""
    locale = page_locale()
    pattern = locale.percent_formats[None].pattern
    return format_percent(
        share, pattern.replace("0", f"0.{digits}" if digits else "0"), locale=locale
    )


def total_words(total: Total) -> str:
    """Return a count in words: "at least" if it is a lower bound."""
    words = grouped(total.value)
    return words if total.relation == "eq" else gettext("at least %(count)s", count=words)


def size(length: int | None) -> str:
    """Return a number of bytes with a suitable decimal unit, such as "1.5 MB"."""
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
    text = format_unit(float(f"{value:.3g}"), f"digital-{unit}", "short", locale=locale)
    return text.replace("kbyte", "kB")  # CLDR's German form for exactly one


@lru_cache(_KEPT)
def date_in(language: str, timestamp: str) -> str:
    """Return the day of a timestamp in a language; damaged timestamps are unchanged."""
    instant = _instant(timestamp)
    return format_skeleton("yMMMd", instant, locale=locale_of(language)) if instant else timestamp


def date(timestamp: str) -> str:
    """Return the day of a timestamp in the language of the page, or a damaged one unchanged."""
    return date_in(page_locale().language, timestamp)


@lru_cache(_KEPT)
def when_in(language: str, timestamp: str) -> Markup:
    """Return the day of a timestamp in a language as a `<time>` element."""
    instant = iso(timestamp)
    attribute = Markup(' datetime="{}"').format(instant) if instant else ""
    return Markup("<time{}>{}</time>").format(attribute, date_in(language, timestamp))


def when(timestamp: str) -> Markup:
    """Return the day of a timestamp in the language of the page as a `<time>` element."""
    return when_in(page_locale().language, timestamp)


def moment(timestamp: str) -> str:
    """Return day and UTC time of a timestamp in words; damaged timestamps are unchanged."""
    instant = _instant(timestamp)
    return f"{date(timestamp)}, {instant:%H:%M:%S} UTC" if instant else timestamp


def clock(timestamp: str) -> str:
    """Return the time of day of a timestamp; damaged timestamps are unchanged."""
    instant = _instant(timestamp)
    return f"{instant:%H:%M:%S}" if instant else timestamp


def iso(timestamp: str) -> str:
    """Return a timestamp in ISO 8601, "" for a damaged one."""
    instant = _instant(timestamp)
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0") if instant else ""


def language_in(page_language: str, code: str) -> str:
    """Return the name of a language in the language of a page, or its code if it has none."""
    return str(locale_of(page_language).languages.get(code, code))


def language(code: str) -> str:
    """Return the name of a language in the language of the page, or its code if it has none."""
    return language_in(page_locale().language, code)


def country(code: str) -> str:
    """Return the name of a country in the language of the page; unknown ones are unchanged."""
    names = page_locale().territories
    by_name = {name: one for one, name in locale_of("en").territories.items()}
    return str(names.get(by_name.get(code, code), code)) or gettext("elsewhere")


_NAMES = {
    "a": lazy_gettext("link"),
    "area": lazy_gettext("area of an image"),
    "refresh": lazy_gettext("redirection"),
    "redirection": lazy_gettext("redirection"),
    "form": lazy_gettext("form"),
    "img": lazy_gettext("image"),
    "script": lazy_gettext("script"),
    "stylesheet": lazy_gettext("style sheet"),
    "icon": lazy_gettext("icon"),
    "frame": lazy_gettext("frame"),
    "media": lazy_gettext("audio or video"),
    "css": lazy_gettext("in a style sheet"),
    "canonical": lazy_gettext("canonical URL"),
    "alternate": lazy_gettext("other form of the page"),
    "link": lazy_gettext("other reference"),
    "embedded": lazy_gettext("resources"),
    "pages": lazy_gettext("pages"),
    "person": lazy_gettext("person"),
    "organisation": lazy_gettext("organisation"),
    "place": lazy_gettext("place"),
    "event": lazy_gettext("event"),
    "other": lazy_gettext("other"),
    "ok": lazy_gettext("ok"),
    "request_error": lazy_gettext("request error"),
    "server_error": lazy_gettext("server error"),
    "ignored": lazy_gettext("other or none"),
    "advertisement": lazy_gettext("advertisement"),
    "login": lazy_gettext("login"),
    "action": lazy_gettext("action"),
    "pagination": lazy_gettext("pagination"),
    "comment": lazy_gettext("comment"),
    "calendar": lazy_gettext("calendar"),
    "navigation": lazy_gettext("navigation"),
    "content": lazy_gettext("content"),
}


def named(kind: str) -> str:
    """Return the name of a kind of link, entity or status; unknown kinds are unchanged."""
    return str(_NAMES.get(kind, kind))


def filters_in(language: str) -> dict[str, Callable[..., str]]:
    """Return the most used template filters, for pages in a fixed language.

    They save looking up the language of the page each time.
    """
    usual: dict[str, Callable[..., str]]
    usual = {"grouped": grouped_in, "date": date_in, "when": when_in, "language": language_in}
    return {name: partial(words, language) for name, words in usual.items()}


def safe_url(url: str) -> str:
    """Return an archived URL that is safe as a link target, "" for `javascript:` and others."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return url.strip() if parts.scheme.lower() in SAFE_SCHEMES and parts.netloc else ""


def shown_url(url: str) -> str:
    """Return a URL without http(s)://, shortened in the middle to fit on a line."""
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
    """Return the message of an error in the language of the page.

    Texts from archives, servers and systems are not translated.
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


_KEPT_ADDRESSES = 4_096
_PLAIN = frozenset((str, int, type(None)))


def kept_addresses() -> Callable[..., str]:
    """Return a `url_for` with a cache, for one application.

    The same addresses are at the top of each page, and building one takes
    much longer than looking it up. Addresses that depend on more than the
    root path are not cached: external ones, and endpoints relative to the
    current blueprint.
    """

    @lru_cache(_KEPT_ADDRESSES)
    def kept(root: str, endpoint: str, values: tuple[tuple[str, Any], ...]) -> str:
        return url_for(endpoint, **dict(values))

    def address(endpoint: str, **values: Any) -> str:
        if _PLAIN.issuperset(map(type, values.values())) and _is_path(endpoint, values):
            return kept(request.script_root, endpoint, tuple(values.items()))
        return url_for(endpoint, **values)

    return address


def _is_path(endpoint: str, values: dict[str, Any]) -> bool:
    """Return whether an address is a path that is the same on all pages."""
    return has_request_context() and not endpoint.startswith(".") and "_external" not in values


_MARKUP = re.compile("[&<>'\"]")
_GETTEXT = ("_", "gettext")


class _PageCodeGenerator(CodeGenerator):
    """Generates templates whose output is escaped by the environment's `written`."""

    def _output_child_pre(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        if frame.eval_ctx.volatile or not frame.eval_ctx.autoescape or finalize.src is not None:
            super()._output_child_pre(node, frame, finalize)
        else:
            self.write("environment.written(")


class TranslatedEnvironment(Environment):
    """A Jinja environment that compiles templates separately for each language.

    Looking up a message and marking it as safe takes longer than writing it,
    and a page has a hundred of them. So each language has a separate
    environment, which shares all but the compiled templates. Plural forms are
    looked up when a page is rendered.
    """

    code_generator_class = _PageCodeGenerator

    def __init__(self, app: Flask, **options: Any) -> None:
        super().__init__(app, **options)
        self._guard = threading.Lock()
        self._of_languages: dict[str, TranslatedEnvironment] = {}
        self._messages: _Messages | None = None

    def get_template(
        self,
        name: str | Template,
        parent: str | None = None,
        globals: MutableMapping[str, Any] | None = None,
    ) -> Template:
        """Return a template in the language of the page."""
        return super(TranslatedEnvironment, self._of_page()).get_template(name, parent, globals)

    @staticmethod
    def written(value: object) -> str:
        """Return a value as escaped text of a page."""
        if type(value) is Markup or (type(value) is str and not _MARKUP.search(value)):
            return value
        return str(value) if type(value) is int else escape(value)

    def _of_page(self) -> "TranslatedEnvironment":
        if self._messages is not None:
            return self  # templates include others of the same language
        locale = get_locale()
        if locale is None:
            return self
        found = self._of_languages.get(locale.language)
        return found or self._added(locale.language)

    def _added(self, language: str) -> "TranslatedEnvironment":
        with self._guard:
            if language not in self._of_languages:
                made, translations = self.overlay(), _translations()
                made.filters = self.filters | filters_in(language)
                made.globals = self.globals | {"ngettext": _plural_messages(translations)}
                made._messages = _Messages(translations)
                self._of_languages[language] = made
            return self._of_languages[language]

    def _generate(self, source: nodes.Template, *given: Any, **options: Any) -> str:
        """Return the Python code of a template, with messages translated; a hook of Jinja."""
        if self._messages is not None:
            self._messages.visit(source)
            source.set_environment(self)
        return super()._generate(source, *given, **options)


def _translations() -> Any:
    """Return the message catalogue of the page's language."""
    return flask_babel.get_translations()  # type: ignore[attr-defined]  # missing in its stub


def _plural_messages(translations: Any) -> Callable[..., Markup]:
    """Return the `ngettext` for templates in the language of a catalogue."""

    def ngettext(singular: str, plural: str, number: int, /, **values: Any) -> Markup:
        values.setdefault("num", number)
        return Markup(translations.ungettext(singular, plural, number)) % values

    return ngettext


class _Messages(NodeTransformer):
    """Replaces gettext calls in a template by their translations."""

    def __init__(self, translations: Any) -> None:
        self._translated = translations.ugettext

    def get_visitor(self, node: nodes.Node) -> Any:
        """Return the visitor of a node, None if only its children are visited."""
        return self._visit_call if isinstance(node, nodes.Call) else None

    def _visit_call(self, node: nodes.Call) -> nodes.Expr:
        """Return the replacement of a call, or the call itself if it looks up no message."""
        self.generic_visit(node)
        message = _message(node)
        if message is None:
            return node
        text = self._translated(message)
        if not node.kwargs:
            return _safe(text % {}, node)
        line = node.lineno
        values = [
            nodes.Pair(nodes.Const(one.key, lineno=line), one.value, lineno=line)
            for one in node.kwargs
        ]
        return nodes.Mod(_safe(text, node), nodes.Dict(values, lineno=line), lineno=line)


def _message(node: nodes.Call) -> str | None:
    """Return the message that a call looks up, None for other calls."""
    if not (isinstance(node.node, nodes.Name) and node.node.name in _GETTEXT):
        return None
    plain = len(node.args) == 1 and node.dyn_args is None and node.dyn_kwargs is None
    return node.args[0].value if plain and isinstance(node.args[0], nodes.Const) else None


def _safe(text: str, node: nodes.Call) -> nodes.Expr:
    """Return a message as safe text: it may contain markup; its values are escaped."""
    return nodes.MarkSafeIfAutoescape(nodes.Const(text, lineno=node.lineno), lineno=node.lineno)
