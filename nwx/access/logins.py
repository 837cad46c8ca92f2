"""Logins: sessions and limits of attempts in the file of the accounts, shared by all workers."""

import hashlib
import ipaddress
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import Storage
from limits.strategies import FixedWindowRateLimiter

from nwx.access.account_store import AccountFile

SESSION_IDLE_SECONDS = 12 * 3_600
"""A session that is not used for this long has ended, as has one last used in the future.

Otherwise a session begun while the clock was wrong would last for years.
"""

MOST_SESSION_SECONDS = 7 * 86_400
_NOTED_SECONDS = 300
_TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class Session:
    """A stored session: its account, and the proof of the secret used to log in."""

    name: str
    proof: bytes


def proof_of(secret: str) -> bytes:
    """Return the SHA-256 of a secret; it differs once the secret has changed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


class SessionStore:
    """The sessions in a file; `clock` returns seconds since 1970."""

    def __init__(self, file: AccountFile, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock

    def begin(self, name: str, proof: bytes) -> str:
        """Return the token of a new session; only its hash is stored."""
        token, now = secrets.token_urlsafe(_TOKEN_BYTES), int(self._clock())
        with self._file.changing() as db:
            db.execute(
                "DELETE FROM sessions WHERE seen < ? OR began < ? OR seen > ?",
                (now - SESSION_IDLE_SECONDS, now - MOST_SESSION_SECONDS, now + _NOTED_SECONDS),
            )
            row = (_hash(token), name, proof, now, now)
            db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?)", row)
        return token

    def session(self, token: str) -> Session | None:
        """Return the session of a token, None if it is unknown or has ended."""
        return self._lasting(_hash(token))

    def named_session(self, name: str) -> Session | None:
        """Return the session of a name (`session_name`), None if it has ended."""
        try:
            key = bytes.fromhex(name)
        except ValueError:
            return None
        return self._lasting(key)

    def _lasting(self, key: bytes) -> Session | None:
        now = int(self._clock())
        with self._file.reading() as db:
            row = db.execute(
                "SELECT name, proof, began, seen FROM sessions WHERE token_hash = ?", (key,)
            ).fetchone()
            if row is None:
                return None
            name, proof, began, seen = row
            is_used = -_NOTED_SECONDS <= now - seen <= SESSION_IDLE_SECONDS
            if not is_used or now - began > MOST_SESSION_SECONDS:
                db.execute("DELETE FROM sessions WHERE token_hash = ?", (key,))
                return None
            if now - seen > _NOTED_SECONDS:
                db.execute("UPDATE sessions SET seen = ? WHERE token_hash = ?", (now, key))
        return Session(name, bytes(proof))

    def end(self, token: str) -> None:
        """End the session of a token, for every copy of its cookie."""
        with self._file.changing() as db:
            db.execute("DELETE FROM sessions WHERE token_hash = ?", (_hash(token),))


def session_name(token: str) -> str:
    """Return a text that identifies the session of a token without giving access to it."""
    return _hash(token).hex()


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


_MINUTES = 15
_LONGEST_SECONDS = _MINUTES * 60
OF_ONE_NAME = RateLimitItemPerMinute(8, _MINUTES, namespace="name-and-address")
OF_ONE_ADDRESS = RateLimitItemPerMinute(40, _MINUTES, namespace="address")
OF_NAME_ANYWHERE = RateLimitItemPerMinute(200, _MINUTES, namespace="name")
"""The limit of all addresses together: high, as deliberate failures lock out the user."""

_IPV6_PREFIX = 64
_DIGEST_BYTES = 16


class AttemptCounts(Storage):
    """Storage in SQLite for the library `limits`; `clock` returns seconds since 1970."""

    STORAGE_SCHEME = None

    def __init__(self, file: AccountFile, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._file = file
        self._clock = clock

    @property
    def base_exceptions(self) -> type[Exception]:
        """No vendor exceptions: the file raises our own."""
        return _NoError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Increase or decrease a count and return it; an expired one starts again."""
        now = self._clock()
        with self._file.changing() as db:
            # Counts that expire later were made before the clock was set back.
            db.execute(
                "DELETE FROM attempts WHERE expires <= ? OR expires > ?",
                (now, now + _LONGEST_SECONDS),
            )
            (number,) = db.execute(
                "INSERT INTO attempts VALUES (?1, max(0, ?2), ?3) "
                "ON CONFLICT (key) DO UPDATE SET number = max(0, number + ?2) "
                "RETURNING number",
                (key, amount, now + expiry),
            ).fetchone()
        return int(number)

    def get(self, key: str) -> int:
        """Return a count, 0 if it has expired."""
        found = self._row(key)
        return int(found[0]) if found else 0

    def get_expiry(self, key: str) -> float:
        """Return when a count expires, in seconds since 1970."""
        found = self._row(key)
        return found[1] if found else self._clock()

    def _row(self, key: str) -> tuple[int, float] | None:
        now = self._clock()
        with self._file.reading() as db:
            row: tuple[int, float] | None = db.execute(
                "SELECT number, expires FROM attempts"
                " WHERE key = ? AND expires > ? AND expires <= ?",
                (key, now, now + _LONGEST_SECONDS),
            ).fetchone()
        return row

    def check(self) -> bool:
        """Return whether counts can be stored."""
        return self.get("") == 0

    def reset(self) -> int:
        """Delete all counts; return their number."""
        with self._file.changing() as db:
            return db.execute("DELETE FROM attempts").rowcount

    def clear(self, key: str) -> None:
        """Delete a count."""
        with self._file.changing() as db:
            db.execute("DELETE FROM attempts WHERE key = ?", (key,))


class _NoError(Exception):
    """Never raised."""


class LoginLimits:
    """How often a login may be tried: by name and address, by address, and by name."""

    def __init__(self, file: AccountFile, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._limiter = FixedWindowRateLimiter(AttemptCounts(file, clock))

    def wait_seconds(self, name: str, address: str) -> int:
        """Count an attempt; return 0 if it is allowed, else the seconds to wait.

        Counted before the password is checked, so that concurrent attempts cannot exceed the limit
        together.
        """
        waits = [
            self._wait(item, *keys)
            for item, *keys in _limits(name, address)
            if not self._limiter.hit(item, *keys)
        ]
        return max(waits, default=0)

    def forgive(self, name: str, address: str) -> None:
        """Stop counting a successful login, and all attempts of its name and address."""
        (item, *keys), *shared = _limits(name, address)
        self._limiter.clear(item, *keys)
        for item, *keys in shared:
            self._limiter.hit(item, *keys, cost=-1)

    def _wait(self, item: RateLimitItem, *keys: str) -> int:
        reset = self._limiter.get_window_stats(item, *keys).reset_time
        return max(1, math.ceil(reset - self._clock()))


def _limits(name: str, address: str) -> tuple[tuple[RateLimitItem, *tuple[str, ...]], ...]:
    # People type passwords into the field for names: only hashes are stored.
    name, address = _digest(name), client_network(address)
    return (
        (OF_ONE_NAME, name, address),
        (OF_ONE_ADDRESS, address),
        (OF_NAME_ANYWHERE, name),
    )


def _digest(name: str) -> str:
    text = name.casefold().encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()


def client_network(address: str) -> str:
    """Return the network that counts as one address: /64 for IPv6, as one host may have it."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, _IPV6_PREFIX), strict=False))
    return str(found)
