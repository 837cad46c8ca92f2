"""Transfer of crawlers' deduplication keys from a Redis or Kvrocks server, or to one.

An interrupted transfer can be repeated: existing entries are overwritten with the same values.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from nwx import Archive
from nwx.bulk.progress import batches
from nwx.dedup.key_store import Keyspace, KeyStore, dedup_file_path
from nwx.engine.embedded.entries.payload_keys import KeyKind
from nwx.errors import SourceError, UsageError
from nwx.values.digests import DigestForm, spell
from webapp.server.archive_offers import CRAWL, MERGED, ArchiveOffers
from webapp.server.redis_server import RedisSettings

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
