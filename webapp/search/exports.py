"""Results as files: CSV, JSON, a list of URLs, or records packed as WARC or WACZ."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import chain, islice

from flask import Blueprint, Response, render_template, request, send_file, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.errors import ErrorText, UsageError
from nwx.exports import WaczSelection
from nwx.exports.captures import RESULT_FORMATS, checked_fields
from nwx.model import Collapse
from nwx.query.dates import date_bound
from nwx.query.question import Question
from nwx.settings import cache_folder
from webapp.search.addresses import SearchAddresses, read_page
from webapp.search.packed_files import Pack, PackedFile
from webapp.site.context import archive, preferences, service
from webapp.site.question_limits import Export, answer_search
from webapp.site.responses import exported_file
from webapp.site.viewer import viewer

MOST_DOCUMENTS = 2_000
"""Results of more documents are packed by `nwx wacz` and `nwx export results` only."""

_FOLDER = "exports"
_RELOAD_SECONDS = 2
_DIGEST_BYTES = 16

PACKED_FORMATS = {"warc.gz": "application/gzip", "wacz": "application/wacz"}
"""The media types of results with their records, by endings."""


def packed_results(suffix: str, question: Question) -> Response:
    """Give a file with the records of results, or a range of it.

    It is made when it is first asked for, and kept for a while, for viewers
    to whom the same is shown. Raises UsageError for too many results, and
    EngineBusyError while it is being made for somebody else.
    """
    file, pack_file = _file(suffix, question)
    path = file.there()
    if path is None:
        export = Export()
        try:
            path = file.made(pack_file)
        finally:
            export.end()
    return send_file(
        path,
        mimetype=PACKED_FORMATS[suffix],
        as_attachment=True,
        download_name=f"results.{suffix}",
        conditional=True,
        etag=path.stem,
    )


def packing_page(suffix: str, question: Question, **addresses: str) -> str:
    """Return the page that packs the records of results, and shows how far that is.

    `addresses` are those of the page itself, of the file (`download`) and
    of the results. Raises as `packed_results` does.
    """
    file, pack_file = _file(suffix, question)
    state = file.state()
    if not state.is_ready and (not state.failure or "again" in request.args):
        file.start(pack_file, Export)
        state = file.state()
    return render_template(
        "packing.html",
        suffix=suffix,
        state=state,
        addresses=addresses,
        reload_seconds=_RELOAD_SECONDS,
    )


def _file(suffix: str, question: Question) -> tuple[PackedFile, Pack]:
    """Return the file for a question, and what packs it."""
    shown = archive()
    every = Question(
        question.query,
        question.filters,
        question.date_from,
        question.date_to,
        collapse=Collapse.NONE,
        limit=0,
        snippets=False,
    )
    selection = _selection(every, with_resources=suffix == "wacz")
    mark = _digest(service().engine.capture_mark())
    file = PackedFile(cache_folder() / _FOLDER, _key(selection), mark, suffix)
    if not file.there():
        _check_number(answer_search(shown.hits(every).page).documents.value)
    return file, lambda path, progress: shown.pack(selection, path, suffix, progress)


def _check_number(found: int) -> None:
    if found > MOST_DOCUMENTS:
        raise UsageError(
            ErrorText(
                "these results have %(found)s versions of pages, and %(most)s "
                "can be packed here; narrow the search, or use `nwx wacz` or `nwx export "
                "results`",
                found=found,
                most=MOST_DOCUMENTS,
            )
        )


def _selection(question: Question, *, with_resources: bool) -> WaczSelection:
    query = question.query if isinstance(question.query, str) else ""
    filters = question.filters or {}
    if not query and not filters:
        query = "*"
    return WaczSelection(
        query=query,
        collections=tuple(filters.get("collection", ())),
        date_from=date_bound(question.date_from, 0),
        date_to=date_bound(question.date_to, 1),
        with_resources=with_resources,
        filters=filters,
    )


def _key(selection: WaczSelection) -> str:
    """Return what differs where another file would be made: of other results, for others.

    Rules that have changed count for all, since a purge takes from those too
    who may see everything.
    """
    whole = service().engine
    rules = whole.access_index().rules()
    key = rules.for_viewer(viewer()).key
    return _digest([whole.address, rules.version, key, asdict(selection)])


def _digest(about: object) -> str:
    text = json.dumps(about, sort_keys=True, default=list)
    return hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES
    ).hexdigest()


blueprint = Blueprint("exports", __name__, url_prefix="/export")


@blueprint.get("/packing.<suffix>")
def packing(suffix: str) -> ResponseReturnValue:
    """Pack the records of results, and show how far that is."""
    if suffix not in PACKED_FORMATS:
        raise NotFound(
            gettext(
                "records are packed as %(choices)s, not as %(suffix)s",
                choices=", ".join(PACKED_FORMATS),
                suffix=repr(suffix),
            )
        )
    shown = preferences()
    question = read_page(request.args, shown)
    to = SearchAddresses(url_for("search.results"), question, shown)
    return packing_page(
        suffix,
        question,
        page=to.export(url_for(".packing", suffix=suffix)),
        download=to.export(url_for(".results", suffix=suffix)),
        results=to.page(1),
    )


@blueprint.get("/results.<suffix>", endpoint="results")
def export_results(suffix: str) -> ResponseReturnValue:
    """Stream the results of a search as they are listed, those beyond the last page too."""
    if suffix in PACKED_FORMATS:
        return packed_results(suffix, read_page(request.args, preferences()))
    if suffix not in RESULT_FORMATS:
        known = ", ".join((*RESULT_FORMATS, *PACKED_FORMATS))
        raise NotFound(
            gettext(
                "results come as %(known)s, not as %(suffix)s", known=known, suffix=repr(suffix)
            )
        )
    mimetype, write = RESULT_FORMATS[suffix]
    fields = checked_fields([name for name in request.args.get("fields", "").split(",") if name])
    question = replace(read_page(request.args, preferences()), snippets=False)
    hits = iter(archive().hits(question))

    def begin() -> Iterator[str]:
        first = answer_search(lambda: list(islice(hits, 1)))
        return write(chain(first, hits), fields)

    return exported_file(f"results.{suffix}", mimetype, begin)
