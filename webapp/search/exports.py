"""Results as files: CSV, JSON, a list of URLs, or records packed as WARC or WACZ."""

import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Protocol

from flask import Blueprint, Response, render_template, request, send_file, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.bulk.whole_files import whole_file
from nwx.errors import EngineBusyError, ErrorText, NwxError, UsageError
from nwx.exports import WaczSelection
from nwx.exports.captures import RESULT_FORMATS, checked_fields
from nwx.model import Collapse
from nwx.query.question import Question
from nwx.settings import cache_folder
from nwx.values.timestamps import date_bound
from webapp.search.questions import SearchAddresses, read_page
from webapp.site.context import archive, preferences, service
from webapp.site.question_limits import Export, answer_search
from webapp.site.responses import exported_file
from webapp.site.viewer import viewer

_KEPT_SECONDS = 6 * 3_600
SAME_SECONDS = 600
"""How long a file of an earlier archive state is still served, so that downloads can resume."""

_TOLD_SECONDS = 0.5

Pack = Callable[[Path, ShowProgress], object]
"""Writes a file and reports its progress."""

_UNEXPECTED = ErrorText("the file cannot be made; the log of the service says why")


class PackingRoom(Protocol):
    """A place among the exports that may run at once, held until it is ended."""

    def end(self) -> None:
        """Release the place."""


@dataclass(frozen=True, slots=True)
class PackingState:
    """The progress of packing a file; `failure` is why it failed, `is_ready` if it is complete."""

    step: str = ""
    done: int = 0
    total: int = 0
    failure: ErrorText | None = None
    is_ready: bool = False
    bytes: int = 0


class PackedFile:
    """A file that is complete, being packed by a worker, or not yet begun.

    `key` identifies its content and viewers, `mark` the state of the archive.
    All workers see the same files.
    """

    def __init__(self, folder: Path, key: str, mark: str, suffix: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._key, self._suffix = folder, key, suffix
        self._path = folder / f"{key}-{mark}.{suffix}"
        self._state = folder / f"{key}.{suffix}.state"
        self._lock = folder / f"{key}.{suffix}.lock"

    def there(self) -> Path | None:
        """Return the path of the file, None if it must be packed."""
        if self._path.exists():
            return self._path
        oldest = time.time() - SAME_SECONDS
        found = self._folder.glob(f"{self._key}-*.{self._suffix}")
        recent = [(_changed(path), path) for path in found if _changed(path) > oldest]
        return max(recent)[1] if recent else None

    def state(self) -> PackingState:
        """Return the progress of the file."""
        found = self.there()
        if found:
            return PackingState(is_ready=True, bytes=found.stat().st_size)
        try:
            return _read_state(self._state.read_bytes())
        except FileNotFoundError:
            return PackingState()

    def made(self, pack: Pack) -> Path:
        """Return the path of the file, packed now if needed.

        Raises EngineBusyError while another request packs it.
        """
        with ExitStack() as stack:
            found = self.there()
            if not found:
                self._hold(stack)
                found = self.there() or self._packed(pack)
            return found

    def start(self, pack: Pack, room: Callable[[], PackingRoom]) -> None:
        """Pack the file in a thread, unless it is being packed; `room` takes a place for it.

        An error raised by `room` is passed on, and nothing is started.
        """
        with ExitStack() as stack:
            try:
                self._hold(stack)
            except EngineBusyError:
                return
            stack.callback(room().end)
            self._tell(PackingState())
            whole = stack.pop_all()
        threading.Thread(target=self._run, args=(pack, whole), name="packing", daemon=True).start()

    def _run(self, pack: Pack, stack: ExitStack) -> None:
        with stack:
            failure: ErrorText | None = _UNEXPECTED
            try:
                if not self.there():
                    self._packed(pack)
                failure = None
            except NwxError as error:
                failure = error.text
            finally:
                self._tell(PackingState(failure=failure))

    def _packed(self, pack: Pack) -> Path:
        _remove_old(self._folder)
        pack(self._path, self._show())
        return self._path

    def _show(self) -> ShowProgress:
        told = 0.0

        def show(progress: WorkProgress) -> None:
            nonlocal told
            if time.monotonic() > told + _TOLD_SECONDS:
                self._tell(PackingState(progress.step, progress.done, progress.total))
                told = time.monotonic()

        return show

    def _tell(self, state: PackingState) -> None:
        with whole_file(self._state) as stream:
            stream.write(_written_state(state))

    def _hold(self, stack: ExitStack) -> None:
        """Lock the file against packing by others until a stack ends."""
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        stack.callback(os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EngineBusyError(
                ErrorText("this export is already in progress; try again soon")
            ) from error


def _written_state(state: PackingState) -> bytes:
    failure = state.failure.to_json() if state.failure else None
    return json.dumps(asdict(replace(state, failure=None)) | {"failure": failure}).encode()


def _read_state(written: bytes) -> PackingState:
    state = json.loads(written)
    failure = ErrorText.from_json(state["failure"]) if state["failure"] else None
    return PackingState(**(state | {"failure": failure}))


def _changed(path: Path) -> float:
    """Return the modification time of a file, 0 if it is gone."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _remove_old(folder: Path) -> None:
    oldest = time.time() - _KEPT_SECONDS
    for path in folder.iterdir():
        if path.is_file() and _changed(path) < oldest:
            path.unlink(missing_ok=True)


MOST_DOCUMENTS = 2_000
"""Results with more documents are packed by `nwx wacz` and `nwx export results` only."""

_FOLDER = "exports"
_RELOAD_SECONDS = 2
_DIGEST_BYTES = 16

PACKED_FORMATS = {"warc.gz": "application/gzip", "wacz": "application/wacz"}
"""The media types of packed results, by suffix."""


def packed_results(suffix: str, question: Question) -> Response:
    """Return a file with the records of results, or a range of it.

    It is made on the first request and kept for 6 hours, for viewers with the
    same access. Raises UsageError on too many results, and EngineBusyError
    while another request makes it.
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
    """Return the page that packs the records of results and shows the progress.

    `addresses` are those of the page itself, the file (`download`) and the
    results. Raises as `packed_results` does.
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
                "these results have %(found)s versions of pages, and at most %(most)s can be"
                " packed here; narrow the search, or use `nwx wacz` or `nwx export "
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
    """Return the key of a file: the same for the same results and viewers with equal access.

    Any change of rules changes it, since a purge also affects viewers who may
    see everything.
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
    """Pack the records of results, and show the progress."""
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
    """Return all results of a search as a file, in order, also those after the last page."""
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
