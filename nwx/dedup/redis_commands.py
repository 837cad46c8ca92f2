"""The Redis commands that Browsertrix and its indexer send, with the answers of Redis 7."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nwx.dedup.key_store import CommandError, Keyspace
from nwx.engine.embedded.entries.payload_keys import KeyKind


@dataclass(frozen=True, slots=True)
class Status:
    """A status reply of Redis."""

    text: bytes


STATUS_OK = Status(b"OK")
_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
_LONG = 1 << 63
_PREFIX = 8
_CURSORS = 1 << 64
_AFTER_ALL = b"\xff" * 1024
_MOST_SCANNED = 10_000
_SYNTAX = "ERR syntax error"
_NO_KEY = "ERR no such key"
_SHOWN = 128


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its function, and its numbers of arguments; a `most` of 0 means any number."""

    run: Callable[..., Any]
    least: int
    most: int


REDIS_COMMANDS: dict[bytes, Command] = {}


def _command(least: int, most: int | None = None) -> Callable[[Any], Any]:
    def declare(function: Any) -> Any:
        name = function.__name__.strip("_").encode()
        REDIS_COMMANDS[name] = Command(function, least, least if most is None else most)
        return function

    return declare


def run_command(keys: Keyspace, name: bytes, arguments: Sequence[bytes]) -> Any:
    """Run a command and return its answer; raises CommandError on an invalid one."""
    command = REDIS_COMMANDS.get(name.lower())
    if command is None:
        raise unknown_command(name, arguments)
    if len(arguments) < command.least or (command.most and len(arguments) > command.most):
        raise wrong_number(name)
    return command.run(keys, *arguments)


def unknown_command(name: bytes, arguments: Sequence[bytes]) -> CommandError:
    """Return the error for an unknown command."""
    shown = ""
    for one in arguments:
        if len(shown) >= _SHOWN:
            break
        shown += f"'{_text(one[: _SHOWN - len(shown)])}' "
    return CommandError(
        f"ERR unknown command '{_text(name[:_SHOWN])}', with args beginning with: {shown}"
    )


def wrong_number(name: bytes) -> CommandError:
    """Return the error for a command with too few or too many arguments."""
    return CommandError(f"ERR wrong number of arguments for '{_text(name.lower())}' command")


def integer(text: bytes, problem: str = "ERR value is not an integer or out of range") -> int:
    """Parse a signed 64-bit integer; raises CommandError on anything else."""
    number = int(text) if _INTEGER.fullmatch(text) else _LONG
    if not -_LONG <= number < _LONG:
        raise CommandError(problem)
    return number


def _text(value: bytes) -> str:
    return value.partition(b"\0")[0].decode("latin-1")


@_command(1, 0)
def _del(keys: Keyspace, *names: bytes) -> int:
    return sum(keys.remove(name) for name in names)


@_command(1, 0)
def _exists(keys: Keyspace, *names: bytes) -> int:
    return sum(keys.found(name) is not None for name in names)


@_command(1)
def _type(keys: Keyspace, name: bytes) -> Status:
    found = keys.found(name)
    return Status(found[1].name.lower().encode() if found else b"none")


@_command(2)
def _rename(keys: Keyspace, old: bytes, new: bytes) -> Status:
    found = keys.found(old)
    if found is None:
        raise CommandError(_NO_KEY)
    if old != new:
        keys.remove(new)
        keys.store.write("UPDATE keys SET name = ? WHERE id = ?", (new, found[0]))
    return STATUS_OK


@_command(1)
def _ttl(keys: Keyspace, name: bytes) -> int:
    found = keys.found(name)
    if found is None:
        return -2
    return -1 if found[2] is None else int(found[2] - keys.store.clock() + 0.5)


@_command(2)
def _expire(keys: Keyspace, name: bytes, seconds: bytes) -> int:
    after, found = integer(seconds), keys.found(name)
    if found is None:
        return 0
    ends = keys.store.clock() + after
    keys.store.write("UPDATE keys SET expires = ? WHERE id = ?", (ends, found[0]))
    return 1


@_command(1)
def _get(keys: Keyspace, name: bytes) -> bytes | None:
    return keys.field(name, KeyKind.STRING, 0)


@_command(2, 0)
def _set(keys: Keyspace, name: bytes, value: bytes, *options: bytes) -> Status | None:
    if options and (len(options) != 2 or options[0].upper() != b"EX"):
        raise CommandError(_SYNTAX)
    ends = _end(keys, options[1], "set") if options else None
    keys.put(keys.new(name, KeyKind.STRING, ends), 0, value)
    return STATUS_OK


@_command(3)
def _setex(keys: Keyspace, name: bytes, seconds: bytes, value: bytes) -> Status:
    keys.put(keys.new(name, KeyKind.STRING, _end(keys, seconds, "setex")), 0, value)
    return STATUS_OK


def _end(keys: Keyspace, seconds: bytes, command: str) -> float:
    after = integer(seconds)
    if after <= 0 or after >= _LONG // 1000:
        raise CommandError(f"ERR invalid expire time in '{command}' command")
    return keys.store.clock() + after


@_command(2)
def _hget(keys: Keyspace, name: bytes, field: bytes) -> bytes | None:
    return keys.field(name, KeyKind.HASH, field)


@_command(2)
def _hexists(keys: Keyspace, name: bytes, field: bytes) -> int:
    return int(keys.field(name, KeyKind.HASH, field) is not None)


@_command(3, 0)
def _hset(keys: Keyspace, name: bytes, *pairs: bytes) -> int:
    if len(pairs) % 2:
        raise wrong_number(b"hset")
    key = keys.made(name, KeyKind.HASH)
    return sum(keys.put(key, *pair) for pair in zip(pairs[::2], pairs[1::2], strict=True))


@_command(3)
def _hsetnx(keys: Keyspace, name: bytes, field: bytes, value: bytes) -> int:
    return int(keys.put(keys.made(name, KeyKind.HASH), field, value, replace=False))


@_command(3)
def _hincrby(keys: Keyspace, name: bytes, field: bytes, by: bytes) -> int:
    change = integer(by)
    before = keys.field(name, KeyKind.HASH, field)
    number = integer(b"0" if before is None else before, "ERR hash value is not an integer")
    if not -_LONG <= number + change < _LONG:
        raise CommandError("ERR increment or decrement would overflow")
    keys.put(keys.made(name, KeyKind.HASH), field, b"%d" % (number + change))
    return number + change


@_command(1)
def _hgetall(keys: Keyspace, name: bytes) -> list[bytes]:
    return [one for entry in keys.entries(keys.key(name, KeyKind.HASH)) for one in entry]


@_command(1)
def _hlen(keys: Keyspace, name: bytes) -> int:
    return keys.size(name, KeyKind.HASH)


@_command(2, 0)
def _hdel(keys: Keyspace, name: bytes, *fields: bytes) -> int:
    key = keys.key(name, KeyKind.HASH)
    return keys.take(key, list(fields)) if key else 0


@_command(2, 4)
def _hscan(keys: Keyspace, name: bytes, cursor: bytes, *options: bytes) -> list[Any]:
    """Return some fields; the cursor is the first 8 bytes of the next field, as a number."""
    if not cursor.isdigit() or (start := int(cursor[:_SHOWN])) >= _CURSORS:
        raise CommandError("ERR invalid cursor")
    if options and (len(options) != 2 or options[0].upper() != b"COUNT"):
        raise CommandError(_SYNTAX)
    most = integer(options[1]) if options else 10
    if most < 1:
        raise CommandError(_SYNTAX)
    key = keys.key(name, KeyKind.HASH)
    first, ordered = _first_field(start), "ORDER BY field LIMIT ?"
    found = keys.entries(key, f"AND field >= ? {ordered}", first, min(most, _MOST_SCANNED))
    following = 0
    if len(found) >= min(most, _MOST_SCANNED):
        last = found[-1][0]
        following = (int.from_bytes(last[:_PREFIX].ljust(_PREFIX, b"\0")) + 1) % _CURSORS
        end = _first_field(following) if following else _AFTER_ALL
        found += keys.entries(key, "AND field > ? AND field < ? ORDER BY field", last, end)
    return [b"%d" % following, [one for entry in found for one in entry]]


def _first_field(cursor: int) -> bytes:
    return cursor.to_bytes(_PREFIX).rstrip(b"\0")


@_command(2, 0)
def _sadd(keys: Keyspace, name: bytes, *members: bytes) -> int:
    key = keys.made(name, KeyKind.SET)
    return sum(keys.put(key, one, b"", replace=False) for one in members)


@_command(2, 0)
def _srem(keys: Keyspace, name: bytes, *members: bytes) -> int:
    key = keys.key(name, KeyKind.SET)
    return keys.take(key, list(members)) if key else 0


@_command(1, 2)
def _spop(keys: Keyspace, name: bytes, count: bytes | None = None) -> Any:
    most = 1 if count is None else integer(count)
    if most < 0:
        raise CommandError("ERR value is out of range, must be positive")
    key = keys.key(name, KeyKind.SET)
    members = [one for one, _ in keys.entries(key, "LIMIT ?", most)]
    if key:
        keys.take(key, members)
    return members if count is not None else (members or [None])[0]


@_command(1)
def _scard(keys: Keyspace, name: bytes) -> int:
    return keys.size(name, KeyKind.SET)


@_command(1)
def _smembers(keys: Keyspace, name: bytes) -> list[bytes]:
    return [one for one, _ in keys.entries(keys.key(name, KeyKind.SET))]


@_command(2)
def _sismember(keys: Keyspace, name: bytes, member: bytes) -> int:
    return int(keys.field(name, KeyKind.SET, member) is not None)


@_command(3)
def _smove(keys: Keyspace, old: bytes, new: bytes, member: bytes) -> int:
    if keys.found(old) is None:
        return 0
    key, _ = keys.key(old, KeyKind.SET), keys.key(new, KeyKind.SET)
    if old == new:
        return int(keys.field(old, KeyKind.SET, member) is not None)
    if not key or not keys.take(key, [member]):
        return 0
    keys.put(keys.made(new, KeyKind.SET), member, b"", replace=False)
    return 1


@_command(1, 0)
def _sdiff(keys: Keyspace, *names: bytes) -> list[bytes]:
    first, *others = (_smembers(keys, name) for name in names)
    return sorted(set(first).difference(*others))


@_command(2, 0)
def _rpush(keys: Keyspace, name: bytes, *items: bytes) -> int:
    key = keys.made(name, KeyKind.LIST)
    for item in items:
        _push(keys, key, item, at_end=True)
    return keys.size(name, KeyKind.LIST)


@_command(2, 0)
def _lpush(keys: Keyspace, name: bytes, *items: bytes) -> int:
    key = keys.made(name, KeyKind.LIST)
    for item in items:
        _push(keys, key, item, at_end=False)
    return keys.size(name, KeyKind.LIST)


def _push(keys: Keyspace, key: int, item: bytes, *, at_end: bool) -> None:
    edge = keys.entries(key, _order(at_end, "LIMIT 1"))
    place = edge[0][0] + (1 if at_end else -1) if edge else 0
    keys.put(key, place, item)


def _order(descending: bool, more: str = "") -> str:
    return f"ORDER BY field {'DESC' if descending else ''} {more}"


@_command(1)
def _llen(keys: Keyspace, name: bytes) -> int:
    return keys.size(name, KeyKind.LIST)


def _item(keys: Keyspace, key: int | None, index: int) -> list[tuple[int, bytes]]:
    before = index if index >= 0 else -index - 1
    return keys.entries(key, _order(index < 0, "LIMIT 1 OFFSET ?"), min(before, _LONG - 1))


@_command(2)
def _lindex(keys: Keyspace, name: bytes, index: bytes) -> bytes | None:
    key = keys.key(name, KeyKind.LIST)
    found = _item(keys, key, integer(index)) if key else []
    return found[0][1] if found else None


@_command(1)
def _lpop(keys: Keyspace, name: bytes) -> bytes | None:
    key = keys.key(name, KeyKind.LIST)
    found = _item(keys, key, 0)
    if key and found:
        keys.take(key, [found[0][0]])
    return found[0][1] if found else None


@_command(3)
def _lset(keys: Keyspace, name: bytes, index: bytes, item: bytes) -> Status:
    key = keys.key(name, KeyKind.LIST)
    if not key:
        raise CommandError(_NO_KEY)
    found = _item(keys, key, integer(index))
    if not found:
        raise CommandError("ERR index out of range")
    keys.put(key, found[0][0], item)
    return STATUS_OK


@_command(3)
def _lrange(keys: Keyspace, name: bytes, first: bytes, last: bytes) -> list[bytes]:
    start, stop = integer(first), integer(last)
    items = [one for _, one in keys.entries(keys.key(name, KeyKind.LIST))]
    stop = stop + len(items) if stop < 0 else stop
    return items[max(start + len(items) if start < 0 else start, 0) : max(stop + 1, 0)]


@_command(3)
def _lrem(keys: Keyspace, name: bytes, count: bytes, item: bytes) -> int:
    number = integer(count)
    key = keys.key(name, KeyKind.LIST)
    most = min(abs(number), _LONG - 1) if number else -1
    found = keys.entries(key, f"AND value = ? {_order(number < 0, 'LIMIT ?')}", item, most)
    return keys.take(key, [place for place, _ in found]) if key else 0


@_command(4)
def _lmove(keys: Keyspace, old: bytes, new: bytes, start: bytes, end: bytes) -> bytes | None:
    ends = start.upper(), end.upper()
    if not {*ends} <= {b"LEFT", b"RIGHT"}:
        raise CommandError(_SYNTAX)
    key = keys.key(old, KeyKind.LIST)
    if not key:
        return None
    keys.key(new, KeyKind.LIST)
    ((place, item),) = _item(keys, key, 0 if ends[0] == b"LEFT" else -1)
    _push(keys, keys.made(new, KeyKind.LIST), item, at_end=ends[1] == b"RIGHT")
    keys.take(key, [place])
    return item
