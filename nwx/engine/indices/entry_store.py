"""What an engine does for small entries: one store for each index that is declared to have some."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nwx.engine.entries import IndexEntry
from nwx.model import IndexStats

EntryValue = str | int | float
EntryFilter = Mapping[str, EntryValue | tuple[EntryValue, ...]]
"""Conditions by field: it has the value, or one of several; a list has it among its own."""

EVERY_ENTRY: EntryFilter = {}


class OrderField(NamedTuple):
    """A field that entries are sorted by."""

    field: str
    descending: bool = False


EntryOrder = tuple[OrderField, ...]
"""The fields that entries are sorted by; ties are broken by id, ascending."""

BY_ID: EntryOrder = ()


class EntryGroup(NamedTuple):
    """The entries that have a value, and the mean of the field asked for."""

    value: str
    entries: int
    mean: float


@dataclass(frozen=True, slots=True)
class Totals:
    """Entries counted; `mean` is None where there are none.

    `groups` are by field, the most frequent value first, ties by value. An
    entry is in a group for each of the values that it has.
    """

    entries: int = 0
    mean: float | None = None
    groups: Mapping[str, tuple[EntryGroup, ...]] = field(default_factory=dict)


class GroupSums:
    """The entries of each value, and the sum of a field of them."""

    def __init__(self) -> None:
        self._entries: defaultdict[str, int] = defaultdict(int)
        self._sums: defaultdict[str, float] = defaultdict(float)

    def add(self, value: str, number: float) -> None:
        """Count an entry."""
        self._entries[value] += 1
        self._sums[value] += number

    def groups(self) -> tuple[EntryGroup, ...]:
        """Return the values, those with the most entries first."""
        found = (EntryGroup(name, n, self._sums[name] / n) for name, n in self._entries.items())
        return tuple(sorted(found, key=lambda one: (-one.entries, one.value)))


def count_entries(entries: Iterable[IndexEntry], groups: Mapping[str, int], mean: str) -> Totals:
    """Count entries as `EntryStore.totals` does."""
    sums = {name: GroupSums() for name in groups}
    counted, total = 0, 0.0
    for entry in entries:
        number = entry[mean]
        counted += 1
        total += number
        for name, one in sums.items():
            value = entry.get(name, "")
            for each in value if isinstance(value, list) else (value,):
                one.add(each, number)
    found = {name: one.groups()[: groups[name]] for name, one in sums.items()}
    return Totals(counted, total / counted if counted else None, found)


def matches(entry: IndexEntry, where: EntryFilter) -> bool:
    """Tell whether conditions hold for an entry."""
    return all(_holds(entry.get(name, ""), value) for name, value in where.items())


def _holds(found: Any, value: EntryValue | tuple[EntryValue, ...]) -> bool:
    wanted = value if isinstance(value, tuple) else (value,)
    return bool(set(found).intersection(wanted)) if isinstance(found, list) else found in wanted


Change = Callable[[Mapping[str, IndexEntry | None]], Mapping[str, IndexEntry | None]]
"""Gives what is to be written by id, from what there is of some ids; None stands for no entry."""


class EntryStore(ABC):
    """The entries of an index, dictionaries as in its mapping; any number of processes use it.

    The index is made when it is first written to. What was written is seen
    at once, also while an import runs. Fields of conditions, orders and
    groups are those that the index declares (`nwx.engine.indices.declarations`).
    """

    @abstractmethod
    def is_made(self) -> bool:
        """Tell whether the index was ever written to."""

    @abstractmethod
    def put(self, entries: Sequence[IndexEntry]) -> None:
        """Store entries, each in the place of the one of its id."""

    @abstractmethod
    def update(self, ids: Collection[str], change: Change) -> Mapping[str, IndexEntry | None]:
        """Change entries by what there is of these ids; return what was written.

        Nobody else writes these in between: `change` is called again with
        those ids that somebody else wrote meanwhile. It may add others.
        Raises EngineBusyError where others keep writing them.
        """

    @abstractmethod
    def get(self, ids: Collection[str], fields: Sequence[str] = ()) -> dict[str, IndexEntry]:
        """Return the entries of these ids that there are, or some fields of them."""

    @abstractmethod
    def delete(self, ids: Collection[str]) -> int:
        """Delete entries; return how many there were."""

    @abstractmethod
    def find(
        self,
        where: EntryFilter = EVERY_ENTRY,
        order: EntryOrder = BY_ID,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[IndexEntry]:
        """Stream the entries that match."""

    @abstractmethod
    def count(self, where: EntryFilter = EVERY_ENTRY) -> int:
        """Return how many entries match."""

    @abstractmethod
    def totals(self, where: EntryFilter, groups: Mapping[str, int], mean: str) -> Totals:
        """Count the entries that match, and by each of some fields at most so many values.

        `mean` is the first field that the index is sorted by.
        """

    @abstractmethod
    def version(self) -> str:
        """Return what changes with each change of the entries, "" before the first; cheap.

        What stands before its last `-` changes with `renew`. For indices
        that declare it.
        """

    @abstractmethod
    def renew(self) -> None:
        """Change the version, and what it begins with; where there was no change, do nothing."""

    @abstractmethod
    def put_state(self, name: str, state: bytes) -> None:
        """Keep some bytes, which may be millions, in the place of those of that name."""

    @abstractmethod
    def state(self, name: str) -> bytes | None:
        """Return the bytes that were put under a name last, None where there are none."""

    @abstractmethod
    def states(self) -> list[str]:
        """Return the names of all states, in order."""

    @abstractmethod
    def stats(self) -> IndexStats:
        """Return the number of entries, and the bytes that they take with the states."""


class EntryIndex:
    """What areas know as their index: entries of a store, and states beside them."""

    def __init__(self, store: EntryStore) -> None:
        self._store = store

    def put_state(self, name: str, state: bytes) -> None:
        """Keep some bytes, which may be millions, in the place of those of that name."""
        self._store.put_state(name, state)

    def state(self, name: str) -> bytes | None:
        """Return the bytes that were put under a name last, None where there are none."""
        return self._store.state(name)

    def states(self) -> list[str]:
        """Return the names of all states, in order."""
        return self._store.states()
