"""The registry: every index of an archive is declared here and listed nowhere else.

To add an index of small entries: its mapping (`mappings/NAME.json`), its name
(`nwx.model.IndexName`), its declaration here, and its area on top of an `EntryStore`. Code that
counts, lists, deletes, restricts, erases and measures indices reads these declarations.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from nwx.data_classes import dataclass
from nwx.engine.indices.entry_store import BY_ID, EntryFilter, EntryOrder, OrderField
from nwx.model import IndexName


class IndexKind(StrEnum):
    """How an index is created.

    `IMPORTED` indices are written by imports and exist since the first version. `BUILT` indices are
    replaced by a build. `ENTRIES` are indices of small entries, created on the first write.
    """

    IMPORTED = "imported"
    BUILT = "built"
    ENTRIES = "entries"


@dataclass(frozen=True, slots=True)
class EntryFields:
    """Fields for querying the entries of an index.

    `filtered` fields can be used in conditions and groups, and so can `lists`: fields with several
    values, with the name of a single value. `orders` are the orders of answers, the default one
    first. `read` are additional fields that can be read alone. `table` is the table in the embedded
    engine. If the entries can be rebuilt, `is_durable` is False: writes do not wait for the disk.
    `log` selects the entries that are never changed or deleted. `has_version` is for entries needed
    by each request: `EntryStore.version`.
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
    """Properties of an index.

    `fields` are the fields of an index stored in an `EntryStore` on every engine. `shown` are the
    conditions of the entries to count and list. `undeletable` says why its entries cannot be
    deleted one by one. `visible` names the class of entries visible to a viewer; without it no
    small entries are visible. `entries_each` and `entry_bytes` are the number of entries per
    capture and the size of an entry, for indices where that decides the number of shards.
    `made_by` says how to rebuild the index, if that is possible.
    """

    name: IndexName
    kind: IndexKind = IndexKind.ENTRIES
    fields: EntryFields = EntryFields()
    shown: EntryFilter = field(default_factory=dict)
    undeletable: str = ""
    visible: str = ""
    entries_each: float = 0.0
    entry_bytes: int = 0
    made_by: str = ""


_REBUILT = "entries of the index {} cannot be deleted; a build replaces all of them"

_DECLARED = (
    IndexDeclaration(
        IndexName.CAPTURES,
        IndexKind.IMPORTED,
        entries_each=1.0,
        entry_bytes=400,
    ),
    IndexDeclaration(
        IndexName.DOCUMENTS,
        IndexKind.IMPORTED,
        entries_each=0.5,
        entry_bytes=9_000,
    ),
    IndexDeclaration(
        IndexName.DATES,
        IndexKind.IMPORTED,
        entries_each=0.6,
        entry_bytes=350,
    ),
    IndexDeclaration(
        IndexName.FACETS,
        IndexKind.BUILT,
        undeletable=_REBUILT.format(IndexName.FACETS),
        made_by="run `nwx build-facets --anew`",
    ),
    IndexDeclaration(
        IndexName.INLINKS,
        IndexKind.BUILT,
        undeletable=_REBUILT.format(IndexName.INLINKS),
        made_by="run `nwx invert-links --anew`",
    ),
    IndexDeclaration(
        IndexName.CRAWLS,
        visible="nwx.access.restricted_crawls:VisibleCrawlEntries",
        undeletable="entries of the index crawls cannot be deleted one by one; "
        "`nwx crawls remove` removes a crawl specification with its scores",
    ),
    IndexDeclaration(
        IndexName.QUEUE,
        shown={"kind": "url"},
        visible="nwx.access.restricted_crawls:VisibleQueueEntries",
        undeletable="entries of the index queue cannot be deleted; "
        "`nwx queue blacklist` excludes a URL",
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
        visible="nwx.access.restricted_entries:VisibleScores",
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
        visible="nwx.access.restricted_stores:VisiblePictureEntries",
        entries_each=0.2,
        entry_bytes=500,
        made_by="run `nwx build-pictures`",
    ),
    IndexDeclaration(
        IndexName.VECTORS,
        visible="nwx.access.restricted_entries:VisiblePassages",
        undeletable="entries of the index vectors cannot be deleted; a purge of captures does it",
        entries_each=2.0,
        entry_bytes=400,
        made_by="run `nwx build vectors`",
    ),
    IndexDeclaration(
        IndexName.ALIASES,
        fields=EntryFields(has_version=True),
        undeletable="entries of the index aliases cannot be deleted one by one; "
        "POST `@alias` lines to /COLLECTION/delete",
    ),
    IndexDeclaration(
        IndexName.CHANGES,
        undeletable="entries of the index changes cannot be deleted: followers read them",
    ),
    IndexDeclaration(
        IndexName.DIGESTS,
        fields=EntryFields(lists={"digests": "digest"}),
        undeletable="entries of the index digests cannot be deleted; a purge of captures does it",
        entries_each=0.6,
        entry_bytes=150,
        made_by="run `nwx add-digests`",
    ),
    IndexDeclaration(
        IndexName.DEDUP,
        undeletable="entries of the index dedup are deleted by crawlers (`nwx dedup-server`)",
    ),
    IndexDeclaration(
        IndexName.REVIEWS,
        fields=EntryFields(
            filtered=("capture", "collection", "reviewer", "verdict"),
            orders=((OrderField("value"),), (OrderField("reviewed", descending=True),)),
        ),
        visible="nwx.access.restricted_entries:VisibleReviews",
    ),
    IndexDeclaration(
        IndexName.JUDGEMENTS,
        fields=EntryFields(filtered=("kind",)),
        visible="nwx.access.restricted_entries:VisibleJudgements",
    ),
    IndexDeclaration(IndexName.WATCHES, visible="nwx.access.restricted_entries:VisibleWatches"),
    IndexDeclaration(IndexName.FILES, IndexKind.IMPORTED),
)

INDICES: Mapping[IndexName, IndexDeclaration] = {one.name: one for one in _DECLARED}
"""The declarations of all indices, by name."""


def indices_of(*kinds: IndexKind) -> tuple[IndexName, ...]:
    """Return the names of the indices of these kinds, in the order of declaration."""
    return tuple(one.name for one in INDICES.values() if one.kind in kinds)
