"""A follower, which replicates a collection of an OutbackCDX, or of another nwx, in an archive."""

import io
import json
import threading
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import requests
from urllib3.exceptions import HTTPError

from nwx.cdx.files import whole_line_blocks
from nwx.cdx.rows import CdxRow
from nwx.cdxserver.aliases import AliasedSource, store_aliases
from nwx.cdxserver.loaded_lines import capture_of, load_lines
from nwx.cdxserver.sources import EngineSource
from nwx.cdxserver.write_batches import (
    BY_BATCH,
    PLACE_VERSION,
    AliasChange,
    BatchChange,
    CaptureKey,
    batch_numbers,
    read_batch,
)
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxSpan
from nwx.engine.indices.change_log import Alias, Aliases
from nwx.errors import CdxError, FormatError, NwxError, SourceError, UsageError, system_reason
from nwx.keys import check_collection, id_of_capture
from nwx.model import Capture

_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 600
_MOST_LINE = 2 << 30
_RECORDS_AT_ONCE = 10_000
_BLOCKS_AT_ONCE = 16
_ALIASES_AT_ONCE = 1_000
_FIRST_KEY = "$"
"""Sorts before all urlkeys, and after `#ReplicationSequence`, which OutbackCDX cannot list."""

_INCOMPLETE = b"warning: output may be incomplete"
"""The end of an OutbackCDX's answer if it failed midway."""


@dataclass(slots=True)
class FollowerState:
    """The progress of a follower; `reached` is the number of the last change applied.

    `copied` is the urlkey that the initial copy has reached, None before and after it.
    """

    primary: str = ""
    reached: int | None = None
    copied: str | None = None


@dataclass(slots=True)
class Followed:
    """The counts and errors of one round of a follower; `lag` is the number of changes left."""

    stored: int = 0
    deleted: int = 0
    aliases: int = 0
    missing: int = 0
    lag: int = 0
    errors: list[str] = field(default_factory=list)


class _Change(NamedTuple):
    first: int
    last: int
    data: bytes


class Follower:
    """Follows the collection at an address, `http(s)://[USER:TOKEN@]HOST/COLLECTION`.

    Raises UsageError on another address.
    """

    def __init__(self, engine: Engine, primary: str) -> None:
        parts = urlsplit(primary.rstrip("/"))
        self.collection = unquote(parts.path.rpartition("/")[2])
        if parts.scheme not in ("http", "https") or not parts.hostname or not self.collection:
            raise UsageError("write a primary as http://HOST:PORT/COLLECTION")
        check_collection(self.collection)
        self._engine = engine
        self._log = engine.change_log()
        self._listed = AliasedSource(EngineSource(engine), engine.aliases)
        self.shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        self._session = requests.Session()
        self._session.trust_env = False
        if parts.password:
            self._session.auth = (unquote(parts.username or ""), unquote(parts.password))
        self._name = f"follower/{self.collection}"
        self._by_batch = False
        self.state = self._stored_state()

    def run(self, stop: threading.Event, seconds: float, say: Callable[[str], object]) -> None:
        """Follow until `stop`, polling every `seconds`; errors are reported and retried."""
        told = ""
        while not stop.is_set():
            try:
                done = self.follow(stop)
                text = _sentence(self.shown, self.state, done)
                changed = done.stored or done.deleted or done.aliases or done.errors or told
                told = ""
                if changed:
                    say(text)
            except NwxError as error:
                if str(error) != told:
                    told = str(error)
                    say(f"following {self.shown}: {told}")
            stop.wait(seconds)

    def follow(self, stop: threading.Event | None = None) -> Followed:
        """Apply all changes that the primary has now; return the counts.

        Raises SourceError if the primary cannot be reached or followed.
        """
        done, state = Followed(), self.state
        sequence = self._sequence()
        if state.reached is None:
            # An OutbackCDX's log does not reach back to its first captures: copy them first.
            state.copied = None if self._by_batch else _FIRST_KEY
            state.reached = 0 if self._by_batch else sequence
            self._save()
        if sequence < state.reached:
            raise SourceError(
                f"the primary has {sequence} changes, and {state.reached} were followed: it was "
                "replaced; follow it with an empty archive"
            )
        if state.copied is not None:
            self._copy(done)
        before = -1
        while before < state.reached < sequence and not (stop is not None and stop.is_set()):
            before = state.reached
            self._take_changes(done, stop)
        done.lag = max(sequence - state.reached, 0)
        return done

    def _take_changes(self, done: Followed, stop: threading.Event | None) -> None:
        state = self.state
        for change in self._changes(state.reached or 0):
            if change.first > (state.reached or 0) + 1:
                raise SourceError(
                    f"the primary has deleted its changes up to {change.first - 1}, and "
                    f"{state.reached} were followed; follow it with an empty archive"
                )
            if change.last > (state.reached or 0):
                self._apply(read_batch(change.data), done)
                state.reached = change.last
                self._save()
            if stop is not None and stop.is_set():
                break

    def _copy(self, done: Followed) -> None:
        """Copy all captures and aliases, continuing an earlier copy."""
        state = self.state
        query = f"?urlkey={quote(state.copied or _FIRST_KEY, safe='')}&matchType=range"
        with self._opened(query) as response:
            blocks = whole_line_blocks(io.BufferedReader(response.raw))
            while some := list(islice(blocks, _BLOCKS_AT_ONCE)):
                if _INCOMPLETE in some[-1]:
                    raise SourceError("the primary fails to list all of its captures")
                loaded = load_lines(
                    self._engine, some, self.collection, skip_bad=True, name=self.shown
                )
                done.stored += loaded.changed
                done.errors += map(str, loaded.errors)
                last = some[-1].rstrip(b"\n").rpartition(b"\n")[2].partition(b" ")[0]
                state.copied = last.decode("utf-8", "replace")
                self._save()
        key = ""
        while found := self._json(f"/aliases?limit={_ALIASES_AT_ONCE}&key={quote(key, safe='')}"):
            some_aliases = [Alias(one["alias"], one["target"]) for one in found]
            store_aliases(self._engine, self.collection, some_aliases)
            done.aliases += len(some_aliases)
            key = some_aliases[-1].alias + "\0"
        state.copied = None
        self._save()

    def _apply(self, records: Iterator[BatchChange], done: Followed) -> None:
        while some := list(islice(records, _RECORDS_AT_ONCE)):
            aliases = [Alias(*one) for one in some if isinstance(one, AliasChange)]
            store_aliases(self._engine, self.collection, aliases)
            done.aliases += len(aliases)
            captures = {one.key: one.row for one in some if not isinstance(one, AliasChange)}
            self._take_over(captures, done)

    def _take_over(self, changed: dict[CaptureKey, CdxRow | None], done: Followed) -> None:
        """Delete and store captures; unchanged ones stay."""
        known = self._known(changed)
        gone, new = list[Capture](), list[Capture]()
        for key, row in changed.items():
            here = [capture_of(one, self.collection) for one in known.get(key, ())]
            try:
                wanted = None if row is None else capture_of(row, self.collection)
            except CdxError as error:
                done.errors.append(f"{key.urlkey} {key.timestamp}: {error}")
                continue
            gone += (one for one in here if one != wanted)
            if wanted is not None and wanted not in here:
                new.append(wanted)
            done.missing += wanted is None and key in known and not here
        self._store(gone, new, done)

    def _store(self, gone: Sequence[Capture], new: Sequence[Capture], done: Followed) -> None:
        if gone:
            done.deleted += self._engine.unload_captures(map(id_of_capture, gone))
            self._log.add_deleted(gone, self._engine.aliases)
        purges = self._engine.access_index().rules().purges
        kept = [one for one in new if not purges(one)]
        if kept:
            done.stored += self._engine.load_captures([kept])

    def _known(self, keys: Iterable[CaptureKey]) -> dict[CaptureKey, list[CdxRow]]:
        """Return the archive's own captures, by the keys that identify them."""
        aliases = self._engine.aliases.of_collection(self.collection) or Aliases()
        listed = [key for key in keys if aliases.resolved(key.urlkey) == key.urlkey]
        urlkeys = {one for key in listed for one in (key.urlkey, *aliases.members(key.urlkey))}
        held = self._engine.statuses(sorted(urlkeys))
        found = dict[CaptureKey, list[CdxRow]]()
        for key in listed:
            found[key] = []
            if held.keys().isdisjoint((key.urlkey, *aliases.members(key.urlkey))):
                continue
            place = f"{key.urlkey} {key.timestamp}"
            rows = self._listed.rows(CdxSpan(place, f"{place}!", collection=self.collection))
            found[key] = [
                row for row in rows if not key.filename or key[2:] == (row.offset, row.filename)
            ]
        return found

    def _sequence(self) -> int:
        with self._opened("/sequence") as response:
            self._by_batch = BY_BATCH in response.headers
            try:
                return int(response.raw.read(100))
            except ValueError as error:
                raise SourceError("the primary does not report its sequence number") from error

    def _changes(self, reached: int) -> Iterator[_Change]:
        # OutbackCDX begins with the batch that contains the number.
        since = reached if self._by_batch else reached + 1
        with self._opened(f"/changes?since={since}&version={PLACE_VERSION}") as response:
            lines = io.BufferedReader(response.raw)
            while line := lines.readline(_MOST_LINE):
                text = line.strip(b"[], \r\n")
                if not text:
                    continue
                try:
                    told = json.loads(text)
                    number, data = int(told["sequenceNumber"]), b64decode(told["writeBatch"])
                except (ValueError, KeyError, TypeError) as error:
                    raise SourceError(f"the primary sent an invalid change: {error}") from error
                first, count = batch_numbers(data)
                last = number if self._by_batch else first + count - 1
                yield _Change(0 if self._by_batch else first, last, data)

    def _json(self, path: str) -> list[Any]:
        with self._opened(path) as response:
            found: list[Any] = json.loads(response.raw.read())
            return found

    @contextmanager
    def _opened(self, path: str) -> Iterator[requests.Response]:
        try:
            with closing(
                self._session.get(
                    self.shown + path,
                    timeout=(_CONNECT_SECONDS, _ANSWER_SECONDS),
                    headers={"Accept-Encoding": "identity"},
                    allow_redirects=False,
                    stream=True,
                )
            ) as response:
                if response.status_code != 200:
                    said = response.raw.read(200).decode("utf-8", "replace").strip()
                    raise SourceError(f"it answered {response.status_code}: {said}")
                response.raw.auto_close = False
                yield response
        except (requests.RequestException, HTTPError, OSError, FormatError) as error:
            raise SourceError(f"{type(error).__name__}: {system_reason(error)}") from error

    def _stored_state(self) -> FollowerState:
        stored = self._log.state(self._name)
        state = FollowerState(**json.loads(stored)) if stored else FollowerState(self.shown)
        if state.primary != self.shown:
            raise UsageError(
                f"{self.collection} follows {state.primary}, not {self.shown}; follow it with "
                "an empty archive"
            )
        return state

    def _save(self) -> None:
        self._log.put_state(self._name, json.dumps(asdict(self.state)).encode())


def _sentence(primary: str, state: FollowerState, done: Followed) -> str:
    parts = [f"{done.stored:,} captures stored", f"{done.deleted:,} deleted"]
    parts += [f"{done.aliases:,} aliases changed"] if done.aliases else []
    parts += [f"{done.missing:,} deletions of missing captures"] if done.missing else []
    parts += [f"{len(done.errors):,} not taken ({done.errors[0]})"] if done.errors else []
    end = f"at change {state.reached or 0:,}, {done.lag:,} behind"
    return f"following {primary}: {', '.join(parts)}; {end}"
