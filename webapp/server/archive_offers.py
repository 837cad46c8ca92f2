"""Originals of an archive, and their files, as Redis keys and values for crawlers.

The value of a payload is `<number of its file> <date> <URL> <size>`; the files of a collection are
the list `c:<collection>:wacz`, which Browsertrix writes to `relation.requires`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nwx import Archive
from nwx.checks.holdings import stored_name
from nwx.dedup.key_store import CommandError, Keyspace
from nwx.dedup.redis_commands import run_command
from nwx.engine.embedded.entries.payload_keys import KeyKind
from nwx.errors import DigestError, NwxError, TimestampError, UrlError, UsageError
from nwx.model import Capture
from nwx.values.digests import normal_digest

MERGED, CRAWL = b"alldupes", b"h:"
_FILES = b"c:%b:wacz"
_LOOKED_UP = (b"hget", b"hexists")
_LONGEST_DIGEST = 200
_VALUE_PARTS = 4


@dataclass(frozen=True, slots=True)
class ArchiveQuestion:
    """A question to the archive: `ask` is slow, `answer` converts its result to the answer."""

    ask: Callable[[], Any]
    answer: Callable[[Any], Any]

    def asked(self) -> Any:
        """Return the result of `ask`, or a CommandError as the answer."""
        try:
            return self.ask()
        except NwxError as error:
            return CommandError(f"ERR the archive cannot be asked: {error}")


class ArchiveOffers:
    """Offers the originals of an archive that access rules allow.

    Databases of `separate` collections offer the originals of their collection only.
    """

    def __init__(self, archive: Archive, separate: frozenset[str]) -> None:
        self._archive, self._separate = archive, separate
        self._numbers: dict[tuple[str, str], dict[str, int]] = {}

    def question(
        self, keys: Keyspace, request: Sequence[bytes], answer: Any, *, has_rules: bool
    ) -> ArchiveQuestion | None:
        """Return the question to the archive after a command's `answer` from the keys, or None."""
        name = request[0].lower()
        if name == b"lindex" and answer:
            return self.file_question(self._archive, request[1], answer)
        is_held = answer not in (None, 0)
        if name not in _LOOKED_UP or (is_held and not has_rules):
            return None
        key, field = request[1:]
        if key != MERGED and not key.startswith(CRAWL):
            return None
        digest, told = _digest(field), ""
        if is_held:
            held = key if key != MERGED else CRAWL + (_stored(keys, MERGED, field) or b"")
            told = (_stored(keys, held, field) or b"").decode("utf-8", "replace")
            if len(told.split(" ")) != _VALUE_PARTS:
                return None
        crawl = "" if key == MERGED else key.removeprefix(CRAWL).decode("utf-8", "replace")
        scope = keys.space if keys.space in self._separate else ""
        is_offered = digest and (not (crawl and scope) or crawl == scope)

        def ask() -> "Capture | bool | None":
            if told and not self._is_hidden(told, digest):
                return True
            return self._archive.original(digest, crawl or scope) if is_offered else None

        def answered(found: "Capture | bool | None") -> Any:
            if found is True:
                return answer
            if name == b"hexists":
                return int(found is not None)
            if not isinstance(found, Capture):
                return None
            return self.value(keys, found) if crawl else found.collection.encode()

        return ArchiveQuestion(ask, answered) if told or is_offered else None

    def _is_hidden(self, told: str, digest: str) -> bool:
        _, date, url, _ = told.split(" ")
        try:
            return self._archive.decide(url, date=date, digest=digest).decision.is_hidden
        except (UrlError, TimestampError, UsageError):
            return False  # not a capture, so that no rule applies

    def value(self, keys: Keyspace, found: Capture) -> bytes:
        """Return the value of an original, and add its file to the list of its collection."""
        number = self._number(keys, found.collection, stored_name(found.source_file))
        size = found.content_length or found.record_length or 0
        return f"{number} {found.timestamp} {found.url} {size}".encode()

    @staticmethod
    def files_key(collection: str) -> bytes:
        """Return the key of the list of a collection's files."""
        return _FILES % collection.encode()

    def _number(self, keys: Keyspace, collection: str, file: str) -> int:
        """Return the index of a file in the list of its collection, added if missing."""
        name = self.files_key(collection)
        known = self._numbers.setdefault((keys.space, collection), {})
        place = known.get(file, -1)
        if place >= 0:
            entry = run_command(keys, b"lindex", [name, b"%d" % place])
            if entry and _filename(entry) == file:
                return place
        if place >= 0 or keys.size(name, KeyKind.LIST) != len(known):
            listed = run_command(keys, b"lrange", [name, b"0", b"-1"])
            known.clear()
            known.update({_filename(one): number for number, one in enumerate(listed)})
        if file not in known:
            entry = json.dumps({"filename": file}).encode()
            known[file] = run_command(keys, b"rpush", [name, entry]) - 1
        return known[file]

    @staticmethod
    def file_question(archive: Archive, key: bytes, entry: bytes) -> ArchiveQuestion | None:
        """Return the question for hash and size of an original's file, None if not needed."""
        before, _, after = _FILES.partition(b"%b")
        if not (key.startswith(before) and key.endswith(after)) or b'"hash"' in entry:
            return None
        collection = key[len(before) : -len(after)].decode("utf-8", "replace")

        def ask() -> bytes:
            found = archive.required_file(collection, _filename(entry))
            return json.dumps(found).encode() if found else entry

        return ArchiveQuestion(ask, lambda found: found)


def _stored(keys: Keyspace, name: bytes, field: bytes) -> bytes | None:
    try:
        return keys.field(name, KeyKind.HASH, field)
    except CommandError:
        return None


def _digest(field: bytes) -> str:
    try:
        return normal_digest(field[:_LONGEST_DIGEST].decode("latin-1"))
    except DigestError:
        return ""


def _filename(entry: bytes) -> str:
    """Return the file name in an entry, "" if the entry is invalid."""
    try:
        return str(json.loads(entry)["filename"])
    except (ValueError, TypeError, KeyError):
        return ""
