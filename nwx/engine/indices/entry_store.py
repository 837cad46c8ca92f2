"""Engine interface for small entries: one store per index declared to have them."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from nwx.data_classes import dataclass
from nwx.engine.entries import IndexEntry
from nwx.model import IndexStats

EntryValue = str | int | float
EntryFilter = Mapping[str, EntryValue | tuple[EntryValue, ...]]
"""Conditions by field: it equals the value, or one of several; a list contains it."""

EVERY_ENTRY: EntryFilter = {}


class OrderField(NamedTuple):
    """A field by which entries are sorted."""

    field: str
    descending: bool = False


EntryOrder = tuple[OrderField, ...]
"""The fields by which entries are sorted; ties are broken by id, ascending."""

BY_ID: EntryOrder = ()


class EntryGroup(NamedTuple):
    """The number of entries with a value, and their mean of the requested field."""

    value: str
    entries: int
    mean: float


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of entries; `mean` is None if there are none.

    `groups` are by field, the most frequent value first, ties by value. An entry is counted in a
    group for each of its values.
    """

    entries: int = 0
    mean: float | None = None
    groups: Mapping[str, tuple[EntryGroup, ...]] = field(default_factory=dict)


class GroupSums:
    """Sums up, for each value, its entries and a field of them."""

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
    """Return whether an entry meets the conditions."""
    return all(_holds(entry.get(name, ""), value) for name, value in where.items())


def _holds(found: Any, value: EntryValue | tuple[EntryValue, ...]) -> bool:
    wanted = value if isinstance(value, tuple) else (value,)
    return bool(set(found).intersection(wanted)) if isinstance(found, list) else found in wanted


Change = Callable[[Mapping[str, IndexEntry | None]], Mapping[str, IndexEntry | None]]
"""Returns the entries to write, from the present ones, both by id; None means no entry."""


class StatefulIndex(ABC):
    """An index created on the first write, with named states in addition to its entries."""

    @abstractmethod
    def is_made(self) -> bool:
        """Return whether the index was ever written to."""

    @abstractmethod
    def put_state(self, name: str, state: bytes, *, derived: bool = False) -> None:
        """Store bytes, possibly millions, under a name, replacing earlier ones.

        What can be `derived` again is also stored in an archive that is open for reading only.
        """

    @abstractmethod
    def state(self, name: str) -> bytes | None:
        """Return the bytes last stored under a name, None if missing."""

    @abstractmethod
    def states(self) -> list[str]:
        """Return the names of all states, in order."""


class EntryStore(StatefulIndex):
    """The entries of an index, dictionaries as in its mapping, for any number of processes.

    Writes are visible at once, also during an import.
    Conditions, orders and groups use the fields that the index declares
    (`nwx.engine.indices.declarations`).
    """

    @abstractmethod
    def put(self, entries: Sequence[IndexEntry]) -> None:
        """Store entries, replacing any with the same id."""

    @abstractmethod
    def update(self, ids: Collection[str], change: Change) -> Mapping[str, IndexEntry | None]:
        """Change the entries of these ids atomically; return the written entries.

        If another process writes some of them meanwhile, `change` is called again with these.
        It may add other ids. Raises EngineBusyError if other processes keep writing them.
        """

    @abstractmethod
    def get(self, ids: Collection[str], fields: Sequence[str] = ()) -> dict[str, IndexEntry]:
        """Return the existing entries of these ids, or some fields of them."""

    @abstractmethod
    def delete(self, ids: Collection[str]) -> int:
        """Delete entries; return the number deleted."""

    @abstractmethod
    def find(
        self,
        where: EntryFilter = EVERY_ENTRY,
        order: EntryOrder = BY_ID,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[IndexEntry]:
        """Yield the matching entries."""

    @abstractmethod
    def count(self, where: EntryFilter = EVERY_ENTRY) -> int:
        """Return the number of matching entries."""

    @abstractmethod
    def totals(self, where: EntryFilter, groups: Mapping[str, int], mean: str) -> Totals:
        """Count the matching entries, in total and for at most N values of each group field.

        `groups` has N for each field; `mean` is the first sort field of the index.
        """

    @abstractmethod
    def version(self) -> str:
        """Return a version that changes with each change of the entries, "" before the first.

        The call is cheap. The part before its last `-` changes with `renew`. Only for indices that
        declare it.
        """

    @abstractmethod
    def renew(self) -> None:
        """Change the version and its prefix; without any earlier change, do nothing."""

    @abstractmethod
    def stats(self) -> IndexStats:
        """Return the number of entries, and the bytes stored, states included."""


class EntryIndex(StatefulIndex):
    """Index interface used by areas: the entries of a store, and named states."""

    def __init__(self, store: EntryStore) -> None:
        self._store = store

    def is_made(self) -> bool:
        return self._store.is_made()

    def put_state(self, name: str, state: bytes, *, derived: bool = False) -> None:
        self._store.put_state(name, state, derived=derived)

    def state(self, name: str) -> bytes | None:
        return self._store.state(name)

    def states(self) -> list[str]:
        return self._store.states()
