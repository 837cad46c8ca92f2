"""Conversion between records and index entries, by the names in `mappings/*.json`.

All engines store these entries. A field without a value is left out.
"""

import heapq
import json
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nwx import mappings
from nwx.data_classes import dataclass
from nwx.errors import BlobError
from nwx.keys import document_id, document_key, id_of_capture, precedence
from nwx.mappings import OTHER_FIELDS, FieldValue
from nwx.model import (
    Capture,
    Dates,
    Document,
    Extract,
    FoundByLinks,
    Hit,
    Link,
    ScoreParts,
    SourceFile,
)
from nwx.values.records import from_mapping
from nwx.values.urls import url_parts, url_words

if TYPE_CHECKING:
    from nwx.bulk.arrays import Array


IndexEntry = dict[str, Any]

_EMPTY: tuple[object, ...] = ("", None, ())
_DOCUMENT_CAPTURE = (
    "collection",
    "source_file",
    "source_file_offset",
    "record_length",
    "record_type",
    "url",
    "urlkey",
    "host",
    "domain",
    "public_suffix",
    "timestamp",
    "digest",
    "status_code",
    "content_type",
    "content_type_norm",
    "content_length",
    "redirect_to",
)
_CAPTURE = (
    *_DOCUMENT_CAPTURE,
    "document_id",
    "method",
    "revisit_profile",
    "refers_to_url",
    "refers_to_timestamp",
    "truncated",
    "hops",
    "via",
)
_TEXTS = ("title", "content", "description", "author", "content_language", "signature")
_REQUIRED = dict.fromkeys(_CAPTURE, "") | {
    "source_file_offset": 0,
    "record_length": None,
    "status_code": None,
    "content_length": None,
    "method": "GET",
}


def document_entry(document: Document) -> IndexEntry:
    """Return the entry of a document in the index documents."""
    capture, extract = document.capture, document.extract
    entry = {
        "id": id_of(capture),
        "precedence": precedence(capture),
        "url_text": url_words(capture.url),
        **{name: getattr(capture, name) for name in _DOCUMENT_CAPTURE},
        **dated(capture.timestamp),
        **{name: clean_text(getattr(extract, name)) for name in _TEXTS},
        "headings": [clean_text(text) for text in extract.headings],
        **_links(extract.links),
        "problems": [clean_text(text) for text in extract.problems],
        **_enriched(extract.fields),
    }
    return _without_empty(entry)


def _enriched(fields: Mapping[str, FieldValue]) -> IndexEntry:
    """Return the fields of enrichers; those without a mapping become values of OTHER_FIELDS."""
    known = mappings.enriched_fields() if fields else ()
    found: IndexEntry = {}
    for name, value in fields.items():
        if name in known:
            found[name] = clean_text(value) if isinstance(value, str) else list(map(_clean, value))
        else:
            values = (value,) if isinstance(value, str) else value
            found.setdefault(OTHER_FIELDS, []).extend(f"{name}={_clean(one)}" for one in values)
    return found


def _clean(value: str | int) -> str | int:
    return clean_text(value) if isinstance(value, str) else value


def _fields(entry: Mapping[str, Any]) -> dict[str, FieldValue]:
    """Return the fields of enrichers in an entry; those without a mapping are tuples."""
    others: dict[str, FieldValue] = {}
    for pair in entry.get(OTHER_FIELDS, ()):
        name, _, value = pair.partition("=")
        others[name] = (*others.get(name, ()), value)
    return {
        name: tuple(entry[name]) if isinstance(entry[name], list) else entry[name]
        for name in mappings.enriched_fields()
        if name in entry and name != OTHER_FIELDS
    } | others


def hit_from_entry(
    entry: Mapping[str, Any],
    dates: tuple[str, ...],
    collections: tuple[str, ...],
    score: float,
    snippet: tuple[tuple[str, bool], ...],
    versions: int,
    score_parts: ScoreParts | None = None,
    found_by_links: FoundByLinks | None = None,
) -> Hit:
    """Return the hit for a document's entry; `dates` and `collections` include its own."""
    return from_mapping(
        Hit,
        {"url": "", "digest": "", "title": "", **entry},
        dates=dates,
        collections=collections,
        score=score,
        snippet=snippet,
        versions=versions,
        score_parts=score_parts,
        found_by_links=found_by_links,
    )


def document_capture(entry: Mapping[str, Any]) -> Capture:
    """Return the capture of a document's entry; fields that documents lack are unset."""
    return Capture(
        **{**_REQUIRED, **{name: entry[name] for name in _DOCUMENT_CAPTURE if name in entry}}
        | {"document_id": entry["id"]}
    )


def document_from_entry(entry: Mapping[str, Any]) -> Document:
    """Return the document of an entry."""
    extract = Extract(
        **{name: entry.get(name, "") for name in _TEXTS},
        headings=tuple(entry.get("headings", ())),
        links=tuple(
            Link(url, text, kind)
            for url, text, kind in zip(
                entry.get("links", ()),
                entry.get("links_text", ()),
                entry.get("links_kind", ()),
                strict=True,
            )
        ),
        problems=tuple(entry.get("problems", ())),
        fields=_fields(entry),
    )
    return Document(document_capture(entry), extract)


def capture_entry(capture: Capture) -> IndexEntry:
    """Return the entry of a capture in the index captures."""
    return _without_empty(
        {
            "id": id_of_capture(capture),
            **{name: getattr(capture, name) for name in _CAPTURE},
            **dated(capture.timestamp),
        }
    )


def capture_from_entry(entry: Mapping[str, Any]) -> Capture:
    """Return the capture of an entry."""
    return Capture(**_REQUIRED | {name: entry[name] for name in _CAPTURE if name in entry})


def dates_entry(dates: Dates) -> IndexEntry:
    """Return the entry of a document's dates, where `seen` is `<collection>/<timestamp>`."""
    pairs = sorted(set(dates.seen))
    return {
        "id": document_id(dates.key),
        "key": dates.key,
        "dates": sorted({timestamp for timestamp, _ in pairs}),
        "seen": [f"{collection}/{timestamp}" for timestamp, collection in pairs],
        "count": len(pairs),
    }


def dates_from_entry(entry: Mapping[str, Any]) -> Dates:
    """Return the dates of an entry, in order."""
    seen = (text.rpartition("/") for text in entry["seen"])
    return Dates(entry["key"], tuple((timestamp, collection) for collection, _, timestamp in seen))


def merged_dates(parts: Sequence[Mapping[str, Dates]]) -> dict[str, Dates]:
    """Return the dates of all parts merged by id, each date once."""
    merged = dict(parts[0])
    for part in parts[1:]:
        for id, dates in part.items():
            known = merged.get(id)
            seen = dates.seen if known is None else sorted({*known.seen, *dates.seen})
            merged[id] = Dates(dates.key, tuple(seen))
    return merged


def merged_entries(streams: Sequence[Iterator[IndexEntry]]) -> Iterator[IndexEntry]:
    """Merge the entries of several dates indices, each stream ordered by id; yield each id once."""
    if len(streams) == 1:
        yield from streams[0]
        return
    for _, group in groupby(heapq.merge(*streams, key=_id), key=_id):
        entries = list(group)
        if len(entries) == 1:
            yield entries[0]
        else:
            pairs = {pair for entry in entries for pair in dates_from_entry(entry).seen}
            yield dates_entry(Dates(entries[0]["key"], tuple(pairs)))


def _id(entry: IndexEntry) -> str:
    return str(entry["id"])


def file_entry(file: SourceFile) -> IndexEntry:
    """Return the entry of a file in the ledger."""
    id = file_id(file.collection, file.name)
    return _without_empty({"id": id, **asdict(file), "counts": dict(file.counts)})


def file_from_entry(entry: Mapping[str, Any]) -> SourceFile:
    """Return the file of a ledger entry."""
    usual = {"collection": "", "name": "", "path": "", "size": None, "checksum": ""}
    counts, requires = dict(entry["counts"]), tuple(entry.get("requires", ()))
    return from_mapping(SourceFile, {**usual, **entry}, counts=counts, requires=requires)


def file_id(collection: str, name: str) -> str:
    """Return the id of a file in the ledger, `<collection>/<name>`."""
    return f"{collection}/{name}"


def id_of(capture: Capture) -> str:
    """Return the id of the document of a capture."""
    return capture.document_id or document_id(document_key(capture.url, capture.digest))


def clean_text(text: str) -> str:
    """Return text that UTF-8 can encode: lone surrogates, which no engine stores, are replaced."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def dated(timestamp: str) -> IndexEntry:
    """Return date and year of a timestamp, as fields of an entry."""
    day = f"{timestamp[:4]}-{timestamp[4:6]}-{timestamp[6:8]}"
    time = f"{timestamp[8:10]}:{timestamp[10:12]}:{timestamp[12:14]}"
    return {"crawl_date": f"{day}T{time}Z", "crawl_year": int(timestamp[:4])}


def _links(links: Sequence[Link]) -> IndexEntry:
    urls, texts, kinds = ([*values] for values in zip(*links, strict=True)) if links else ([],) * 3
    # Most links of a page share a few prefixes, host included.
    sites = {url[:end] if (end := url.find("/", 8)) >= 0 else url for url in urls}
    if any(site.endswith("/") for site in sites):
        sites = set(urls)
    domains = {url_parts(site).domain for site in sites} - {""}
    return {
        "links": _clean_texts(urls),
        "links_text": _clean_texts(texts),
        "links_kind": kinds,
        "links_domains": sorted(domains),
    }


def _clean_texts(texts: list[str]) -> list[str]:
    return texts if "".join(texts).isascii() else list(map(clean_text, texts))


def _without_empty(entry: IndexEntry) -> IndexEntry:
    return {name: value for name, value in entry.items() if value not in _EMPTY and value != []}


@dataclass(frozen=True, slots=True)
class EntryColumns:
    """Description of index entries stored as arrays in a file.

    `blob` is the name of the file. Its arrays are named `<group>/<column>`; the columns of a group
    have equal length, one row per entry. A column named in `labels` holds codes (unsigned
    integers): positions in the list of texts in the JSON file given by `labels`; `fields` is the
    entry field that gets the text as its value. All other columns hold whole numbers, the values of
    the field of the same name. `count` is the number of entries of all groups.
    """

    blob: str
    count: int
    labels: Mapping[str, str]
    fields: Mapping[str, str]

    def read(self, folder: Path) -> Iterator[IndexEntry]:
        """Yield the entries, group by group, from the files in `folder`.

        Each has the name of its group as `grouping`, and the id `column=value column=value` of its
        labelled columns in order. Raises BlobError on missing or damaged files.
        """
        # Imported here: every engine imports this class, but few commands read columns.
        import numpy as np

        from nwx.bulk.arrays import read_arrays

        groups: dict[str, dict[str, Array]] = {}
        for name, array in read_arrays(folder / self.blob).items():
            group, _, column = name.partition("/")
            groups.setdefault(group, {})[column] = array
        texts = {
            name: np.array(TextsFile(folder / blob).read(), dtype=object)
            for name, blob in self.labels.items()
        }
        for group, columns in groups.items():
            yield from self._group_entries(group, columns, texts)

    def _group_entries(
        self, group: str, columns: Mapping[str, "Array"], texts: Mapping[str, "Array"]
    ) -> Iterator[IndexEntry]:
        coded = [name for name in columns if name in self.labels]
        counted = [name for name in columns if name not in self.labels]
        values = [texts[name][columns[name]] for name in coded]
        numbers = [columns[name].tolist() for name in counted]
        fields = [*(self.fields[name] for name in coded), *counted]
        for row in zip(*values, *numbers, strict=True):
            named = dict(zip(fields, row, strict=True))
            yield {"id": combination_id(coded, row), "grouping": group, **named}


def combination_id(columns: Sequence[str], values: Sequence[object]) -> str:
    """Return the id of a combination, such as `status=ok month=2013-01`.

    `values` begins with the values of `columns`; additional values are ignored.
    """
    return " ".join(f"{name}={value}" for name, value in zip(columns, values, strict=False))


class TextsFile:
    """A JSON file with a list of texts, opened at once: it may be removed before it is read."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raises BlobError if it is missing or cannot be read."""
        self._path = path
        try:
            with path.open("rb") as file:
                self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise BlobError.translated(
                "%(path)s cannot be read (%(reason)s)", path=path, reason=error
            ) from error

    def read(self) -> list[str]:
        """Return the texts. Raises BlobError on a damaged file."""
        try:
            found: list[str] = json.loads(self._mapped[:])
        except ValueError as error:
            raise BlobError.translated(
                "%(path)s cannot be read (%(reason)s)", path=self._path, reason=error
            ) from error
        return found
