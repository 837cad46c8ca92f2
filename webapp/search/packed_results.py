"""The records of results as one file, which a download that broke off goes on from."""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from flask import Response, send_file

from nwx.engine.base import Engine
from nwx.errors import EngineBusyError, UsageError
from nwx.exports import PackOptions, WaczSelection, pack, pack_warc
from nwx.model import Collapse
from nwx.query.dates import date_span
from nwx.query.question import Question
from nwx.settings import cache_folder
from webapp.site.context import engine, unrestricted_engine
from webapp.site.question_limits import Export, answer_search
from webapp.site.viewer import viewer

MOST_DOCUMENTS = 2_000
"""Results of more documents are packed by `nwx wacz` and `nwx export results` only."""

_KEPT_SECONDS = 6 * 3_600
_FOLDER = "exports"

Pack = Callable[[Engine, WaczSelection, Path], object]


def _pack_wacz(archive: Engine, selection: WaczSelection, out: Path) -> object:
    return pack(archive, selection, out, PackOptions(title=selection.query))


PACKED_FORMATS: dict[str, tuple[str, Pack]] = {
    "warc.gz": ("application/gzip", pack_warc),
    "wacz": ("application/wacz", _pack_wacz),
}
"""The media types of results with their records, and what packs them, by endings."""


def packed_results(suffix: str, question: Question) -> Response:
    """Give a file with the records of results, or a range of it.

    It is made when it is first asked for, and kept for a while, for viewers
    to whom the same is shown. Raises UsageError for too many results, and
    EngineBusyError while it is being made for somebody else.
    """
    mimetype, write = PACKED_FORMATS[suffix]
    archive = engine()
    every = Question(
        question.query,
        question.filters,
        question.date_from,
        question.date_to,
        collapse=Collapse.NONE,
        limit=0,
        snippets=False,
    )
    found = answer_search(lambda: archive.search(every)).documents.value
    if found > MOST_DOCUMENTS:
        raise UsageError(
            f"these results have {found:,} versions of pages, and {MOST_DOCUMENTS:,} can be packed"
            f" here; narrow the search, or use `nwx wacz` or `nwx export results`"
        )
    path = _made(suffix, _selection(every, with_resources=suffix == "wacz"), archive, write)
    name = f"results.{suffix}"
    return send_file(
        path,
        mimetype=mimetype,
        as_attachment=True,
        download_name=name,
        conditional=True,
        etag=path.stem,
    )


def _selection(question: Question, *, with_resources: bool) -> WaczSelection:
    query = question.query if isinstance(question.query, str) else ""
    filters = question.filters or {}
    if not query and not filters:
        query = "*"
    return WaczSelection(
        query=query,
        collections=tuple(filters.get("collection", ())),
        date_from=date_span(question.date_from)[0] if question.date_from else "",
        date_to=date_span(question.date_to)[1] if question.date_to else "",
        with_resources=with_resources,
        filters=filters,
    )


def _made(suffix: str, selection: WaczSelection, archive: Engine, write: Pack) -> Path:
    folder = cache_folder() / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_key(selection)}.{suffix}"
    _remove_old(folder)
    if path.exists():
        return path
    export = Export()
    try:
        with _alone(path):
            if not path.exists():
                write(archive, selection, path)
    finally:
        export.end()
    return path


def _key(selection: WaczSelection) -> str:
    """Return what differs where another file would be made: of another state, for others."""
    whole = unrestricted_engine()
    decisions = whole.access_index().rules().for_viewer(viewer())
    about = [whole.address, decisions.key, whole.capture_mark(), asdict(selection)]
    text = json.dumps(about, sort_keys=True, default=list)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _remove_old(folder: Path) -> None:
    oldest = time.time() - _KEPT_SECONDS
    for path in folder.iterdir():
        if path.is_file() and path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let nobody else make a file meanwhile."""
    handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise EngineBusyError("this export is being made already; try again soon") from error
    try:
        yield
    finally:
        os.close(handle)
