"""What a takedown concerns, and a sheet about it for those who asked for it."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from nwx.access.restricted.engine import restricted_to
from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.engine.access.rules import EVERYBODY, AccessRule
from nwx.engine.base import Engine
from nwx.takedown.targets import ScopeCaptures

_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class TakenCaptures:
    """Number, dates and places of the captures that a rule excludes.

    `shown` are those that a reader was still shown when this was counted, which is 0 unless rules
    of others allow them.
    """

    captures: int = 0
    first: str = ""
    last: str = ""
    collections: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    shown: int = 0

    def words(self) -> str:
        """Return number and dates in words."""
        if not self.captures:
            return "no captures yet"
        first, last = (f"{one[:4]}-{one[4:6]}-{one[6:8]}" for one in (self.first, self.last))
        noun = "capture" if self.captures == 1 else "captures"
        return f"{self.captures:,} {noun}, {first}" + (f" to {last}" if last != first else "")


def taken_captures(engine: Engine, rule: AccessRule, progress: ShowProgress) -> TakenCaptures:
    """Return what a stored rule excludes, and whether readers are shown any of it."""
    found, dates, places = 0, ("", ""), set()
    scope = replace(rule, purged=True)
    for one in ScopeCaptures(engine, scope).captures():
        found += 1
        dates = (min(dates[0] or one.timestamp, one.timestamp), max(dates[1], one.timestamp))
        places.add((one.collection, one.source_file))
        if found % _AT_ONCE == 0:
            progress(WorkProgress("counting", found, 0))
    readers = ScopeCaptures(restricted_to(engine, EVERYBODY), scope)
    shown = sum(1 for _ in readers.captures()) if found else 0
    collections = tuple(sorted({collection for collection, _ in places}))
    return TakenCaptures(found, *dates, collections, tuple(sorted(n for _, n in places)), shown)


def takedown_sheet(rule: AccessRule, taken: TakenCaptures, purged: bool, by: str) -> str:
    """Return a sheet in Markdown: what was taken down, where, when, by whom, verified how."""
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    verified = (
        f"on {now} the archive was asked for these captures as a reader without rights:"
        f" it showed {taken.shown:,} of {taken.captures:,}"
    )
    rows = (
        ("What", f"{rule.scope.url}: {taken.words()}"),
        ("Where", ", ".join(taken.collections) or "in no collection yet"),
        ("Files", ", ".join(taken.files) or "none"),
        ("When", now),
        ("By", by or "unknown"),
        ("Reason", rule.reason or "none given"),
        (
            "Done",
            f"excluded by rule {rule.id}" + (", and purged from all indices" if purged else ""),
        ),
        ("Verified", verified),
    )
    return "# Takedown\n\n" + "".join(f"- **{name}**: {text}\n" for name, text in rows)
