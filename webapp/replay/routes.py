"""Redirects from search results to playback, and the language that playback answers in."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode

from babel.support import NullTranslations, Translations
from flask import Blueprint, Response, current_app, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from werkzeug.exceptions import NotFound

from nwx.access.restricted_engine import check_url_shown
from nwx.engine.capture_index import exactly
from nwx.errors import ErrorText, UsageError
from nwx.values.urlkeys import urlkey
from webapp.headers import hostname, pages_host, playback_host, request_host
from webapp.site import parameters
from webapp.site.context import engine, service
from webapp.site.preferences import (
    COOKIE,
    COOKIE_SECONDS,
    PAGE_LANGUAGES,
    from_cookie,
    page_language,
    read_preferences,
    to_cookie,
)
from webapp.site.viewer import ARRIVAL, PASSES_EXTENSION, ViewerPasses, playback_name

blueprint = Blueprint("playback", __name__)

COLLECTION = "replay"
SAFE = "%/:?#&=+,;@!$'()*~[]-._"
_WHEN = re.compile(r"(\d{1,14})?([a-z]{2}_)?", re.ASCII)
_CALENDAR = re.compile(r"(\d{0,14})\*", re.ASCII)
_ESCAPED = re.compile(r"[^/]*%(?:2F|3A)", re.IGNORECASE)
_DIGITS = re.compile(r"\d{1,14}", re.ASCII)


def address(timestamp: str, url: str) -> str:
    """Return the playback address of a capture; it ends with the URL, query included."""
    return f"{url_for('playback.off')}/{timestamp}/{quote(url, safe=SAFE)}"


@blueprint.get("/replay")
def off() -> ResponseReturnValue:
    """Redirect to playback, or show that it is off."""
    base = origin()
    if base:
        return redirect(f"{base}/{COLLECTION}/")
    return render_template("replay_off.html"), 404


# Archived URLs contain `//`, which must not be merged.
@blueprint.route("/replay/<path:asked>", merge_slashes=False)
def play(asked: str) -> ResponseReturnValue:
    """Redirect to a capture: `/replay/<timestamp>[mp_|id_]/<url>`; with `*` to the calendar."""
    when, _, text = target_after("/replay/").partition("/")
    when, url = unquote(when), sent_url(text)
    calendar = _CALENDAR.fullmatch(when)
    if not ((calendar or _WHEN.fullmatch(when)) and url):
        raise UsageError(
            ErrorText(
                "this address names no capture; write"
                " /replay/20140126200624/http://www.example.org/"
            )
        )
    if len(url) > parameters.MAX_URL:
        raise UsageError(
            ErrorText(
                "the URL has %(count)s characters; at most %(most)s are allowed",
                count=len(url),
                most=parameters.MAX_URL,
            )
        )
    if calendar:
        return redirect(_calendar(url, calendar[1]))
    base = origin()
    if not base:
        return render_template("replay_off.html"), 404
    check_url_shown(engine(), url)
    return redirect(f"{base}{_arrival(f'/{COLLECTION}/{when}/{url}')}")


def _arrival(path: str) -> str:
    """Return a playback path that identifies the viewer, then redirects to another path."""
    passes: ViewerPasses | None = current_app.extensions.get(PASSES_EXTENSION)
    name = playback_name()
    if passes is None or name is None:
        return path
    return f"{ARRIVAL}?{urlencode({'pass': passes.link(name), 'to': path})}"


@blueprint.get("/replay-step")
def step() -> ResponseReturnValue:
    """Redirect from a capture to the previous or next one of its URL."""
    url, timestamp = parameters.url(request.args), parameters.text(request.args, "timestamp", 14)
    direction = parameters.text(request.args, "to", 10)
    if not url or not _DIGITS.fullmatch(timestamp) or direction not in ("previous", "next"):
        raise UsageError(
            ErrorText("write /replay-step?url=ADDRESS&timestamp=DIGITS&to=previous, or next")
        )
    key, moment = urlkey(url), timestamp.ljust(14, "0")
    if direction == "next":
        span = exactly(key, moment)
    else:
        span = replace(exactly(key, until=moment), newest_first=True)
    rows = (row for row in engine().cdx_rows(span) if row.timestamp != moment)
    found = next(rows, None)
    if found is None:
        if direction == "next":
            raise NotFound(gettext("There is no later capture of %(url)s.", url=url))
        raise NotFound(gettext("There is no earlier capture of %(url)s.", url=url))
    return redirect(address(found.timestamp, found.url))


@blueprint.get("/replay-refusal")
def refusal() -> ResponseReturnValue:
    """Answer playback with 451 and the reason if a URL may not be shown, else with nothing."""
    url = parameters.url(request.args)
    if url:
        check_url_shown(engine(), url)
    return Response("", mimetype="text/plain")


def _calendar(url: str, timestamp: str) -> str:
    """Return the address of the calendar of a URL's captures, at a time if given."""
    # `url_for` omits parameters that are None.
    return url_for("documents.of_capture", url=url, timestamp=timestamp or None, _anchor="captures")


def target_after(start: str) -> str:
    """Return the part of the request target after `start` as the client sent it, with query."""
    raw = str(request.environ.get("REQUEST_URI") or request.full_path.removesuffix("?"))
    return raw.partition(start)[2]


def sent_url(text: str) -> str:
    """Return a URL from the end of a request target; it may be completely escaped."""
    path, mark, query = text.partition("?")
    return f"{unquote(path)}{mark}{query}" if _ESCAPED.match(path) else text


def origin() -> str:
    """Return the origin of playback, "" if it is off.

    Archived pages are hostile: they never share an origin with these pages,
    nor the host name if there is another. Without a configured address,
    playback has another port.
    """
    found = service()
    if found.replay_url or not found.replay_port:
        return found.replay_url
    host = found.replay_host or playback_host(hostname(request_host()))
    return f"http://{host}:{found.replay_port}"


@blueprint.before_app_request
def leave_playback_host() -> ResponseReturnValue | None:
    """Redirect readers who request pages at the playback host to the pages' host."""
    found = service()
    shares = found.replay_port and not (found.replay_url or found.replay_host or found.search_url)
    asked = hostname(request_host())
    host = pages_host(asked, found.loopback)
    if not shares or host == asked or request.method != "GET" or not _is_navigation():
        return None
    return redirect(request.url.replace(f"//{asked}", f"//{host}", 1))


def _is_navigation() -> bool:
    """Return whether a browser requests a page: its Accept header has HTML, unlike programs'."""
    return "text/html" in request.headers.get("Accept", "")


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
