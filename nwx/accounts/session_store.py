"""Sessions: who has logged in, known to all workers and ended by any."""

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from nwx.accounts.account_file import AccountFile

SESSION_IDLE_SECONDS = 12 * 3_600
"""A session that is not used for so long has ended, as has one used in the future.

Otherwise one begun while the clock was wrong would last for years.
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
    """The sessions in a file; `clock` gives seconds since 1970."""

    def __init__(self, file: AccountFile, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock

    def begin(self, name: str, proof: bytes) -> str:
        """Return the token of a new session; nobody else ever knew it."""
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
        """Return the session of a token, None where it is unknown or has ended."""
        return self._lasting(_hash(token))

    def named_session(self, name: str) -> Session | None:
        """Return the session of a name (`session_name`), None where it has ended."""
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
    """Return a text that names the session of a token, and does not open it."""
    return _hash(token).hex()


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
