"""Steps that bring an archive of an older version forward, on any engine.

An archive knows the number of the last step that was taken. Steps are taken
in their order when the archive is next written to, and never left out of
the list: an archive may be of any age. A step may be taken again where it
was interrupted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Migration(Generic[_T]):
    """A step to the format `number`; `what` says what `apply` does, in a few words."""

    number: int
    what: str
    apply: Callable[[_T], None]


def pending_migrations(
    migrations: Sequence[Migration[_T]], number: int
) -> tuple[Migration[_T], ...]:
    """Return the steps that an archive of a format has not taken, in their order."""
    return tuple(one for one in sorted(migrations, key=_number) if one.number > number)


def _number(migration: Migration[_T]) -> int:
    return migration.number
