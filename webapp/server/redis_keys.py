"""Deduplication keys for crawlers: originals of an archive as Redis keys, and transfers.

The value of a payload is `<number of its file> <date> <URL> <size>`; the files of a collection are
the list `c:<collection>:wacz`, which Browsertrix writes to `relation.requires`.
An interrupted transfer from or to Redis or Kvrocks can be repeated: existing entries are
overwritten with the same values.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nwx import Archive
from nwx.bulk.progress import batches
from nwx.dedup.key_store import CommandError, Keyspace, KeyStore, dedup_file_path
from nwx.dedup.redis_commands import run_command
from nwx.engine.embedded.entries.payload_keys import KeyKind
from nwx.errors import DigestError, NwxError, SourceError, TimestampError, UrlError, UsageError
from nwx.maintenance.holdings import stored_name
from nwx.model import Capture
from nwx.settings import Settings
from nwx.values.digests import DigestForm, normal_digest, spell


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """The address of the Redis server, its archive and its databases.

    `databases` are database numbers and their collections; 0 is the whole archive. With a `token`
    clients must log in. `scope` is whose captures count for a database of a collection, "" for
    the archive's setting. `file` has the keys, by default in the archive's folder.
    """

    archive: Settings
    host: str = "127.0.0.1"
    port: int = 6379
    token: str = field(default="", repr=False)
    databases: tuple[tuple[int, str], ...] = ()
    scope: str = ""
    file: Path | None = None

    def separate(self, archive: Archive) -> frozenset[str]:
        """Return the collections whose databases offer only their own captures."""
        scopes = {name: self.scope or archive.dedup_scope(name) for _, name in self.databases}
        return frozenset(name for name, scope in scopes.items() if scope == "collection")


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


_AT_ONCE = 1_000
_SECONDS = 60.0
_READERS: dict[bytes, KeyKind] = {kind.name.lower().encode(): kind for kind in KeyKind}


@dataclass(slots=True)
class TransferReport:
    """The numbers of copied keys, entries and originals, and of keys skipped for their type."""

    keys: int = 0
    entries: int = 0
    originals: int = 0
    left_out: int = 0


def take_over(settings: RedisSettings, address: str) -> TransferReport:
    """Store the keys of a database of Redis. Raises SourceError if it cannot be read."""
    report = TransferReport()
    with _both(settings, address) as (redis, keys):
        for name in redis.scan_iter(count=_AT_ONCE):
            kind = _READERS.get(redis.type(name))
            if kind is None:
                report.left_out += 1
                continue
            ends = redis.pttl(name)
            is_list = kind is KeyKind.LIST
            old = keys.found(name)
            key = old[0] if old and old[1] is kind and not is_list else keys.new(name, kind)
            for some in batches(_entries(redis, name, kind), _AT_ONCE):
                for field, value in some:
                    keys.put(key, field, value)
                report.entries += len(some)
                if not is_list:  # a list is stored whole or not at all
                    keys.store.commit()
            if ends is not None and ends > 0:
                at = keys.store.clock() + ends / 1000
                keys.store.write("UPDATE keys SET expires = ? WHERE id = ?", (at, key))
            keys.store.commit()
            report.keys += 1
    return report


def _entries(redis: Any, name: bytes, kind: KeyKind) -> Iterator[tuple[bytes | int, bytes]]:
    if kind is KeyKind.HASH:
        yield from redis.hscan_iter(name, count=_AT_ONCE)
    elif kind is KeyKind.SET:
        yield from ((one, b"") for one in redis.sscan_iter(name, count=_AT_ONCE))
    elif kind is KeyKind.LIST:
        yield from enumerate(redis.lrange(name, 0, -1))
    else:
        yield 0, redis.get(name)


def write_out(settings: RedisSettings, address: str) -> TransferReport:
    """Write the keys, and the archive's originals, to a database of Redis.

    Only originals with SHA-256 digests are written. Raises SourceError if the server cannot be
    written to.
    """
    report = TransferReport()
    with _both(settings, address) as (redis, keys), Archive(settings.archive) as archive:
        for name in keys.names():
            found = keys.found(name)
            if found is not None:
                report.keys += 1
                report.entries += _write_key(redis, keys, name, found)
        separate = settings.separate(archive)
        offers, files = ArchiveOffers(archive, separate), set[bytes]()
        collection = keys.space if keys.space in separate else ""
        for some in batches(archive.originals_by_digest("sha256", collection), _AT_ONCE):
            pipe = redis.pipeline(transaction=False)
            for digest, original in some:
                field, crawl = spell(digest, DigestForm.BARE_HEX), original.collection.encode()
                pipe.hsetnx(MERGED, field, crawl)
                pipe.hsetnx(CRAWL + crawl, field, offers.value(keys, original))
                files.add(offers.files_key(original.collection))
            pipe.execute()
            keys.store.commit()
            report.originals += len(some)
        for name in files:
            listed = keys.found(name)
            if listed is not None:
                _describe(archive, keys, name, listed[0])
                _write_key(redis, keys, name, listed)
        keys.store.commit()
    return report


def _describe(archive: Archive, keys: Keyspace, name: bytes, key: int) -> None:
    """Add hash and size to the entries of originals' files: Redis cannot ask the archive later."""
    for place, entry in keys.entries(key):
        question = ArchiveOffers.file_question(archive, name, entry)
        if question is not None:
            keys.put(key, place, question.ask())


def _write_key(redis: Any, keys: Keyspace, name: bytes, found: tuple[int, KeyKind, Any]) -> int:
    key, kind, ends = found
    pipe = redis.pipeline(transaction=kind is KeyKind.LIST)
    if kind is KeyKind.LIST:
        pipe.delete(name)
    count = 0
    for some in batches(keys.entries(key), _AT_ONCE):
        count += len(some)
        if kind is KeyKind.HASH:
            pipe.hmset(name, dict(some))
        elif kind is KeyKind.SET:
            pipe.sadd(name, *(field for field, _ in some))
        elif kind is KeyKind.LIST:
            pipe.rpush(name, *(value for _, value in some))
        else:
            pipe.set(name, some[0][1])
        if kind is not KeyKind.LIST:
            pipe.execute()
    if ends is not None:
        pipe.pexpireat(name, int(ends * 1000))
    pipe.execute()
    return count


@contextmanager
def _both(settings: RedisSettings, address: str) -> Iterator[tuple[Any, Keyspace]]:
    """Yield a Redis client, and the keys of the database with the same number."""
    import redis

    spaces = {0: "", **dict(settings.databases)}
    if not address.startswith(("redis://", "rediss://")):
        raise UsageError(f"{address} is not an address redis://HOST:PORT/N")
    try:
        client = redis.StrictRedis.from_url(address, socket_timeout=_SECONDS)
        number = client.connection_pool.connection_kwargs.get("db") or 0
    except ValueError as error:
        raise UsageError(f"{address} is not an address redis://HOST:PORT/N ({error})") from error
    if number not in spaces:
        raise UsageError(f"name the collection of database {number}: --database {number}=NAME")
    store = KeyStore(dedup_file_path(settings.archive.engine, settings.file))
    with closing(store):
        try:
            yield client, Keyspace(store, spaces[number])
        except redis.RedisError as error:
            raise SourceError(f"{_place(client)}: {error}") from error


def _place(client: Any) -> str:
    told = client.connection_pool.connection_kwargs
    return f"redis://{told.get('host')}:{told.get('port')}"
