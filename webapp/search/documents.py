"""The page of a document, and the difference between two."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import NotFound

from nwx.answers.citations import Citation
from nwx.errors import FormatError, QueryError, SourceError, UsageError
from nwx.model import Capture, Dates, Document
from nwx.quality.stored_renders import PageMoment
from nwx.query.parser import parse_query
from nwx.searching.answers import highlighted
from nwx.searching.differences import difference
from nwx.values.urlkeys import urlkey
from webapp.access_page import hidden_marks
from webapp.renders import (
    MOST_RENDERS,
    etag_of,
    listed_renders,
    picture_answer,
    placeholder_answer,
)
from webapp.search.captures import citation_of, record_id
from webapp.search.changes import CHANGES_OF, ChangeOf, day_changes
from webapp.search.history import (
    History,
    HistoryVersion,
    busy_days,
    months_of,
    read_history,
    weekdays,
    year_bars,
)
from webapp.site import parameters, words
from webapp.site.context import archive, document_or_404, service

blueprint = Blueprint("documents", __name__, url_prefix="/documents")

PART = 12_000
MOST_LINKS = 300
SHOWN_INLINKS = 20
_MOST_RESULTS = 8_000

ID = "<string(length=32):document_id>"


_FIELD_TITLES = {
    "puid": lazy_gettext("Format (PRONOM)"),
    "content_type_droid": lazy_gettext("Type by signature"),
    "generator": lazy_gettext("Generator"),
    "server": lazy_gettext("Server"),
    "warc_ip": lazy_gettext("IP address"),
    "license_url": lazy_gettext("License"),
    "keywords": lazy_gettext("Keywords"),
    "publication_date": lazy_gettext("Published"),
    "last_modified": lazy_gettext("Modified"),
    "elements_used": lazy_gettext("Elements"),
    "tlsh_hash": lazy_gettext("Fuzzy hash of the text"),
    "favicon_hash": lazy_gettext("Hash of the favicon"),
    "exif_date": lazy_gettext("Taken on"),
    "exif_location": lazy_gettext("Taken at"),
}
"""The enrichers' fields shown on a page, with their titles."""
_DATES = ("publication_date", "last_modified", "exif_date")


def shown_fields(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return enrichers' fields as titles and readable values."""
    found = dict(fields)
    if counts := found.get("elements_counts"):
        names = zip(found["elements_used"], counts, strict=False)
        found["elements_used"] = tuple(f"{name} {count}" for name, count in names)
    for name in _DATES:
        if date := found.get(name):
            found[name] = words.date(re.sub(r"\D", "", date))
    return [
        (str(title), value if isinstance(value, str) else ", ".join(map(str, value)))
        for name, title in _FIELD_TITLES.items()
        if (value := found.get(name))
    ]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a document's text; parts count from 1."""

    text: str
    number: int
    count: int


@blueprint.get(f"/{ID}", endpoint="show")
def show_document(document_id: str) -> ResponseReturnValue:
    """Show a document: its text, every capture of its URL, its versions and records."""
    document = document_or_404(document_id)
    dates = dates_of(document_id)
    history = history_of(document, document_id, dates, _year(dates, document))
    of = parameters.choice(request.args, "colour", ChangeOf.CAPTURES)
    months = months_of(history, None if of is ChangeOf.CAPTURES else day_changes(history, of))
    number = parameters.number_parameter(request.args, "part", 1, 1, 10**6)
    part = text_part(document.extract.content, number)
    return render_template(
        "document.html",
        id=document_id,
        document=document,
        fields=shown_fields(document.extract.fields),
        dates=dates,
        history=history,
        known=archive().known_documents(list(history.versions)),
        hidden_marks=hidden_marks([document_id, *history.versions]),
        bars=year_bars(
            history.years,
            lambda year: url_for(".show", document_id=document_id, year=year, _anchor="captures"),
            [history.year],
        ),
        months=months,
        colour=of,
        colours=CHANGES_OF,
        busy_days=busy_days(months),
        weekdays=weekdays(),
        part=part,
        pieces=_highlighted(part.text),
        results=_results(),
        record_id=record_id,
        citation=_citation(document, dates),
        # /cite looks up the URL, which does not find answers to POST requests.
        is_cited_by_url=document.capture.urlkey == urlkey(document.capture.url),
        outlinks=archive().outlink_states(document, MOST_LINKS),
        resources=archive().resources(document),
        playback_score=archive().document_score(document, document_id),
        **_renders(document, dates),
        **_inlinks(document, document_id),
    )


def _citation(document: Document, dates: Dates) -> Citation | None:
    last = dates.seen[-1][0] if dates.seen else document.capture.timestamp
    return citation_of(document.capture.url, last, document.extract.title)


def _results() -> str:
    """Return the query string of the results that the reader came from, or ""."""
    return parameters.text(request.args, "results", _MOST_RESULTS)


def _highlighted(text: str) -> tuple[tuple[str, bool], ...]:
    """Return the pieces of a text, and whether each matches the query that the reader came from."""
    query = dict(parse_qsl(_results())).get("q", "")
    try:
        return highlighted(parse_query(query), text) if query else ((text, False),)
    except QueryError:
        return ((text, False),)


def _renders(document: Document, dates: Dates) -> dict[str, object]:
    """Return the template variables of a document's renders, and the picture at its top."""
    own, capture = archive().page_pictures(), document.capture
    moments = tuple(timestamp for timestamp, _ in dates.seen) or (capture.timestamp,)
    found = own.renders(PageMoment(capture.url, moments[-1], moments))
    return {
        "picture": own.of_document(document, moments, found),
        "renders": listed_renders(capture.url, found),
        "most_renders": MOST_RENDERS,
    }


def _inlinks(document: Document, document_id: str) -> dict[str, object]:
    """Return the template variables of the inlinks of a document, None if links were not built."""
    if not archive().is_built("links"):
        return {"inlinks": None}
    year = parameters.number_parameter(request.args, "links_year", 0, 0, 9999)
    found = archive().inlinks(document.capture.urlkey, year=year, limit=SHOWN_INLINKS)
    bars = year_bars(
        found.years,
        lambda one: url_for(
            ".show",
            document_id=document_id,
            links_year=None if int(one) == year else one,
            _anchor="inlinks",
        ),
        [f"{year:04}"],
    )
    return {"inlinks": found, "links_year": year, "links_bars": bars}


@blueprint.get("/compare")
def compare() -> ResponseReturnValue:
    """Redirect to the difference of the two versions chosen in a form."""
    old = parameters.text(request.args, "old", 32)
    new = parameters.text(request.args, "new", 32)
    if len(old) != 32 or len(new) != 32:
        raise UsageError(
            gettext("two versions are needed to compare; choose an older and a newer one")
        )
    return redirect(url_for(".diff", document_id=old, other_id=new))


@blueprint.get("/of")
def of_capture() -> ResponseReturnValue:
    """Redirect from a capture, by URL and timestamp, to the page of its document."""
    url = parameters.needed_url(request.args, "/documents/of")
    found = archive().document_near(url, parameters.text(request.args, "timestamp", 14))
    if found is None:
        raise NotFound(gettext("there is no document of %(url)s in this archive", url=url))
    return redirect(url_for(".show", document_id=found))


@blueprint.get("/between")
def between() -> ResponseReturnValue:
    """Redirect to the difference of a URL's versions at two moments."""
    url = parameters.needed_url(request.args, "/documents/between")
    old, new = (
        archive().document_near(url, parameters.text(request.args, name, 14))
        for name in ("old", "new")
    )
    if old is None or new is None:
        raise NotFound(gettext("there is no document of %(url)s in this archive", url=url))
    if old == new:
        return redirect(url_for(".show", document_id=new, _anchor="captures"))
    return redirect(url_for(".diff", document_id=old, other_id=new))


@blueprint.get(f"/{ID}/diff/<string(length=32):other_id>")
def diff(document_id: str, other_id: str) -> ResponseReturnValue:
    """Show what changed from one document to another."""
    old, new = document_or_404(document_id), document_or_404(other_id)
    history = history_of(new, other_id, dates_of(other_id), "")
    versions = sorted(history.versions.values(), key=lambda one: one.first)
    was, now = ({link.url for link in one.extract.links} for one in (old, new))
    return render_template(
        "diff.html",
        old=old,
        new=new,
        old_id=document_id,
        new_id=other_id,
        difference=difference(old.extract.content, new.extract.content),
        versions=[one for one in versions if one.document_id in _known(versions)],
        links=(sorted(now - was), sorted(was - now)),
        most_links=MOST_LINKS,
        looks=all(_looks(old, new)),
    )


def _known(versions: Sequence[HistoryVersion]) -> Collection[str]:
    return archive().known_documents([one.document_id for one in versions])


def _looks(*documents: Document) -> list[Capture | None]:
    """Return the screenshot of each document, None without one."""
    pages = archive().page_pictures()
    moments = (PageMoment(one.capture.url, one.capture.timestamp) for one in documents)
    found = map(pages.shown_by, moments)
    return [one[0] if one and one[1] else None for one in found]


@blueprint.get(f"/{ID}/diff/<string(length=32):other_id>/picture")
def picture_difference(document_id: str, other_id: str) -> ResponseReturnValue:
    """Return the difference of the screenshots of two documents as a picture."""
    looks = _looks(document_or_404(document_id), document_or_404(other_id))
    old, new = looks
    if old is None or new is None:
        raise NotFound(gettext("there is no such picture"))
    etag = etag_of("difference", *((one.source_file, one.source_file_offset) for one in (old, new)))
    from nwx.quality.images import scaled
    from nwx.quality.measures import difference_image  # slow to load

    def made() -> bytes:
        payloads = (archive().render(one).payload for one in (old, new))
        return scaled(difference_image(*payloads), 1_280, 1_600, "image/webp", crop=True)

    try:
        return picture_answer(service().scaled.picture(etag, made), "image/webp", etag)
    except (FormatError, SourceError):
        return placeholder_answer()


def dates_of(document_id: str) -> Dates:
    """Return all dates of a document; empty if the engine has none."""
    return archive().document_dates([document_id]).get(document_id, Dates("", ()))


def history_of(document: Document, document_id: str, dates: Dates, year: str) -> History:
    """Return the history of a document's URL, with the captures of one year."""
    captures = archive().captures_of_key(document.capture.urlkey)
    return read_history(document_id, dates, captures, year)


def _year(dates: Dates, document: Document) -> str:
    """Return the requested year, by default that of the document's last date."""
    last = dates.seen[-1][0] if dates.seen else document.capture.timestamp
    year = parameters.number_parameter(request.args, "year", int(last[:4]), 0, 9999)
    return f"{year:04}"


def text_part(text: str, number: int) -> TextPart:
    """Return a part of a text, cut at the end of a line if one is near."""
    cuts = [0]
    while len(text) - cuts[-1] > PART * 1.1:
        end = text.rfind("\n", cuts[-1] + PART // 2, cuts[-1] + PART) + 1
        cuts.append(end or cuts[-1] + PART)
    cuts.append(len(text))
    number = min(number, len(cuts) - 1)
    return TextPart(text[cuts[number - 1] : cuts[number]], number, len(cuts) - 1)
