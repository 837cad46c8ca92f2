"""What SQLite holds of documents, dates and captures, as its one writer sees it."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import count, islice
from operator import attrgetter
from typing import Any

from nwx.engine.embedded.database import CAPTURE_COLUMNS, DOCUMENT_FACETS, add_rows
from nwx.engine.entries import IndexEntry, clean_text
from nwx.keys import document_id
from nwx.model import Capture, Dates, IndexName

_CHUNK = 500
_capture_values = attrgetter(*CAPTURE_COLUMNS)
_CAPTURE_PLACES = ", ".join("?" * (len(CAPTURE_COLUMNS) + 1))
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


class Registry:
    """The tables of an open transaction, and the codes that are known of them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._collections = dict(db.execute("SELECT name, code FROM collections"))
        self._sources: dict[tuple[str, str], int] = {}
        self._values: dict[str, dict[str, int]] = {}

    def nums(self, ids: Iterable[bytes]) -> dict[bytes, int]:
        """Return the numbers of ids, new ones where they have none."""
        ids = list(ids)
        found = find_nums(self._db, ids)
        new = [id for id in dict.fromkeys(ids) if id not in found] if len(found) < len(ids) else []
        if new:
            (last,) = self._db.execute("SELECT coalesce(max(num), 0) FROM ids").fetchone()
            found.update(zip(new, count(last + 1)))
            self._db.executemany(
                "INSERT INTO ids (id, num) VALUES (?, ?)", zip(new, count(last + 1))
            )
        return found

    def documents(self, ids: Iterable[bytes]) -> dict[bytes, int]:
        """Return the numbers of those that documents have."""
        return {id: num for id, (num, _) in find_documents(self._db, ids).items()}

    def precedences(self, ids: Iterable[bytes]) -> dict[bytes, int]:
        """Return the precedence of those that documents have."""
        return {id: rank for id, (_, rank) in find_documents(self._db, ids).items()}

    def add_documents(
        self, entries: Sequence[tuple[int, IndexEntry]], replaced: Sequence[int]
    ) -> None:
        """Store what is known of documents beside their text."""
        groups: dict[tuple[str, int], int] = {}
        rows = [self._document_row(num, entry, groups) for num, entry in entries]
        columns = ", ".join((*_KEY_COLUMNS, *DOCUMENT_FACETS))
        self._db.executemany(
            f"INSERT OR REPLACE INTO documents ({columns}) VALUES ({_DOCUMENT_PLACES})", rows
        )
        add_rows(self._db, IndexName.DOCUMENTS, len(rows) - len(replaced))

    def _document_row(
        self, num: int, entry: IndexEntry, groups: dict[tuple[str, int], int]
    ) -> tuple[int, ...]:
        url_hash = _hash(entry.get("url", ""))
        text_hash = _hash(entry["signature"]) if entry.get("signature") else 0
        return (
            num,
            entry["precedence"],
            int(entry["id"][:16], 16) >> 1,
            url_hash,
            self._group("url", url_hash, num, groups),
            text_hash,
            self._group("text", text_hash, num, groups) if text_hash else num,
            *(self._code(name, entry.get(name)) for name in DOCUMENT_FACETS),
        )

    def _group(self, kind: str, hash: int, num: int, groups: dict[tuple[str, int], int]) -> int:
        """Return the number that stands for all documents of a URL, or of a signature.

        `groups` are those of documents that come with this one.
        """
        if (kind, hash) not in groups:
            row = self._db.execute(
                f"SELECT {kind}_group FROM documents WHERE {kind}_hash = ? LIMIT 1", (hash,)
            ).fetchone()
            groups[kind, hash] = num if row is None else row[0]
        return groups[kind, hash]

    def _code(self, field: str, value: Any) -> int:
        """Return the code of a facet's value, 0 of none."""
        if value is None:
            return 0
        codes = self._values.get(field)
        if codes is None:
            found = self._db.execute(
                "SELECT value, code FROM facet_values WHERE field = ?", (field,)
            )
            codes = self._values[field] = dict(found)
        text = str(value)
        if text not in codes:
            codes[text] = len(codes) + 1
            self._db.execute(
                "INSERT INTO facet_values VALUES (?, ?, ?)", (field, codes[text], text)
            )
        return codes[text]

    def forget(self, nums: Collection[int]) -> int:
        """Delete what is known of documents."""
        deleted = self._deleted("DELETE FROM documents WHERE num = ?", [(num,) for num in nums])
        add_rows(self._db, IndexName.DOCUMENTS, -deleted)
        return deleted

    def add_dates(self, dates: Iterable[Dates]) -> int:
        """Add dates; return how many pairs of timestamp and collection were new."""
        dates = [one for one in dates if one.seen]
        ids = [id_bytes(document_id(one.key)) for one in dates]
        numbers = self.nums(ids)
        nums = [numbers[id] for id in ids]
        keys = [(num, clean_text(one.key)) for num, one in zip(nums, dates, strict=True)]
        codes = {name: self._collection(name) for name in {c for one in dates for _, c in one.seen}}
        # Rows that are there already would cost a row number each.
        pairs = dict.fromkeys(
            [
                (num, int(timestamp), codes[collection])
                for num, one in zip(nums, dates, strict=True)
                for timestamp, collection in one.seen
            ]
        )
        new = self._changed("INSERT OR IGNORE INTO dates VALUES (?, ?)", keys)
        add_rows(self._db, IndexName.DATES, new)
        command = "INSERT OR IGNORE INTO seen (num, timestamp, collection) VALUES (?, ?, ?)"
        return self._changed(command, list(pairs))

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

    def add_captures(self, captures: Sequence[Capture]) -> int:
        """Add captures; return how many were new."""
        rows = [(self._source(one), *_capture_values(one)) for one in captures]
        columns = f"source, {', '.join(CAPTURE_COLUMNS)}"
        command = f"INSERT OR IGNORE INTO captures ({columns}) VALUES ({_CAPTURE_PLACES})"
        try:
            new = self._changed(command, rows)
        except UnicodeEncodeError:
            new = self._changed(command, [tuple(map(_clean, row)) for row in rows])
        add_rows(self._db, IndexName.CAPTURES, new)
        return new

    def _source(self, capture: Capture) -> int:
        key = (capture.collection, capture.source_file)
        code = self._sources.get(key)
        if code is None:
            self._db.execute("INSERT OR IGNORE INTO sources (collection, name) VALUES (?, ?)", key)
            (code,) = self._db.execute(
                "SELECT code FROM sources WHERE collection = ? AND name = ?", key
            ).fetchone()
            self._sources[key] = code
        return int(code)

    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        """Delete entries of dates, captures or files."""
        if index is IndexName.DATES:
            deleted = self._delete_dates(ids)
        elif index is IndexName.CAPTURES:
            deleted = self._deleted(
                "DELETE FROM captures WHERE num IN (SELECT captures.num FROM sources"
                " CROSS JOIN captures ON source = sources.code AND source_file_offset = ?2"
                " WHERE sources.collection || '/' || name || '@' || source_file_offset = ?1)",
                [(id, _offset(id)) for id in ids],
            )
        else:
            deleted = self._deleted(
                "DELETE FROM files WHERE collection || '/' || name = ?", [(id,) for id in ids]
            )
        add_rows(self._db, index, -deleted)
        return deleted

    def _delete_dates(self, ids: Collection[str]) -> int:
        nums = [(num,) for num in find_nums(self._db, map(id_bytes, ids)).values()]
        self._deleted("DELETE FROM seen WHERE num = ?", nums)
        return self._deleted("DELETE FROM dates WHERE num = ?", nums)

    def _deleted(self, command: str, rows: Sequence[tuple[object, ...]]) -> int:
        deleted = self._changed(command, rows)
        if deleted:
            add_rows(self._db, "deletions", 1)
        return deleted


def find_nums(db: sqlite3.Connection, ids: Iterable[bytes]) -> dict[bytes, int]:
    """Return the numbers of those ids that have one."""
    return dict(_rows(db, "SELECT id, num FROM ids WHERE id IN ({})", ids))


def find_documents(db: sqlite3.Connection, ids: Iterable[bytes]) -> dict[bytes, tuple[int, int]]:
    """Return number and precedence of those ids that are documents."""
    command = "SELECT id, num, precedence FROM ids JOIN documents USING (num) WHERE id IN ({})"
    return {id: (num, rank) for id, num, rank in _rows(db, command, ids)}


def id_bytes(id: str) -> bytes:
    """Return an id as SQLite holds it; what is no id of a document is never found."""
    try:
        return bytes.fromhex(id)
    except ValueError:
        return b""


def _rows(db: sqlite3.Connection, command: str, values: Iterable[bytes]) -> Iterator[Any]:
    values = iter(values)
    while chunk := list(islice(values, _CHUNK)):
        yield from db.execute(command.format(",".join("?" * len(chunk))), chunk)


def _hash(text: str) -> int:
    """Return 63 bits that stand for a text, never 0."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1 or 1


def _offset(id: str) -> int:
    number = id.rpartition("@")[2]
    return int(number) if number.isdecimal() else -1


def _clean(value: object) -> object:
    return clean_text(value) if isinstance(value, str) else value
