"""An account, and which names an account can have."""

import re
from dataclasses import dataclass, field

from nwx.engine.access.rules import Role
from nwx.errors import UsageError

__all__ = ["Role"]

MOST_NAME_CHARACTERS = 100
_NAME = re.compile(r"[^\s,;:\"'<>\\/|*?]+")


class AccountError(UsageError):
    """An account that cannot be: unknown, already there, of a wrong name or password."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user account; without a password only a reverse proxy can authenticate it.

    Times are timestamps of 14 digits.
    """

    name: str
    role: Role
    password_hash: str = field(default="", repr=False)
    made_at: str = ""
    changed_at: str = ""

    @property
    def has_password(self) -> bool:
        """Return whether the account can log in with a password."""
        return bool(self.password_hash)


def is_account_name(name: str) -> bool:
    """Return whether a text is a valid account name."""
    return (
        0 < len(name) <= MOST_NAME_CHARACTERS
        and name.isprintable()
        and _NAME.fullmatch(name) is not None
    )


def check_account_name(name: str) -> str:
    """Return the name of an account; raises AccountError where it cannot be one."""
    if not is_account_name(name):
        raise AccountError.translated(
            "%(name)s cannot name an account; use up to %(most)s "
            "letters, digits and signs such as . - _ @, without blanks, commas or "
            "slashes",
            name=repr(name[:40]),
            most=MOST_NAME_CHARACTERS,
        )
    return name
