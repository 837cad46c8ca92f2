"""Scores in the SQLite file of the index crawls: of documents, and of the best link to each URL."""

import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from nwx.engine.entries import IndexEntry
from nwx.engine.indices.crawl_index import (
    DocumentScore,
    LinkScore,
    ScoredLink,
    best_of,
    host_key,
    link_entry,
    link_id,
    link_key,
)
from nwx.engine.sqlite_files import among
from nwx.values.urls import url_parts

_BLACKLISTED = -1.0
_FAST_COMPRESSION = 1
_LINK = "url, host, relevance, role, parts, reason, via"
_SCORE = "document_id, url, timestamp, score, content"
_PUT_LINK = "INSERT OR IGNORE INTO links_{code} VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_TABLES = """
-- `content` is packed: site type, links and entities.
CREATE TABLE scores_{code} (
    document_id TEXT NOT NULL UNIQUE, url TEXT NOT NULL, timestamp TEXT NOT NULL,
    score REAL NOT NULL, content BLOB NOT NULL);
-- The best link to each URL; keys begin with the host's key; blacklisted URLs have relevance -1.
CREATE TABLE links_{code} (
    key BLOB NOT NULL UNIQUE, url TEXT NOT NULL, host TEXT NOT NULL, relevance REAL NOT NULL,
    role TEXT NOT NULL, parts TEXT NOT NULL, reason TEXT NOT NULL, via TEXT NOT NULL);
CREATE INDEX links_by_relevance_{code} ON links_{code} (relevance DESC, key);
"""
_BETTER_LINK = """
UPDATE links_{code} SET relevance = ?4, role = ?5, parts = ?6, reason = ?7, via = ?8
WHERE key = ?1 AND relevance >= 0 AND (?4 < 0 OR ?4 > relevance)"""
_FEW = 20_000
"""Fewer links of a host are sorted; for larger hosts, all links are read in order."""


class Analysis(NamedTuple):
    """A version of a crawl specification that has scores."""

    code: int
    crawl: str
    version: str


def put_scores(db: sqlite3.Connection, scores: Iterable[DocumentScore]) -> None:
    """Store the scores of documents that have no score of their version yet."""
    by_analysis: dict[tuple[str, str], dict[str, DocumentScore]] = defaultdict(dict)
    for score in scores:
        by_analysis[score.crawl, score.version].setdefault(score.document_id, score)
    for (crawl, version), found in by_analysis.items():
        known = analysed(db, crawl, version, found)
        new = [score for id, score in found.items() if id not in known]
        code = _touched(db, crawl, version)
        command = f"INSERT INTO scores_{code} VALUES (?, ?, ?, ?, ?)"
        db.executemany(command, map(_score_row, new))
        urls = _put_links(db, code, best_of(new).values())
        db.execute(
            "UPDATE analyses SET documents = documents + ?, urls = urls + ? WHERE code = ?",
            (len(new), urls, code),
        )


def make_tables_of(db: sqlite3.Connection, code: int) -> None:
    """Create the tables of an analysis; dropping them later is fast, whatever their size."""
    for statement in _TABLES.format(code=code).split(";\n"):
        db.execute(statement)


def drop_tables_of(db: sqlite3.Connection, code: int) -> None:
    """Drop the tables of an analysis."""
    db.execute(f"DROP TABLE scores_{code}")
    db.execute(f"DROP TABLE links_{code}")


def _touched(db: sqlite3.Connection, crawl: str, version: str) -> int:
    """Return the code of an analysis, created if missing, and mark it as last written."""
    last = "(SELECT coalesce(max(last), 0) + 1 FROM analyses)"
    known = analysis_of(db, crawl, version) if version else None
    if known is not None:
        db.execute(f"UPDATE analyses SET last = {last} WHERE code = ?", (known.code,))
        return known.code
    (code,) = db.execute(
        "INSERT INTO analyses (crawl, version, last, documents, urls)"
        f" VALUES (?, ?, {last}, 0, 0) RETURNING code",
        (crawl, version),
    ).fetchone()
    make_tables_of(db, code)
    return int(code)


def _put_links(db: sqlite3.Connection, code: int, links: Iterable[ScoredLink]) -> int:
    """Store the better of new and stored links; return the number of new URLs."""
    rows = sorted(map(_link_row, links))  # so that neighbours in the index are written together
    new = db.executemany(_PUT_LINK.format(code=code), rows).rowcount if rows else 0
    if new < len(rows):
        db.executemany(_BETTER_LINK.format(code=code), rows)
    return new


def _link_row(link: ScoredLink) -> tuple[bytes, str, str, float, str, str, str, str]:
    host = url_parts(link.url).host
    return (
        link_key(link.url, host),
        link.url,
        host,
        _BLACKLISTED if link.relevance is None else link.relevance,
        link.role,
        msgspec.json.encode(link.parts).decode(),
        link.reason,
        link.via,
    )


_STORED = LinkScore._fields.index("words")
"""The number of fields of a link that are stored."""


def _score_row(score: DocumentScore) -> tuple[object, ...]:
    links = [link[:_STORED] for link in score.links]
    content = msgspec.json.encode((score.site_type, links, score.entities))
    packed = zlib.compress(content, _FAST_COMPRESSION)
    return score.document_id, score.url, score.timestamp, score.score, packed


def analysed(db: sqlite3.Connection, crawl: str, version: str, ids: Collection[str]) -> set[str]:
    """Return which of these documents have scores of a version, by id."""
    analysis = analysis_of(db, crawl, version) if version else None
    if analysis is None:
        return set()
    command = f"SELECT document_id FROM scores_{analysis.code} WHERE document_id IN ({{}})"
    return {id for (id,) in among(db, command, ids)}


def analyses(db: sqlite3.Connection) -> list[Analysis]:
    """Return all analyses, in the order of their entries' ids."""
    found = [Analysis(*row) for row in db.execute("SELECT code, crawl, version FROM analyses")]
    return sorted(found, key=lambda one: link_id(one.crawl, one.version))


def analysis_of(db: sqlite3.Connection, crawl: str, version: str) -> Analysis | None:
    """Return the analysis of a version, "" for the last one written; None without scores."""
    row = db.execute(
        "SELECT code, crawl, version FROM analyses WHERE crawl = ? AND ? IN ('', version)"
        " ORDER BY last DESC LIMIT 1",
        (crawl, version),
    ).fetchone()
    return None if row is None else Analysis(*row)


def document_scores(db: sqlite3.Connection, analysis: Analysis) -> Iterator[DocumentScore]:
    """Yield the scores of all documents, ordered by id."""
    command = f"SELECT {_SCORE} FROM scores_{analysis.code} ORDER BY document_id"
    return (_score(analysis, row) for row in db.execute(command))


def _score(analysis: Analysis, row: Sequence[Any]) -> DocumentScore:
    document_id, url, timestamp, score, packed = row
    site_type, links, entities = msgspec.json.decode(zlib.decompress(packed))
    return DocumentScore(
        analysis.crawl,
        analysis.version,
        document_id,
        url,
        timestamp,
        score,
        site_type,
        tuple(LinkScore(*link) for link in links),
        tuple((name, count) for name, count in entities),
    )


def best_links(
    db: sqlite3.Connection, analysis: Analysis, limit: int, offset: int, host: str
) -> list[ScoredLink]:
    """Return linked URLs of a version, the most relevant first."""
    table, condition, values = f"links_{analysis.code}", "", []
    if host:
        first = host_key(host)
        within = (first, first + b"\xff" * len(link_key("", "")))
        counted = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE key BETWEEN ? AND ? LIMIT ?)"
        (number,) = db.execute(counted, (*within, _FEW)).fetchone()
        # The plus sign keeps SQLite from using the index of keys, or that of relevance.
        condition = "WHERE +key BETWEEN ? AND ?" if number == _FEW else "WHERE key BETWEEN ? AND ?"
        condition, values = f"{condition} AND host = ?", [*within, host]
        order = "relevance" if number == _FEW else "+relevance"
    else:
        order = "relevance"
    command = f"SELECT {_LINK} FROM {table} {condition} ORDER BY {order} DESC, key LIMIT ? OFFSET ?"
    return [_scored_link(row) for row in db.execute(command, (*values, limit, offset))]


def relevances(
    db: sqlite3.Connection, crawl: str, version: str, urls: Iterable[str]
) -> dict[str, float | None]:
    """Return the highest relevance of each URL that has one, None if it is blacklisted."""
    analysis = analysis_of(db, crawl, version) if version else None
    if analysis is None:
        return {}
    command = f"SELECT relevance FROM links_{analysis.code} WHERE key = ?"
    found: dict[str, float | None] = {}
    for url in urls:
        row = db.execute(command, (link_key(url, url_parts(url).host),)).fetchone()
        if row is not None:
            found[url] = None if row[0] < 0 else row[0]
    return found


def _scored_link(row: Sequence[Any]) -> ScoredLink:
    url, _, relevance, role, parts, reason, via = row
    known = None if relevance < 0 else relevance
    return ScoredLink(url, known, role, msgspec.json.decode(parts), reason, via)


def link_entries(db: sqlite3.Connection, analysis: Analysis) -> Iterator[IndexEntry]:
    """Yield the entries of linked URLs, ordered by key."""
    for row in db.execute(f"SELECT {_LINK} FROM links_{analysis.code} ORDER BY key"):
        yield link_entry(analysis.crawl, analysis.version, _scored_link(row), row[1])


def score_faults(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield the documents and URLs whose rows are damaged or inconsistent, with a message."""
    command = "SELECT name FROM sqlite_master WHERE name GLOB 'scores_[0-9]*' AND type = 'table'"
    known = {f"scores_{code}" for code, *_ in analyses(db)}
    for (name,) in db.execute(command):
        if name not in known:
            yield name, "the crawl version of its scores is missing"
    for code, *_ in analyses(db):
        for id, content in db.execute(f"SELECT document_id, content FROM scores_{code}"):
            try:
                msgspec.json.decode(zlib.decompress(content))
            except (TypeError, ValueError, zlib.error) as error:
                yield id, f"its score is damaged ({error})"
        for key, url, host in db.execute(f"SELECT key, url, host FROM links_{code}"):
            if url_parts(url).host != host or link_key(url, host) != key:
                yield url, "the row of the link belongs to another URL"


def remove_analyses(db: sqlite3.Connection, crawl: str) -> int:
    """Remove all scores of a crawl; return the number of versions that had some."""
    codes = [code for (code,) in db.execute("SELECT code FROM analyses WHERE crawl = ?", (crawl,))]
    for code in codes:
        drop_tables_of(db, code)
    db.execute("DELETE FROM analyses WHERE crawl = ?", (crawl,))
    return len(codes)


def remove_documents(db: sqlite3.Connection, ids: Collection[str], urls: Collection[str]) -> int:
    """Remove the scores of documents, and links to these URLs or best mentioned on them.

    Returns the number of entries removed.
    """
    keys = [(link_key(url, url_parts(url).host), url) for url in urls]
    removed = 0
    for code, _, _ in analyses(db):
        documents = _deleted(
            db, f"DELETE FROM scores_{code} WHERE document_id = ?", [(id,) for id in ids]
        )
        links = _deleted(db, f"DELETE FROM links_{code} WHERE key = ?", [(key,) for key, _ in keys])
        links += _links_found_on(db, code, set(urls))
        db.execute(
            "UPDATE analyses SET documents = documents - ?, urls = urls - ? WHERE code = ?",
            (documents, links, code),
        )
        removed += documents + links
    return removed


def _links_found_on(db: sqlite3.Connection, code: int, urls: Collection[str]) -> int:
    """Remove the links whose best mention is on one of these URLs, checking all links."""
    rows = db.execute(f"SELECT key, via FROM links_{code}")
    keys = [(key,) for key, via in rows if via in urls]
    return _deleted(db, f"DELETE FROM links_{code} WHERE key = ?", keys)


def _deleted(db: sqlite3.Connection, command: str, values: Sequence[tuple[object, ...]]) -> int:
    return db.executemany(command, values).rowcount if values else 0
