"""What an engine does for access: rules, a log of their changes, and states made of them."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import AccessRule


class ChangeKind(StrEnum):
    """What was done with a rule."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class AccessChange:
    """An entry of the log: what was done with a rule, when (14 digits) and by whom.

    `rule` is the rule as it was stored, or as it was when it was removed.
    """

    kind: ChangeKind
    rule: AccessRule
    at: str
    by: str


class AccessIndex(ABC):
    """The index access of an engine; it may be written to while an import runs.

    What was written holds at once, in every process that has the archive open.
    """

    @abstractmethod
    def version(self) -> str:
        """Return what changes with each change of the rules, "" before the first; cheap.

        What stands before its last `-` changes with `renew`.
        """

    @abstractmethod
    def rules(self) -> AccessRules:
        """Return all rules, by id; the same object until they change."""

    @abstractmethod
    def put(self, rules: Iterable[AccessRule], by: str) -> tuple[AccessRule, ...]:
        """Store rules, all or none, and note it in the log; return them as they are stored.

        Each is checked (`nwx.engine.access.rules.checked_rule`) and takes
        the place of the one of its id: that of the same action, scope and
        viewers. `made_at` and `made_by` are filled in where they are "".
        One that is stored already, with the same reason, changes nothing.
        Raises UsageError where a rule cannot hold.
        """

    @abstractmethod
    def remove(self, ids: Collection[str], by: str) -> int:
        """Remove rules and note it in the log; return how many there were."""

    @abstractmethod
    def renew(self) -> None:
        """Have what was found out by the rules found out anew, as other dates are known now.

        Where there never was a rule, nothing happens.
        """

    @abstractmethod
    def changes(self, limit: int, offset: int = 0) -> list[AccessChange]:
        """Return the log, the newest entry first; no method changes or removes any."""

    @abstractmethod
    def put_state(self, name: str, state: bytes) -> None:
        """Keep some bytes, which may be millions, in the place of those of that name."""

    @abstractmethod
    def state(self, name: str) -> bytes | None:
        """Return the bytes that were put under a name last, None where there are none."""
