"""Writes of documents, dates and captures to SQLite."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from nwx.captures import CaptureTuple, CaptureValues
from nwx.data_classes import dataclass
from nwx.engine.embedded.captures.stored_captures import source_codes
from nwx.engine.embedded.database import DOCUMENT_FACETS, add_rows, seen_changing, seen_growing
from nwx.engine.embedded.staged_rows import DatesRow, DocumentRow, FileCaptures
from nwx.engine.sqlite_files import among
from nwx.model import IndexName

_KEY_COLUMNS = (
    "num",
    "precedence",
    "id_start",
    "url_hash",
    "url_group",
    "text_hash",
    "text_group",
)
_DOCUMENT_PLACES = ", ".join("?" * (len(_KEY_COLUMNS) + len(DOCUMENT_FACETS)))


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Result of storing document rows.

    `indexed` are rows whose text is not yet in a tantivy segment; `replaced` are the numbers among
    them whose old text must be deleted first. `recovered` are like `indexed`, but their entries are
    in the segment under the number of the row. `unknown` are numbers in segments without a
    document. `changed` counts documents that replaced another, `new` all others.
    """

    indexed: list[tuple[int, DocumentRow]]
    recovered: list[tuple[int, DocumentRow]]
    replaced: list[int]
    unknown: list[int]
    new: int = 0
    changed: int = 0


class Registry:
    """Changes the tables in an open transaction, and caches their codes.

    `fresh` are the numbers assigned in the transaction, which readers cannot see yet. `take`
    reserves numbers, by default those after the last one.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        take: Callable[[int], int] | None = None,
        fresh: set[int] | None = None,
    ) -> None:
        self._db = db
        self._take = take or self._next
        self._fresh = set() if fresh is None else fresh
        self._collections = dict(db.execute("SELECT name, code FROM collections"))
        self._values: dict[str, dict[str, int]] = {}

    def _next(self, count: int) -> int:
        (last,) = self._db.execute("SELECT coalesce(max(num), 0) FROM ids").fetchone()
        return int(last) + 1

    def nums(self, ids: Iterable[bytes]) -> dict[bytes, int]:
        """Return the numbers of ids, assigning new ones where they have none."""
        ids = list(ids)
        found = find_nums(self._db, ids)
        new = [id for id in dict.fromkeys(ids) if id not in found] if len(found) < len(ids) else []
        if new:
            numbered = dict(zip(new, count(self._take(len(new)))))
            self._number(numbered)
            found.update(numbered)
        return found

    def _number(self, numbered: Mapping[bytes, int]) -> None:
        self._db.executemany("INSERT INTO ids (id, num) VALUES (?, ?)", numbered.items())
        self._fresh.update(numbered.values())

    def documents(self, ids: Iterable[bytes]) -> dict[bytes, int]:
        """Return the numbers of the stored documents, by id."""
        return {id: num for id, (num, _) in find_documents(self._db, ids).items()}

    def add_documents(self, rows: Sequence[DocumentRow]) -> StoredRows:
        """Store documents, each with a different id, unless the stored ones take precedence.

        A document that amends also replaces a stored one of equal precedence.
        """
        ids = [row.id for row in rows]
        known, ranks = find_nums(self._db, ids), find_documents(self._db, ids)
        result = StoredRows([], [], [], [])
        stored = self._numbered([row for row in rows if row.id not in known])
        result.indexed.extend((num, row) for num, row in stored if not row.num)
        changed = 0
        for row in rows:
            if row.id not in known:
                continue
            _, rank = ranks.get(row.id, (0, None))
            if rank is None or rank < row.precedence + row.amends:
                num = self._settled(row, known[row.id], rank is not None, result)
                stored.append((num, row))
                changed += rank is not None
            elif row.num:
                result.unknown.append(row.num)
        self._insert(stored)
        add_rows(self._db, IndexName.DOCUMENTS, len(stored) - changed)
        return replace(result, new=len(stored) - changed, changed=changed)

    def _numbered(self, rows: Sequence[DocumentRow]) -> list[tuple[int, DocumentRow]]:
        """Return documents, whose ids have no number yet, with their numbers."""
        missing = sum(not row.num for row in rows)
        further = count(self._take(missing)) if missing else count()
        numbered = [(row.num or next(further), row) for row in rows]
        self._number({row.id: num for num, row in numbered})
        return numbered

    def _settled(self, row: DocumentRow, known: int, is_document: bool, result: StoredRows) -> int:
        """Return the number under which to store a document whose id already has one.

        A number assigned in this transaction is replaced by the number in the segment. A number
        that readers can see stays.
        """
        num = known
        if known in self._fresh and (row.num or is_document):
            num = row.num or self._take(1)
            self._move(known, num)
            if is_document:
                result.unknown.append(known)
        elif is_document:
            result.replaced.append(known)
        if not row.num:
            result.indexed.append((num, row))
        elif num != row.num:
            result.recovered.append((num, row))
            result.unknown.append(row.num)
        return num

    def _move(self, known: int, num: int) -> None:
        """Change the number of an id that readers cannot see yet."""
        self._db.execute("DELETE FROM documents WHERE num = ?", (known,))
        with seen_changing(self._db, (known, num)):
            for table in ("ids", "dates", "seen"):
                self._db.execute(f"UPDATE {table} SET num = ? WHERE num = ?", (num, known))
        self._fresh.discard(known)
        self._fresh.add(num)

    def _insert(self, rows: Sequence[tuple[int, DocumentRow]]) -> None:
        columns = ", ".join((*_KEY_COLUMNS, *DOCUMENT_FACETS))
        by_url = self._groups("url", ((row.url_hash, num) for num, row in rows))
        by_text = self._groups("text", ((row.text_hash, num) for num, row in rows if row.text_hash))
        values = [
            (
                num,
                row.precedence,
                row.id_start,
                row.url_hash,
                by_url[row.url_hash],
                row.text_hash,
                by_text[row.text_hash] if row.text_hash else num,
                *map(self._code, DOCUMENT_FACETS, row.facets),
            )
            for num, row in rows
        ]
        self._db.executemany(
            f"INSERT OR REPLACE INTO documents ({columns}) VALUES ({_DOCUMENT_PLACES})", values
        )

    def _groups(self, kind: str, hashed: Iterable[tuple[int, int]]) -> dict[int, int]:
        """Return the group numbers of the documents of a URL, or of a signature, by hash.

        `hashed` are pairs of hash and number of the documents to store.
        """
        first: dict[int, int] = {}
        for hash, num in hashed:
            first.setdefault(hash, num)
        command = f"SELECT {kind}_hash, {kind}_group FROM documents WHERE {kind}_hash IN ({{}})"
        return first | dict(among(self._db, command, first))

    def _code(self, field: str, text: str | None) -> int:
        """Return the code of a facet value, a new one if it has none; 0 for None."""
        if text is None:
            return 0
        codes = self._values.get(field)
        if codes is None:
            found = self._db.execute(
                "SELECT value, code FROM facet_values WHERE field = ?", (field,)
            )
            codes = self._values[field] = dict(found)
        if text not in codes:
            codes[text] = len(codes) + 1
            self._db.execute(
                "INSERT INTO facet_values VALUES (?, ?, ?)", (field, codes[text], text)
            )
        return codes[text]

    def forget(self, nums: Collection[int]) -> int:
        """Delete the rows of documents; return how many were deleted."""
        deleted = self._deleted("DELETE FROM documents WHERE num = ?", [(num,) for num in nums])
        add_rows(self._db, IndexName.DOCUMENTS, -deleted)
        return deleted

    def add_dates(self, dates: Sequence[DatesRow]) -> int:
        """Add dates; return how many pairs of timestamp and collection were new."""
        numbers = self.nums(row.id for row in dates)
        keyed = [(numbers[row.id], row) for row in dates]
        names = {collection for row in dates for _, collection in row.seen}
        codes = {name: self._collection(name) for name in names}
        new = self._changed(
            "INSERT OR IGNORE INTO dates VALUES (?, ?)", [(num, row.key) for num, row in keyed]
        )
        add_rows(self._db, IndexName.DATES, new)
        command = "INSERT OR IGNORE INTO seen (num, timestamp, collection) VALUES (?, ?, ?)"
        with seen_growing(self._db):
            return self._changed(
                command,
                [
                    (num, rank_moment, codes[name])
                    for num, row in keyed
                    for rank_moment, name in row.seen
                ],
            )

    def _changed(self, command: str, rows: Sequence[tuple[object, ...]]) -> int:
        changes = self._db.total_changes
        self._db.executemany(command, rows)
        return self._db.total_changes - changes

    def _collection(self, name: str) -> int:
        code = self._collections.get(name)
        if code is None:
            code = self._collections[name] = len(self._collections) + 1
            self._db.execute("INSERT INTO collections VALUES (?, ?)", (code, name))
        return code

    def add_captures(self, captures: Sequence[FileCaptures]) -> int:
        """Add captures; return how many were new."""
        rows = [(file.collection, file.source_file, *row) for file in captures for row in file.rows]
        return self.add_rows(rows)

    def add_rows(self, rows: Sequence[CaptureTuple]) -> int:
        """Add captures by their values; return how many were new."""
        # Imported here: readers import this module, and do not need NumPy.
        from nwx.engine.embedded.captures.capture_writer import CaptureAdder, all_steps
        from nwx.engine.embedded.captures.cdx_order import IncomingCaptures
        from nwx.engine.embedded.captures.merges import merge_few

        if not rows:
            return 0
        adder = CaptureAdder(self._db)
        all_steps(adder.add(IncomingCaptures(CaptureValues(rows).columns)))
        new = adder.finish()
        merge_few(self._db)
        return new

    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        """Delete entries of dates, captures or files."""
        if index is IndexName.DATES:
            deleted = self._delete_dates(ids)
        elif index is IndexName.CAPTURES:
            deleted = self._delete_captures(ids)
        else:
            deleted = self._deleted(
                "DELETE FROM files WHERE collection || '/' || name = ?", [(id,) for id in ids]
            )
        add_rows(self._db, index, -deleted)
        return deleted

    def _delete_captures(self, ids: Collection[str]) -> int:
        from nwx.engine.embedded.captures.capture_writer import remove_captures

        places = [(file, _offset(offset)) for file, _, offset in (id.rpartition("@") for id in ids)]
        codes = source_codes(self._db, {file for file, _ in places})
        known = ((codes[file], offset) for file, offset in places if file in codes and offset >= 0)
        deleted = remove_captures(self._db, known)
        if deleted:
            add_rows(self._db, "deletions", 1)
        return deleted

    def remove_dates(self, dates: Sequence[DatesRow]) -> int:
        """Remove pairs of timestamp and collection; return how many existed.

        An entry without remaining dates is removed.
        """
        numbers = find_nums(self._db, (row.id for row in dates))
        codes = self._collections
        pairs = [
            (numbers[row.id], timestamp, codes[name])
            for row in dates
            for timestamp, name in row.seen
            if row.id in numbers and name in codes
        ]
        with seen_changing(self._db, numbers.values()):
            removed = self._deleted(
                "DELETE FROM seen WHERE num = ? AND timestamp = ? AND collection = ?", pairs
            )
        empty = self._deleted(
            "DELETE FROM dates WHERE num = ?1 AND NOT EXISTS (SELECT 1 FROM seen WHERE num = ?1)",
            [(num,) for num in numbers.values()],
        )
        add_rows(self._db, IndexName.DATES, -empty)
        return removed

    def _delete_dates(self, ids: Collection[str]) -> int:
        nums = [(num,) for num in find_nums(self._db, map(id_bytes, ids)).values()]
        with seen_changing(self._db, [num for (num,) in nums]):
            self._deleted("DELETE FROM seen WHERE num = ?", nums)
        return self._deleted("DELETE FROM dates WHERE num = ?", nums)

    def _deleted(self, command: str, rows: Sequence[tuple[object, ...]]) -> int:
        deleted = self._changed(command, rows)
        if deleted:
            add_rows(self._db, "deletions", 1)
        return deleted


def find_nums(db: sqlite3.Connection, ids: Iterable[bytes]) -> dict[bytes, int]:
    """Return the numbers of the ids that have one."""
    return dict(among(db, "SELECT id, num FROM ids WHERE id IN ({})", ids))


def find_documents(db: sqlite3.Connection, ids: Iterable[bytes]) -> dict[bytes, tuple[int, int]]:
    """Return number and precedence of the ids that are documents."""
    command = "SELECT id, num, precedence FROM ids JOIN documents USING (num) WHERE id IN ({})"
    return {id: (num, rank) for id, num, rank in among(db, command, ids)}


def id_bytes(id: str) -> bytes:
    """Return an id as stored in SQLite; an invalid document id never matches."""
    try:
        return bytes.fromhex(id)
    except ValueError:
        return b""


def _offset(number: str) -> int:
    return int(number) if number.isascii() and number.isdecimal() else -1
