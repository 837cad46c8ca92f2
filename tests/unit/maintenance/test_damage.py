"""`nwx check` finds and names damage of every kind in every file and table of a folder."""

import base64
import hashlib
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from nwx.access.account_store import AccountFile, AccountStore
from nwx.bulk.whole_files import sealed_json, unsealed_json
from nwx.cli.main import cli
from nwx.engine.access.rules import AccessRule, Action, Role, Scope
from nwx.engine.base import open_engine
from nwx.errors import NwxError
from nwx.model import IndexName
from nwx.settings import Settings
from tests.conformance.archive import dates_of
from tests.conformance.planted import HOME, SHOWN, Archive, fill, resource
from tests.unit.maintenance.damages import (
    Damaging,
    appended,
    flipped,
    foreign,
    in_database,
    missing,
    rewritten,
    sql,
    truncated,
    without_trigger,
)
from tests.warc_records import http_response, warc_bytes, write_records

pytestmark = pytest.mark.xdist_group("damage")

BODY = SHOWN[0].split(b"\r\n\r\n", 2)[2].removesuffix(b"\r\n\r\n")
REVISIT = warc_bytes(
    "revisit",
    http_response(b""),
    id="again",
    url=HOME,
    date="2014-01-01T00:00:00Z",
    WARC_Payload_Digest=f"sha1:{base64.b32encode(hashlib.sha1(BODY).digest()).decode()}",
    WARC_Refers_To_Target_URI=HOME,
    WARC_Refers_To_Date="2010-01-01T00:00:00Z",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an archive that has entries in every index, and its source."""
    folder = tmp_path_factory.mktemp("whole")
    files = [
        write_records(folder / "quarry.warc.gz", [*SHOWN, REVISIT]),
        write_records(folder / "more.warc.gz", [resource(f"{HOME}m", "2011-01-01T00:00:00Z",
                                                         b"more", "text/plain")]),
    ]  # fmt: skip
    with open_engine(Settings(engine=str(folder / "archive"))) as engine:
        archive = Archive(engine, folder, folder / "triples")
        fill(archive, files)
        held = next(engine.captures("example,quarry)/"))
        added = dates_of(held._replace(timestamp="20200101000000"))
        engine.append_dates(added)
        engine.append_dates(added, into="further")
        rule = AccessRule("", Action.EXCLUDE, Scope(url="a.example", prefix="example,a)/"))
        engine.access_index().put([rule], "test")
        engine.refresh()
    return folder


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Iterator[Archive]:
    folder = tmp_path / "copy"
    shutil.copytree(whole / "archive", folder / "archive")
    for file in whole.glob("*.warc.gz"):
        shutil.copy(file, folder)
    with closing(sqlite3.connect(folder / "archive" / "archive.sqlite")) as db:
        db.execute("PRAGMA synchronous = OFF")
        rows = db.execute("SELECT collection, name, entry FROM files").fetchall()
        for collection, name, entry in rows:
            moved = unsealed_json(entry) | {"path": str(folder / name)}
            command = "UPDATE files SET entry = ? WHERE collection = ? AND name = ?"
            db.execute(command, (sealed_json(moved), collection, name))
        db.commit()
    with open_engine(Settings(engine=str(folder / "archive")), read_only=True) as engine:
        yield Archive(engine, folder, folder / "triples")


CHANGED = (
    "UPDATE {1} SET {0} = CAST(substr({0}, 1, length({0}) / 2) || x'00'"
    " || substr({0}, length({0}) / 2 + 2) AS BLOB)"
)
"""Changes a byte in the middle of a column of a table."""

ROWS: dict[str, tuple[Damaging, str]] = {
    "a block deleted": (
        sql("DELETE FROM blocks WHERE id = (SELECT min(id) FROM blocks)"),
        "captures run 1: has 0 captures instead of",
    ),
    "a block changed": (sql(CHANGED.format("lines", "blocks")), "captures block 0 of run"),
    "the rest of a block changed": (sql(CHANGED.format("rest", "blocks")), "captures block 0 of"),
    "the rest of a block exchanged": (sql("UPDATE blocks SET rest = lines"), "captures block 0 "),
    "a block cut": (
        sql("UPDATE blocks SET lines = CAST(substr(lines, 1, 30) AS BLOB)"),
        "captures block 0 ",
    ),
    "a block moved": (
        sql("UPDATE blocks SET urlkey = 'a'"),
        "captures block 0 .*first capture differs",
    ),
    "a count of a block": (sql("UPDATE blocks SET captures = captures - 1"), "captures block 0 "),
    "look-ups deleted": (
        sql("DELETE FROM lookups WHERE kind = 0"),
        "captures digests of run .*not those",
    ),
    "places deleted": (sql("DELETE FROM lookups WHERE kind = 1"), "captures places of run"),
    "a look-up changed": (sql(CHANGED.format("data", "lookups")), "captures digests of run"),
    "a look-up moved": (sql("UPDATE lookups SET key = key + 1"), "captures digests .*in order"),
    "a month of captures": (sql("UPDATE months SET captures = 99"), "captures run .*`months`"),
    "a run deleted": (sql("DELETE FROM runs"), "captures run .*of no run"),
    "a file deleted": (sql("DELETE FROM files WHERE name LIKE 'm%'"), "files .*counter"),
    "a ledger entry that is no JSON": (
        sql("UPDATE files SET entry = '[1' WHERE name LIKE 'm%'"),
        "files stones/more.warc.gz: its ledger entry is damaged",
    ),
    "a counter of a ledger entry": (
        sql("UPDATE files SET entry = replace(entry, '\"errors\": 0', '\"errors\": 9')"),
        "its ledger entry is damaged",
    ),
    "a counter": (sql("UPDATE counters SET value = 7 WHERE name = 'files'"), "files .*counter"),
    "a name of a file": (sql("UPDATE sources SET name = 'x' WHERE code = 1"), "stones/x|captures"),
    "a file of captures": (
        sql("DELETE FROM sources WHERE code = 1"),
        "captures block 0 .*a missing file",
    ),
    "a key": (sql("UPDATE dates SET key = 'x' WHERE num = 1"), "dates x: .*id is not that"),
    "a date deleted": (sql("DELETE FROM seen WHERE timestamp = 20200101000000"), "dates .*sum"),
    "a date changed": (
        sql("UPDATE seen SET timestamp = timestamp + 1 WHERE timestamp = 20200101000000"),
        "dates .*sum",
    ),
    "dates deleted": (sql("DELETE FROM dates WHERE num = 1"), "dates .*has no key"),
    "a collection": (sql("UPDATE collections SET name = 'x'"), "its capture is missing in dates"),
    "an id": (sql("UPDATE ids SET id = x'00' WHERE num = 1"), "registry differs|id is not"),
    "an id deleted": (sql("DELETE FROM ids WHERE num = 1"), "has no id"),
    "a document deleted": (sql("DELETE FROM documents WHERE num = 1"), "documents .*counter"),
    "a host of a document": (
        sql("UPDATE facet_values SET value = 'x' WHERE field = 'host'"),
        "documents .*its row differs",
    ),
    "a hash of a document": (
        sql("UPDATE documents SET text_hash = text_hash + 1 WHERE num = 1"),
        "documents .*its row differs",
    ),
    "a group of documents": (
        sql("UPDATE documents SET url_group = 99 WHERE num = 1"),
        "documents .*the groups of documents",
    ),
    "an attached index": (sql("UPDATE attached SET address = 'dates/x'"), "dates .*cannot be read"),
    "a date of an attached index": (
        sql("UPDATE seen SET timestamp = timestamp + 1", "dates/further/dates-*.sqlite"),
        "dates further: .*sum",
    ),
    "a picture deleted": (sql("DELETE FROM entries WHERE page = ''", "pictures.db"), "pictures "),
    "an appearance deleted": (
        sql("DELETE FROM entries WHERE page <> ''", "pictures.db"),
        "pictures ",
    ),
    "a picture's measures": (sql("UPDATE measures SET area = 3", "pictures.db"), "pictures .*meas"),
    "a picture's measures deleted": (sql("DELETE FROM measures", "pictures.db"), "pictures .*meas"),
    "a picture's words": (
        sql("UPDATE words SET alt_words = 'x' WHERE alt_words <> ''", "pictures.db"),
        "pictures .*words",
    ),
    "a picture's page": (
        sql("UPDATE entries SET page_timestamp = '1' WHERE page <> ''", "pictures.db"),
        "pictures .*its row differs",
    ),
    "a picture and all about it": (
        sql("DELETE FROM {}", "pictures.db", ("entries", "measures", "words")),
        "pictures .* were stored",
    ),
    "a score deleted": (sql("DELETE FROM scores", "quality.db"), "quality "),
    "a score changed": (sql("UPDATE scores SET score = 0.9", "quality.db"), "quality .*differs"),
    "a kind of fault": (sql("DELETE FROM kinds", "quality.db"), "quality .*kinds"),
    "a content of a score": (sql("UPDATE contents SET content = x'00'", "quality.db"), "quality "),
    "all of a score": (
        sql("DELETE FROM {}", "quality.db", ("scores", "contents", "kinds")),
        "quality .*were stored",
    ),
    "a rule deleted": (sql("DELETE FROM entries WHERE kind = 'rule'", "access.db"), "access "),
    "a change of a rule": (
        without_trigger("DELETE FROM entries WHERE kind = 'change'"),
        "access ",
    ),
    "a specification": (sql("DELETE FROM specifications", "crawls.db"), "crawls .*specifications"),
    "a text of a specification": (
        sql("UPDATE specifications SET text = 'x = 1'", "crawls.db"),
        "crawls .*specifications",
    ),
    "an analysis": (sql("DELETE FROM analyses", "crawls.db"), "crawls scores_1"),
    "a score of a document": (sql("DELETE FROM scores_1", "crawls.db"), "crawls "),
    "a content of a score of a document": (
        sql("UPDATE scores_1 SET content = x'00'", "crawls.db"),
        "crawls .*damaged",
    ),
    "a link of a crawl": (sql("UPDATE links_1 SET url = 'http://x/'", "crawls.db"), "crawls "),
    "a URL of the queue deleted": (sql("DELETE FROM urls WHERE num = 1", "queue.db"), "queue "),
    "a URL of the queue": (sql("UPDATE urls SET url = 'http://x/'", "queue.db"), "queue .*another"),
}
FILES: dict[str, tuple[Damaging, str]] = {
    **{
        f"{how.__name__} {pattern}": (how(pattern), expected)
        for how in (flipped, truncated, missing)
        for pattern, expected in (
            ("archive/documents/*.store", "documents .*store"),
            ("archive/documents/*.term", "documents .*term"),
            ("archive/documents/*.fast", "documents .*fast"),
            ("archive/documents/meta.json", "documents .*meta.json|meta.json|cannot be"),
            ("archive/facets/month-*", "facets .*month-.*nwx build-facets"),
            ("archive/facets/labels-source*", "facets .*labels-source.*nwx build-facets"),
            ("archive/facets/current.json", "facets .*nwx build-facets"),
            ("archive/inlinks/range-*", "inlinks .*range-.*nwx invert-links"),
            ("archive/inlinks/anchors*", "inlinks .*anchors.*nwx invert-links"),
            ("archive/inlinks/current.json", "inlinks .*nwx invert-links"),
            ("archive/dates/further/dates.json", "dates .*dates.json|dates .*further"),
        )
    },
    "flipped columns": (flipped("archive/columns.arrays"), "columns.arrays: .*delete it"),
    "truncated columns": (truncated("archive/columns.arrays"), "columns.arrays: .*delete it"),
    "truncated database": (truncated("archive/archive.sqlite"), "archive.sqlite.*damaged"),
    "missing database": (missing("archive/archive.sqlite"), "archive.sqlite.*restore"),
    **{
        f"missing {index}": (missing(f"archive/{index}.db"), rf"{index} .*{index}\.db: is missing")
        for index in ("access", "crawls", "pictures", "quality", "queue")
    },
    "truncated pictures": (
        truncated("archive/pictures.db"),
        "pictures .*; delete the file, and run `nwx build-pictures`",
    ),
    "pictures missing": (
        missing("archive/pictures.db"),
        r"pictures\.db:? is missing; run `nwx build-pictures`",
    ),
    "no pictures": (foreign("archive/pictures.db", "*.warc.gz"), "pictures .*build-pictures"),
    "manifest": (flipped("archive/nwx.json", 0.1), "nwx.json is damaged"),
    "manifest cut": (truncated("archive/nwx.json"), "nwx.json is damaged"),
    "a segment of another": (
        foreign("archive/documents/*.store", "archive/documents/*.term"),
        "documents ",
    ),
    "a month of another": (foreign("archive/facets/month-*", "archive/facets/sizes*"), "facets "),
    "a URL in the database": (
        in_database("archive.sqlite", f"{HOME}about"),
        "captures|documents|dates",
    ),
    "a word in pictures": (in_database("pictures.db", "chisel"), "pictures "),
}
RECORDS: dict[str, tuple[Damaging, str]] = {
    "another record": (rewritten, "quarry.warc.gz@0: its record .* another digest"),
    "a file cut": (truncated("quarry.warc.gz"), "quarry.warc.gz has .* errors now"),
    "a file missing": (missing("more.warc.gz"), "more.warc.gz .*put the file back"),
    "a file of another": (foreign("quarry.warc.gz", "more*"), "quarry.warc.gz has no capture"),
    "a file longer": (appended, "quarry.warc.gz has captures appended .* import: 1\n"),
}


def checked(archive: Archive, *options: str) -> tuple[int, str]:
    """Return the exit code of `nwx check`, and its complete output."""
    return told(archive, "check", "--quiet", *options)


def told(archive: Archive, *arguments: str) -> tuple[int, str]:
    """Return the exit code of a command, and its complete output."""
    given = ["--engine", archive.engine.address, *arguments]
    ran = CliRunner().invoke(cli, given, standalone_mode=False)
    if isinstance(ran.exception, NwxError):
        return 1, f"{ran.output}{ran.exception}"
    if ran.exception is not None:
        raise ran.exception
    return ran.return_value, ran.output


@pytest.mark.parametrize("what", ROWS | FILES)
def test_damage_is_found(copied: Archive, what: str) -> None:
    damage, expected = (ROWS | FILES)[what]
    copied.engine.close()
    damage(copied.folder)
    code, text = checked(copied)
    assert code == 1
    assert re.search(expected, text), text


@pytest.mark.parametrize("what", RECORDS)
def test_records_are_read_back(copied: Archive, what: str) -> None:
    damage, expected = RECORDS[what]
    damage(copied.folder)
    assert checked(copied) == (0, "the indices agree\n")
    code, text = checked(copied, "--deep")
    assert code == 1
    assert re.search(expected, text), text


def test_captures_that_cannot_be_read_do_not_end_a_deep_check(copied: Archive) -> None:
    copied.engine.close()
    ROWS["a block changed"][0](copied.folder)
    code, text = checked(copied, "--deep")
    assert code == 1
    assert text.startswith("captures block 0 of run")
    assert text.count("captures *: cannot be compared: ") == 1


def test_what_is_not_damaged_is_whole(copied: Archive) -> None:
    assert checked(copied, "--deep") == (0, "the indices agree\n")
    assert copied.engine.count(IndexName.PICTURES)


STORE_FRAME = flipped("archive/documents/*.store", 0.0)
"""Damages the size of a block; a changed letter in its texts is found only by `nwx check`."""

IN_USE = {
    ("dump", "documents"): STORE_FRAME,
    ("search", "--scroll", "--csv"): STORE_FRAME,
    ("words", "quarry"): STORE_FRAME,
    ("dump", "quality"): ROWS["a content of a score"][0],
    ("quality",): ROWS["a content of a score"][0],
    ("files",): ROWS["a ledger entry that is no JSON"][0],
    ("dump", "crawls"): ROWS["a content of a score of a document"][0],
    ("missing",): ROWS["a block changed"][0],
    ("dump", "captures"): ROWS["the rest of a block changed"][0],
    ("stats",): FILES["truncated database"][0],
}


@pytest.mark.parametrize("command", IN_USE)
def test_who_meets_damage_is_told_to_check(copied: Archive, command: tuple[str, ...]) -> None:
    copied.engine.close()
    IN_USE[command](copied.folder)
    code, text = told(copied, *command)
    assert code == 1
    assert "run `nwx check`" in text


def test_accounts_are_checked(copied: Archive) -> None:
    path = copied.folder / "archive" / "users.db"
    with closing(AccountFile(path)) as file:
        AccountStore(file).add("ada", Role.READER)
        with file.changing() as db:
            db.execute("UPDATE accounts SET role = 'readar'")
    expected = "users users.db accounts ada: has an invalid value; restore it from a backup"
    assert checked(copied) == (1, f"{expected}\n1 disagreement\n")
    assert told(copied, "users", "list")[1].startswith("the account 'ada' is damaged")
