"""Changes of a site: the page, its Atom feed, and the change of each version of a URL."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from heapq import nlargest
from itertools import chain, pairwise
from operator import attrgetter
from xml.sax.saxutils import escape, quoteattr

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext

from nwx.engine.access.rules import Role
from nwx.errors import FormatError, SourceError
from nwx.model import Document
from nwx.quality.stored_renders import PageMoment
from nwx.searching.differences import HostNoise, changed_share, text_changes
from nwx.searching.page_changes import PageFate, SiteChange, SiteChanges
from nwx.values.timestamps import parse_timestamp
from webapp.crawls.editor import can_judge, check_sender
from webapp.headers import root_url
from webapp.login_page import needs_role
from webapp.search.history import History, HistoryVersion
from webapp.site import parameters, words
from webapp.site.context import archive, service
from webapp.site.openapi import Operation, Parameter
from webapp.site.parameters import Arguments
from webapp.site.question_limits import answer_search
from webapp.site.viewer import viewer

blueprint = Blueprint("changes", __name__, url_prefix="/changes")

_SHOWN = 200
_FEED_ENTRIES = 100
_MOST_COMPARED = 200
_MOST_LOOKS = 30
_FIELDS = ("site", "since", "to")
FATES = {
    PageFate.CHANGED: lazy_gettext("Changed"),
    PageFate.NEW: lazy_gettext("New"),
    PageFate.GONE: lazy_gettext("Gone"),
}


class ChangeOf(StrEnum):
    """The measure by which days of the calendar are coloured."""

    CAPTURES = "captures"
    TEXT = "text"
    LOOK = "look"
    LINKS = "links"


CHANGES_OF = {
    ChangeOf.CAPTURES: lazy_gettext("Captures"),
    ChangeOf.TEXT: lazy_gettext("Changed text"),
    ChangeOf.LOOK: lazy_gettext("Changed look"),
    ChangeOf.LINKS: lazy_gettext("Changed links"),
}


@blueprint.get("", endpoint="show")
def show_changes() -> ResponseReturnValue:
    """Show the changes of a site between two dates."""
    asked = _asked(request.args)
    found = _found(asked) if asked["site"] else None
    return render_template(
        "changes.html",
        asked=asked,
        watched=list(archive().watched_sites()),
        writable=can_judge(),
        latest=_is_latest(request.args),
        found=found,
        fates=FATES,
        shown=_SHOWN,
    )


@blueprint.post("", endpoint="watch")
@needs_role(Role.CURATOR, or_token=True)
def change_watched() -> ResponseReturnValue:
    """Add a site to the watched sites, or remove it."""
    check_sender()
    site, own = parameters.text(request.form, "site", 8_000).strip(), archive()
    if request.form.get("action") == "remove":
        own.unwatch_site(site)
    else:
        webhook = parameters.text(request.form, "webhook", 8_000).strip()
        by = viewer().user
        answer_search(lambda: own.watch_site(site, webhook=webhook, by=by))
    return redirect(url_for(".show"), 303)


@blueprint.get("/feed.atom")
def feed() -> ResponseReturnValue:
    """Return an Atom feed of the last changes of a site, URL or all watched sites, newest first."""
    asked = _asked(request.args)
    own = archive()

    def found() -> list[SiteChange]:
        sites = [asked["site"]] if asked["site"] else [one.site for one in own.watched_sites()]
        pages = (own.site_changes(**asked | {"site": one}, latest=True).pages for one in sites)
        return nlargest(_FEED_ENTRIES, chain.from_iterable(pages), key=attrgetter("after"))

    lines = _feed_lines(asked["site"], answer_search(found))  # one deadline for all sites
    return Response("\n".join(lines), mimetype="application/atom+xml")


def _asked(arguments: Arguments) -> dict[str, str]:
    return {name: parameters.text(arguments, name, 8_000).strip() for name in _FIELDS}


def _is_latest(arguments: Arguments) -> bool:
    return bool(parameters.number_parameter(arguments, "latest", 0, 0, 1))


def _found(asked: Mapping[str, str]) -> SiteChanges:
    own, is_latest = archive(), _is_latest(request.args)
    return answer_search(lambda: own.site_changes(**asked, latest=is_latest))


def _feed_lines(site: str, found: Sequence[SiteChange]) -> Iterator[str]:
    root = service().search_url or root_url()
    base = root.removesuffix(request.script_root)
    own = base + (url_for(".show", site=site, latest=1) if site else url_for(".show"))
    name = site or gettext("Watched sites")
    yield '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
    yield f"<title>{escape(name)} – {escape(service().title)}</title><id>{escape(own)}</id>"
    newest = _moment(found[0].after if found else "")
    yield f"<link href={quoteattr(own)}/><updated>{newest}</updated>"
    yield f"<author><name>{escape(service().title)}</name></author>"
    for one in found:
        path = url_for("documents.between", url=one.url, old=one.before or one.after, new=one.after)
        title = f"{FATES[one.change]}: {one.url}"
        yield f"<entry><title>{escape(title)}</title><id>{escape(base + path)}</id>"
        yield f"<link href={quoteattr(base + path)}/><updated>{_moment(one.after)}</updated>"
        yield f"<summary>{words.percentage(one.share)}</summary></entry>"
    yield "</feed>\n"


def _moment(timestamp: str) -> str:
    return f"{parse_timestamp(timestamp or '1970'):%Y-%m-%dT%H:%M:%SZ}"


CHANGES_OPERATIONS = (
    Operation(
        "changesFeed",
        "/changes/feed.atom",
        "The last changes of a site or URL, else of all watched sites, as an Atom feed",
        (
            Parameter("site", "a domain, a URL, or the beginning of URLs with *; else all watched"),
            Parameter("since", "changes from this date on"),
            Parameter("to", "changes until this date"),
        ),
        media_types=("application/atom+xml",),
        example="/changes/feed.atom?site=example.org",
    ),
)


def day_changes(history: History, of: ChangeOf) -> dict[str, float]:
    """Return by day the share that versions first captured on it differ from the previous one.

    Only versions of the history's year; at most 200 are compared, 30 by their look.
    """
    versions = sorted(history.versions.values(), key=lambda one: one.first)
    before = [one for one in versions if one.first[:4] < history.year][-1:]
    wanted = [*before, *(one for one in versions if one.first.startswith(history.year))]
    shares = _looks(wanted) if of is ChangeOf.LOOK else _texts_or_links(wanted, of)
    days = dict[str, float]()
    for version, share in shares:
        days[version.first[:8]] = max(share, days.get(version.first[:8], 0.0))
    return days


_Shares = Iterator[tuple[HistoryVersion, float]]


def _texts_or_links(versions: Sequence[HistoryVersion], of: ChangeOf) -> _Shares:
    known = archive().documents_of([one.document_id for one in versions[:_MOST_COMPARED]])
    pairs = [
        (version, known[old.document_id], known[version.document_id])
        for old, version in pairwise(one for one in versions if one.document_id in known)
    ]
    if of is ChangeOf.LINKS:
        yield from ((version, _links_share(old, new)) for version, old, new in pairs)
        return
    noise, texts = HostNoise(), [(v, a.extract.content, b.extract.content) for v, a, b in pairs]
    changes = [text_changes(old, new) for _, old, new in texts]
    for some in changes:
        noise.learn("", some)
    for (version, old, new), some in zip(texts, changes, strict=True):
        yield version, changed_share(noise.without(some), old, new)


def _links_share(old: Document, new: Document) -> float:
    was, now = ({link.url for link in one.extract.links} for one in (old, new))
    return len(was ^ now) / len(was | now) if was | now else 0.0


def _looks(versions: Sequence[HistoryVersion]) -> _Shares:
    from nwx.quality.images import decoded, perceptual_hash  # slow to load, and rarely needed

    own, last = archive(), None
    for version in versions[-_MOST_LOOKS:]:
        shown = own.page_pictures().shown_by(PageMoment(version.url, version.first))
        if shown is None or not shown[1]:
            continue
        try:
            with service().scaled.place():
                look = perceptual_hash(decoded(own.render(shown[0]).payload))
        except (FormatError, SourceError):
            continue
        if last is not None:
            yield version, (look ^ last).bit_count() / 64
        last = look
