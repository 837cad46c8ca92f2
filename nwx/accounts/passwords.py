"""Passwords, hashed with Argon2id and compared without revealing accounts by timing."""

from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from nwx.accounts.account import AccountError

LEAST_PASSWORD_CHARACTERS = 10
MOST_PASSWORD_CHARACTERS = 1_000
"""Longer ones would only cost time to hash."""

_hasher = PasswordHasher()


def check_password(password: str, name: str) -> str:
    """Return a password that an account may have; raises AccountError on weak ones."""
    if len(password) < LEAST_PASSWORD_CHARACTERS:
        raise AccountError.translated(
            "the password is short; use %(least)s or more signs", least=LEAST_PASSWORD_CHARACTERS
        )
    if len(password) > MOST_PASSWORD_CHARACTERS:
        raise AccountError.translated(
            "the password is longer than %(most)s signs", most=MOST_PASSWORD_CHARACTERS
        )
    if password.casefold() == name.casefold() or len(set(password)) < 4:
        raise AccountError.translated("the password is easy to guess; choose another")
    return password


def hash_password(password: str) -> str:
    """Return the hash of a password, with its salt and the cost of making it."""
    return _hasher.hash(password.encode("utf-8", "surrogatepass"))


def is_password(password_hash: str, password: str) -> bool:
    """Return whether a password matches a hash.

    Takes as long for "", the hash of an account that does not exist or has no password, so that
    response times do not reveal which accounts have one.
    """
    known, nobody = bool(password_hash), _hash_of_nobody()
    if len(password) > MOST_PASSWORD_CHARACTERS:
        password, known = "", False
    try:
        same = _hasher.verify(password_hash or nobody, password.encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False
    return same and known


def is_outdated(password_hash: str) -> bool:
    """Return whether a hash was made at another cost than hashes are now."""
    return _hasher.check_needs_rehash(password_hash)


@lru_cache(1)
def _hash_of_nobody() -> str:
    return hash_password("nobody has this password")
