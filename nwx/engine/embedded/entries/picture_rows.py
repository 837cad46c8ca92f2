"""Pictures in the SQLite file of the index pictures: storing, searching, checking."""

import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from functools import partial

from nwx.engine.embedded.entries.store import pack_entry, unpack_entry
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.picture_index import (
    COLOURS,
    SIZE_LIMITS,
    WORD_FIELDS,
    Appearance,
    Picture,
    PictureQuestion,
    appearance_entry,
    appearance_from_entry,
    is_hidden,
    picture_entry,
    words_of_appearance,
)
from nwx.engine.sqlite_files import among
from nwx.query.question import HiddenDocuments
from nwx.query.tree import Bool, Node, Phrase, Wildcard
from nwx.query.words import FieldCondition, PictureQuery

EVERY = "picture"
"""The word that all entries have in the column `every`."""

WORD_WEIGHTS = (*WORD_FIELDS.values(), 0.0)
_IN_BOX = "SELECT num FROM positions WHERE latitude BETWEEN ? AND ? AND ({})"
_ALL = f"every : {EVERY}"
_COLUMNS = f"{{{' '.join(WORD_FIELDS)}}}"


def match_expression(node: Node) -> str:
    """Return the words of a query as an FTS5 MATCH expression."""
    match node:
        case Phrase():
            return f'({_COLUMNS} : "{node.text}")'
        case Wildcard():
            return f'({_COLUMNS} : "{node.pattern.removesuffix("*")}" *)'
        case Bool():
            return _bool(node)
        case _:
            return f"({_ALL})"


def _bool(node: Bool) -> str:
    wanted = [match_expression(part) for part in node.must]
    if not wanted and node.should:
        wanted = [f"({' OR '.join(map(match_expression, node.should))})"]
    found = " AND ".join(wanted) or f"({_ALL})"
    if not node.must_not:
        return f"({found})"
    without = " OR ".join(map(match_expression, node.must_not))
    return f"(({found}) NOT ({without}))"


def measure_condition(
    question: PictureQuestion, fields: tuple[FieldCondition, ...]
) -> tuple[str, list[object]]:
    """Return the SQL condition of a question on the table `measures`, and its values."""
    parts = ["1"]
    values: list[object] = []
    if question.size is not None:
        parts.append("measures.long_side >= ? AND measures.long_side < ?")
        values += SIZE_LIMITS[question.size]
    for colour in question.colours:
        parts.append("measures.colours & ?")
        values.append(colour_bits((colour,)))
    for expression, wanted in (
        ("measures.host", question.hosts),
        ("measures.domain", question.domains),
        ("measures.collection", question.collections),
        ("substr(measures.timestamp, 1, 4)", question.years),
    ):
        if wanted:
            parts.append(f"{expression} IN ({', '.join('?' * len(wanted))})")
            values += wanted
    if question.box is not None:
        spans = question.box.spans
        inside = " OR ".join(["longitude BETWEEN ? AND ?"] * len(spans))
        parts.append(f"measures.num IN ({_IN_BOX.format(inside)})")
        values += [question.box.south, question.box.north, *(end for one in spans for end in one)]
    for field in fields:
        parts.append(f"measures.{field.field} {'<>' if field.is_not else '='} ?")
        values.append(field.value)
    if question.hidden:
        parts.append("NOT is_hidden(measures.id, measures.timestamp, measures.collection)")
    return " AND ".join(parts), values


def colour_bits(colours: tuple[str, ...]) -> int:
    """Return a bit mask of colours; unknown ones are ignored."""
    return sum(1 << COLOURS.index(colour) for colour in colours if colour in COLOURS)


_PUT = """
INSERT INTO entries (id, picture, page, page_timestamp, page_collection, urlkey, content)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET picture = excluded.picture, content = excluded.content
RETURNING num"""
_MEASURES = f"INSERT OR REPLACE INTO measures VALUES (?{', ?' * 10})"
_WORD_COLUMNS = ", ".join((*WORD_FIELDS, "every"))
_WORDS = (
    f"INSERT INTO words (rowid, {_WORD_COLUMNS}) VALUES (?{', ?' * len(WORD_FIELDS)}, '{EVERY}')"
)
_RANK = f"bm25(words, {', '.join(map(str, WORD_WEIGHTS))})"
_FOUND = f"""
WITH found AS MATERIALIZED (
    SELECT rowid AS num, {_RANK} AS rank FROM words WHERE words MATCH ?)
SELECT measures.num, entries.num, min(found.rank) AS best
FROM found JOIN entries ON entries.num = found.num JOIN measures ON measures.num = entries.picture
WHERE {{}} GROUP BY measures.num ORDER BY best, measures.area DESC, measures.id LIMIT ? OFFSET ?"""
_COUNTED = """
SELECT count(DISTINCT entries.picture)
FROM words JOIN entries ON entries.num = words.rowid
JOIN measures ON measures.num = entries.picture WHERE words MATCH ? AND {}"""
_HIDDEN_PAGE = "is_hidden(entries.page, entries.page_timestamp, entries.page_collection)"
_PAGE_SHOWN = f" AND (entries.page = '' OR NOT {_HIDDEN_PAGE})"


def hide(db: sqlite3.Connection, hidden: HiddenDocuments) -> None:
    """Make the SQL function `is_hidden` report hidden ids, timestamps and collections."""
    db.create_function("is_hidden", 3, partial(is_hidden, hidden), deterministic=True)


POSITIONS_TABLE = """
-- Where pictures were taken, in degrees; older files get the table with their next change.
CREATE TABLE IF NOT EXISTS positions (
    num INTEGER PRIMARY KEY, latitude REAL NOT NULL, longitude REAL NOT NULL);
"""


def has_positions(db: sqlite3.Connection) -> bool:
    """Return whether the file has the table of positions."""
    command = "SELECT 1 FROM sqlite_master WHERE name = 'positions'"
    return db.execute(command).fetchone() is not None


def put_pictures(db: sqlite3.Connection, pictures: Iterable[Picture]) -> None:
    """Store pictures, replacing those with the same ids."""
    db.execute(POSITIONS_TABLE)
    for picture in pictures:
        entry = picture_entry(picture)
        values = (picture.id, 0, "", "", "", picture.urlkey, pack_entry(entry))
        (num,) = db.execute(_PUT, values).fetchone()
        db.execute("UPDATE entries SET picture = num WHERE num = ?", (num,))
        db.execute(_MEASURES, _measures(num, entry))
        db.execute("DELETE FROM positions WHERE num = ?", (num,))
        if (place := _position(entry)) is not None:
            db.execute("INSERT INTO positions VALUES (?, ?, ?)", (num, *place))
        _put_words(db, num, {"name_words": entry.get("name_words", "")})


_TEXTS = ("id", "host", "domain", "content_type", "timestamp", "collection")


def _measures(num: int, entry: IndexEntry) -> tuple[object, ...]:
    texts = (entry.get(name, "") for name in _TEXTS)
    colours = colour_bits(tuple(entry.get("colours", ())))
    return (num, *texts, entry["long_side"], entry["area"], colours, entry.get("hash"))


def _position(entry: IndexEntry) -> tuple[float, float] | None:
    return (entry["latitude"], entry["longitude"]) if "latitude" in entry else None


def put_appearances(db: sqlite3.Connection, appearances: Iterable[Appearance]) -> None:
    """Store appearances, replacing those with the same pages and urlkeys."""
    for appearance in appearances:
        entry = appearance_entry(appearance)
        picture = db.execute(
            "SELECT num, content FROM entries WHERE id = ? AND page = ''", (appearance.picture,)
        ).fetchone()
        number = picture[0] if picture else 0
        page = (appearance.page, appearance.page_timestamp, appearance.page_collection)
        values = (entry["id"], number, *page, appearance.urlkey, pack_entry(entry))
        (num,) = db.execute(_PUT, values).fetchone()
        _put_words(db, num, _appearance_words(appearance, picture and picture[1]))


def _appearance_words(appearance: Appearance, picture: bytes | None) -> dict[str, str]:
    """Return the words of an appearance, {} if the archive does not have its picture."""
    if picture is None:
        return {}
    name = unpack_entry(picture).get("name_words", "")
    return {**words_of_appearance(appearance), "name_words": name}


def _put_words(db: sqlite3.Connection, num: int, words: dict[str, str]) -> None:
    db.execute("DELETE FROM words WHERE rowid = ?", (num,))
    if words:
        db.execute(_WORDS, (num, *(words.get(name, "") for name in WORD_FIELDS)))


_STORED = f"""
SELECT one.num, one.id, one.picture, one.page, one.page_timestamp, one.page_collection, one.urlkey,
one.content, shown.id, shown.content, words.rowid, {", ".join(WORD_FIELDS)}
FROM entries AS one LEFT JOIN words ON words.rowid = one.num
LEFT JOIN entries AS shown ON shown.num = one.picture AND shown.page = ''"""
_ORPHANS = "SELECT count(*) FROM {0} WHERE {1} NOT IN (SELECT num FROM entries{2})"


def picture_faults(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield the ids of entries whose rows differ from their contents, each with a message."""
    stored = db.execute("SELECT * FROM positions") if has_positions(db) else ()
    places = {num: (north, east) for num, north, east in stored}
    for num, id, picture, page, *row in db.execute(_STORED):
        timestamp, collection, urlkey, content, shown, shown_content, has_words, *words = row
        try:
            entry = unpack_entry(content)
            one = appearance_from_entry(entry)
            expected = (
                _appearance_words(one, shown_content)
                if page
                else {"name_words": entry.get("name_words", "")}
            )
            place = (one.page, one.page_timestamp, one.page_collection, one.urlkey)
            is_wrong = entry["id"] != id or place != (page, timestamp, collection, urlkey)
        except (TypeError, ValueError, KeyError, zlib.error) as error:
            yield id, f"its content is damaged ({error})"
            continue
        if is_wrong or (picture and shown != one.picture) or (not page and picture != num):
            yield id, "its row differs from its content"
        texts = [expected.get(name, "") for name in WORD_FIELDS]
        if (has_words is not None) != bool(expected) or (expected and words != texts):
            yield id, "its words differ from its content"
        if not page:
            measures = db.execute("SELECT * FROM measures WHERE num = ?", (num,)).fetchone()
            if measures != _measures(num, entry):
                yield id, "its measures differ from its content"
            if places.get(num) != _position(entry):
                yield id, "its position differs from its content"
    for table, column, which in (("measures", "num", " WHERE page = ''"), ("words", "rowid", "")):
        (more,) = db.execute(_ORPHANS.format(table, column, which)).fetchone()
        if more:
            yield "*", f"{more} rows of {table} belong to no entry"


def count_found(db: sqlite3.Connection, question: PictureQuestion, query: PictureQuery) -> int:
    """Return the number of matching pictures."""
    if question.box is not None and not has_positions(db):
        return 0
    condition, values = measure_condition(question, query.conditions)
    if query.words is None:
        row = db.execute(f"SELECT count(*) FROM measures WHERE {condition}", values).fetchone()
    else:
        condition += _PAGE_SHOWN if question.hidden else ""
        expression = match_expression(query.words)
        row = db.execute(_COUNTED.format(condition), (expression, *values)).fetchone()
    return int(row[0])


def found_numbers(
    db: sqlite3.Connection, question: PictureQuestion, query: PictureQuery
) -> list[tuple[int, int]]:
    """Return the numbers of a page of matching pictures, each with that of the matching entry."""
    if question.box is not None and not has_positions(db):
        return []
    condition, values = measure_condition(question, query.conditions)
    page = (question.limit, question.offset)
    if query.words is None:
        command = f"SELECT num FROM measures WHERE {condition} ORDER BY area DESC, id"
        rows = db.execute(f"{command} LIMIT ? OFFSET ?", (*values, *page))
        return [(num, num) for (num,) in rows]
    condition += _PAGE_SHOWN if question.hidden else ""
    expression = match_expression(query.words)
    rows = db.execute(_FOUND.format(condition), (expression, *values, *page))
    return [(picture, entry) for picture, entry, _ in rows]


def entries_by_number(db: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, IndexEntry]:
    """Return entries by number."""
    command = "SELECT num, content FROM entries WHERE num IN ({})"
    return {num: unpack_entry(content) for num, content in among(db, command, numbers)}


def appearance_entries_of(
    db: sqlite3.Connection, id: str, hidden: HiddenDocuments
) -> list[IndexEntry]:
    """Return the entries of the appearances of a picture, on pages that are not hidden."""
    command = (
        "SELECT content FROM entries WHERE page <> ''"
        " AND picture = (SELECT num FROM entries WHERE id = ? AND page = '')"
    )
    command += f" AND NOT {_HIDDEN_PAGE}" if hidden else ""
    return [unpack_entry(content) for (content,) in db.execute(command, (id,))]


def remove_entries(db: sqlite3.Connection, ids: Iterable[str]) -> int:
    """Remove pictures, and appearances on pages with these document ids; return their number.

    Appearances of a removed picture stay, without a picture.
    """
    removed = 0
    for id in ids:
        gone = db.execute("SELECT num FROM entries WHERE id = ? AND page = ''", (id,)).fetchall()
        for (num,) in gone:
            _forget_picture(db, num)
        gone += db.execute(
            "SELECT num FROM entries WHERE page = ? AND page <> ''", (id,)
        ).fetchall()
        tables = [("words", "rowid"), ("measures", "num"), ("entries", "num")]
        for table, column in (*tables, *([("positions", "num")] if has_positions(db) else [])):
            db.executemany(f"DELETE FROM {table} WHERE {column} = ?", gone)
        removed += len(gone)
    return removed


def _forget_picture(db: sqlite3.Connection, num: int) -> None:
    command = "SELECT num FROM entries WHERE picture = ? AND page <> ''"
    for (appearance,) in db.execute(command, (num,)).fetchall():
        db.execute("DELETE FROM words WHERE rowid = ?", (appearance,))
        content = db.execute("SELECT content FROM entries WHERE num = ?", (appearance,)).fetchone()
        entry = unpack_entry(content[0])
        entry.pop("picture", None)
        values = (pack_entry(entry), appearance)
        db.execute("UPDATE entries SET picture = 0, content = ? WHERE num = ?", values)
