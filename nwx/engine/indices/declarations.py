"""The registry: every index of an archive is declared here, and listed nowhere else.

To add an index of small entries: its mapping (`mappings/NAME.json`), its name
(`nwx.model.IndexName`), its declaration here, and its area above an
`EntryStore`. What counts, lists, deletes, restricts, erases and measures
indices reads these declarations.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nwx.engine.indices.entry_store import BY_ID, EntryFilter, EntryOrder, OrderField
from nwx.model import IndexName


class IndexKind(StrEnum):
    """What an index is made by.

    `IMPORTED` ones are written by imports and there since the first version.
    `BUILT` ones are replaced by a build. `ENTRIES` are small ones, made when
    they are first written to.
    """

    IMPORTED = "imported"
    BUILT = "built"
    ENTRIES = "entries"


@dataclass(frozen=True, slots=True)
class EntryFields:
    """OrderField what the entries of an index are asked for.

    `filtered` fields have conditions and groups, `lists` too: fields with
    several values, and what one of them is called. `orders` are those of
    answers, the usual one first. `read` are further fields that are read
    without the rest. `table` is that of the embedded engine. EntryFilter the
    entries can be made again, `is_durable` is False: no disk is waited for.
    `log` tells which entries are never changed or deleted. `has_version` is
    for entries that each request depends on: `EntryStore.version`.
    """

    filtered: tuple[str, ...] = ()
    lists: Mapping[str, str] = field(default_factory=dict)
    orders: tuple[EntryOrder, ...] = (BY_ID,)
    read: tuple[str, ...] = ()
    table: str = "entries"
    is_durable: bool = True
    log: EntryFilter = field(default_factory=dict)
    has_version: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All fields with one value, each once."""
        ordered = (by.field for order in self.orders for by in order if by.field != "id")
        return tuple(dict.fromkeys((*ordered, *self.filtered, *self.read)))


@dataclass(frozen=True, slots=True)
class IndexDeclaration:
    """What is known of an index.

    `fields` are those of an index that lies in an `EntryStore` on every
    engine. `shown` are the conditions of what is counted and listed as its
    entries. `undeletable` says why its entries cannot be deleted one by one.
    `visible` names the class of what a viewer may see of its entries: none
    of small ones where it is not named.
    `entries_each` and `entry_bytes` are how many entries there are for a
    capture, and how large one is, where that decides on shards.
    `data_view` is the title and the field of time that Kibana is given.
    """

    name: IndexName
    kind: IndexKind = IndexKind.ENTRIES
    fields: EntryFields = EntryFields()
    shown: EntryFilter = field(default_factory=dict)
    undeletable: str = ""
    visible: str = ""
    entries_each: float = 0.0
    entry_bytes: int = 0
    data_view: tuple[str, str | None] | None = None


_REBUILT = "entries of the index {} cannot be deleted; a build replaces all of them"

_DECLARED = (
    IndexDeclaration(
        IndexName.CAPTURES,
        IndexKind.IMPORTED,
        entries_each=1.0,
        entry_bytes=400,
        data_view=("captures", "crawl_date"),
    ),
    IndexDeclaration(
        IndexName.DOCUMENTS,
        IndexKind.IMPORTED,
        entries_each=0.5,
        entry_bytes=9_000,
        data_view=("documents", "crawl_date"),
    ),
    IndexDeclaration(
        IndexName.DATES,
        IndexKind.IMPORTED,
        entries_each=0.6,
        entry_bytes=350,
        data_view=("dates of documents", "dates"),
    ),
    IndexDeclaration(
        IndexName.FACETS,
        IndexKind.BUILT,
        undeletable=_REBUILT.format(IndexName.FACETS),
        data_view=("facets", None),
    ),
    IndexDeclaration(
        IndexName.INLINKS,
        IndexKind.BUILT,
        undeletable=_REBUILT.format(IndexName.INLINKS),
        data_view=("inlinks", "last"),
    ),
    IndexDeclaration(
        IndexName.CRAWLS,
        visible="nwx.access.restricted.crawls:VisibleCrawlEntries",
        undeletable="entries of the index crawls cannot be deleted one by one; "
        "`nwx crawls remove` removes a crawl specification with its scores",
    ),
    IndexDeclaration(
        IndexName.QUEUE,
        shown={"kind": "url"},
        visible="nwx.access.restricted.queue:VisibleQueueEntries",
        undeletable="entries of the index queue cannot be deleted; "
        "`nwx queue blacklist` takes a URL out",
    ),
    IndexDeclaration(
        IndexName.QUALITY,
        fields=EntryFields(
            filtered=("collection", "host", "domain", "month"),
            lists={"kinds": "kind"},
            orders=((OrderField("score"),), (OrderField("checked", descending=True),)),
            read=("rules",),
            table="scores",
            is_durable=False,
        ),
        visible="nwx.access.restricted.quality:VisibleScores",
        data_view=("quality of playback", "timestamp"),
    ),
    IndexDeclaration(
        IndexName.ACCESS,
        fields=EntryFields(
            filtered=("kind",),
            orders=(BY_ID, (OrderField("id", descending=True),)),
            log={"kind": "change"},
            has_version=True,
        ),
        undeletable="entries of the index access cannot be deleted one by one; "
        "`nwx access remove` removes a rule, and its log stays",
    ),
    IndexDeclaration(
        IndexName.PICTURES,
        visible="nwx.access.restricted.pictures:VisiblePictureEntries",
        entries_each=0.2,
        entry_bytes=500,
    ),
    IndexDeclaration(IndexName.FILES, IndexKind.IMPORTED),
)

INDICES: Mapping[IndexName, IndexDeclaration] = {one.name: one for one in _DECLARED}
"""The declarations of all indices, by name."""


def indices_of(*kinds: IndexKind) -> tuple[IndexName, ...]:
    """Return the names of the indices of some kinds, in their order."""
    return tuple(one.name for one in INDICES.values() if one.kind in kinds)
