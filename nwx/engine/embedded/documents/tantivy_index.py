"""Documents in tantivy: the schema, derived from the mapping, and conversion of entries."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import tantivy

from nwx import mappings
from nwx.engine.analyzer import ANALYZER, text_analyzer, tokenized, tokens
from nwx.engine.embedded.folder import TantivyError
from nwx.engine.entries import IndexEntry
from nwx.errors import EngineVersionError, system_reason
from nwx.model import IndexName
from nwx.query.fields import DEFAULT_FIELDS
from nwx.values.zstd import zstd


@contextmanager
def tantivy_errors() -> Iterator[None]:
    """Raise errors of tantivy, ValueError for almost all of them, as TantivyError.

    The same goes for documents that cannot be decoded, which come from a damaged file.
    """
    try:
        yield
    except (ValueError, OSError, zstd.ZstdError) as error:
        raise TantivyError(str(system_reason(error))) from error
    except BaseException as error:
        # A panic in Rust, as on damaged files, is not an Exception and cannot be imported by name.
        if type(error).__module__ != "pyo3_runtime":
            raise
        raise TantivyError.translated("it is damaged: %(reason)s", reason=error) from error


def open_tantivy(schema: tantivy.Schema, folder: Path) -> tantivy.Index:
    """Return the index of a folder, created if missing.

    Raises EngineVersionError on an index with other fields.
    """
    with tantivy_errors():
        if tantivy.Index.exists(str(folder)) and tantivy.Index.open(str(folder)).schema != schema:
            raise EngineVersionError.translated(
                "%(folder)s was made by an older version of nwx, which indexed words and "
                "fields differently; run `nwx upgrade`",
                folder=folder,
            )
        index = tantivy.Index(schema, str(folder))
        index.register_tokenizer(ANALYZER, text_analyzer())
        index.register_tokenizer(_RAW, text_analyzer())  # for values joined by spaces
        index.config_reader("manual")
        return index


class DocumentSearcher:
    """A snapshot of the documents in tantivy; it has the methods of `tantivy.Searcher`."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher

    @property
    def num_docs(self) -> int:
        """The number of documents."""
        return self._searcher.num_docs

    def search(self, query: tantivy.Query, limit: int, **options: Any) -> tantivy.SearchResult:
        """Return the first documents of a query."""
        with tantivy_errors():
            return self._searcher.search(query, limit, **options)

    def aggregate(self, query: tantivy.Query, asked: dict[str, Any]) -> dict[str, Any]:
        """Return aggregations over the documents of a query."""
        with tantivy_errors():
            found: dict[str, Any] = self._searcher.aggregate(query, asked)
            return found

    def doc(self, address: tantivy.DocAddress) -> tantivy.Document:
        """Return the stored fields of a document."""
        with tantivy_errors():
            return self._searcher.doc(address)

    def fast_field_values(self, field: str, places: list[tantivy.DocAddress]) -> list[Any]:
        """Return the values of a field for the documents at these addresses."""
        with tantivy_errors():
            return self._searcher.fast_field_values(field, places)

    def doc_freq(self, field: str, term: str) -> int:
        """Return how many documents have a term, some deleted ones included."""
        with tantivy_errors():
            return self._searcher.doc_freq(field, term)

    def terms_with_prefix(self, field: str, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Return the most frequent terms with a prefix, and how many documents have each."""
        with tantivy_errors():
            return self._searcher.terms_with_prefix(field, beginning, limit=limit)


class ReadIndex:
    """The index of a folder, open for reading.

    tantivy locks a file of the folder before reading. If that is not permitted, it reads symbolic
    links to the files, in a temporary folder.
    """

    def __init__(self, schema: tantivy.Schema, folder: Path) -> None:
        self._folder = folder
        self._links: TemporaryDirectory[str] | None = None
        if not os.access(folder, os.W_OK):
            self._links = TemporaryDirectory(prefix="nwx-read-only-", ignore_cleanup_errors=True)
            self._link()
        self._index = open_tantivy(schema, Path(self._links.name) if self._links else folder)

    def searcher(self) -> DocumentSearcher:
        """Return a searcher of the last commit."""
        self._link()
        with tantivy_errors():
            self._index.reload()
            return DocumentSearcher(self._index.searcher())

    def _link(self) -> None:
        """Link the files added since, as another machine may write them."""
        if self._links is None:
            return
        for file in self._folder.iterdir():
            link = Path(self._links.name, file.name)
            if not link.is_symlink() and file.suffix != ".lock":
                link.symlink_to(file.resolve())

    def close(self) -> None:
        """Remove the links; a thread of tantivy may make a lock among them meanwhile."""
        if self._links is not None:
            self._links.cleanup()


NUM, SLOT, BIT = "_num", "_slot", "_bit"
BITS = 52  # the bits that a sum of doubles keeps exactly
DOCUMENT_FIELDS = "_fields"
WORDS = "_words"
_HEAD, _CONTENT, _LINKS = "_head", "_content", "_links"
_LINK_FIELDS = ("links", "links_text", "links_kind", "links_domains")

_RAW = "raw"
_MAX_TERM_BYTES = 32_766  # Lucene's limit, where a mapping sets none
VALUES_APART = 100  # Elasticsearch's position_increment_gap
_LEVEL = 1  # compresses pages as well as 3, in two thirds of the time
_FEW = 100


@cache
def field_kinds() -> dict[str, str]:
    """Return the types of the document fields that have a separate field in tantivy."""
    return {
        name: field["type"]
        for name, field in mappings.properties(IndexName.DOCUMENTS).items()
        if field.get("index", True) and name not in mappings.enriched_fields()
    }


def enriched_term(field: str, value: str = "") -> str:
    """Return the term of DOCUMENT_FIELDS for a value of a field of enrichers, or its prefix.

    Thus a field that no document has takes no space, and new fields need no new index.
    """
    return f"{field}={value}"


@cache
def schema() -> tantivy.Schema:
    """Return the schema: the searched fields, and three stored pieces of each entry.

    Some fields exist in tantivy only: the number of the document's id, used to join all other data;
    the names of the fields that have a value; the words of all default fields, so that one look-up
    finds the documents with a word; and the number again as one bit of a slot, so that sums of bits
    give all the numbers of a large result (nwx.engine.embedded.documents.view).
    """
    builder = tantivy.SchemaBuilder()
    for name, kind in field_kinds().items():
        if kind == "text":
            builder.add_text_field(name, tokenizer_name=ANALYZER)
        elif kind == "keyword":
            builder.add_text_field(name, tokenizer_name=_RAW, index_option="basic")
        else:
            builder.add_integer_field(name, indexed=True, fast=True)
    builder.add_unsigned_field(NUM, indexed=True, fast=True)
    builder.add_unsigned_field(SLOT, fast=True)
    builder.add_unsigned_field(BIT, fast=True)
    builder.add_text_field(WORDS, tokenizer_name=ANALYZER, index_option="basic")
    builder.add_text_field(DOCUMENT_FIELDS, tokenizer_name=_RAW, index_option="basic")
    for piece in (_HEAD, _CONTENT, _LINKS):
        builder.add_bytes_field(piece, stored=True)
    return builder.build()


class Packer:
    """Converts index entries to tantivy documents; not thread-safe."""

    def __init__(self) -> None:
        packed = zstd.ZstdCompressor(_LEVEL)
        self._squeeze = partial(packed.compress, mode=packed.FLUSH_FRAME)
        self._limits = {
            name: field.get("ignore_above")
            for name, field in mappings.properties(IndexName.DOCUMENTS).items()
        }
        self._short = {
            name: min(limit or _MAX_TERM_BYTES, _MAX_TERM_BYTES // 4)
            for name, limit in self._limits.items()
        }

    def document(self, num: int, entry: IndexEntry) -> tantivy.Document:
        """Return the tantivy document of an entry."""
        document, names = tantivy.Document(), []
        document.add_unsigned(NUM, num)
        document.add_unsigned(SLOT, num // BITS)
        document.add_unsigned(BIT, 1 << num % BITS)
        for name, kind in field_kinds().items():
            value = entry.get(name)
            if value is None:
                continue
            if kind == "text":
                words = _add_text(document, name, value)
                if name in DEFAULT_FIELDS:
                    document.add_text(WORDS, words)
            elif kind == "keyword":
                if not self._add_keywords(document, name, value):
                    continue
            else:
                document.add_integer(name, date_number(value) if kind == "date" else value)
            names.append(name)
        for name, kind in mappings.enriched_fields(searched=True).items():
            if (value := entry.get(name)) is not None:
                names += self._enriched(name, kind, value)
        _add_terms(document, DOCUMENT_FIELDS, names)
        self._store(document, entry)
        return document

    def _enriched(self, name: str, kind: str, value: str | list[str]) -> list[str]:
        values = [value] if isinstance(value, str) else value
        kept = [one for one in values if self._fits(name, one)]
        digits = [f"{date_number(one):014}" if kind == "date" else one for one in kept]
        return [*(enriched_term(name, one) for one in digits), *([name] if kept else [])]

    def _add_keywords(
        self, document: tantivy.Document, name: str, value: str | list[str]
    ) -> list[str]:
        terms = [value] if isinstance(value, str) else value
        if max(map(len, terms), default=0) > self._short[name]:
            terms = [one for one in terms if self._fits(name, one)]
        _add_terms(document, name, terms)
        return terms

    def _fits(self, name: str, value: str) -> bool:
        if len(value) > (self._limits[name] or _MAX_TERM_BYTES):
            return False
        return len(value) * 4 <= _MAX_TERM_BYTES or len(value.encode()) <= _MAX_TERM_BYTES

    def _store(self, document: tantivy.Document, entry: IndexEntry) -> None:
        head = {
            name: value
            for name, value in entry.items()
            if name != "content" and name not in _LINK_FIELDS
        }
        document.add_bytes(_HEAD, msgspec.json.encode(head))
        if content := entry.get("content"):
            document.add_bytes(_CONTENT, self._squeeze(content.encode()))
        if entry.get("links"):
            links = {name: entry[name] for name in _LINK_FIELDS if name in entry}
            document.add_bytes(_LINKS, self._squeeze(msgspec.json.encode(links)))


def _add_terms(document: tantivy.Document, name: str, terms: list[str]) -> None:
    """Add terms, joined by spaces if they have none: half as dear as one by one."""
    joined = " ".join(terms)
    if joined.split() == terms:
        document.add_text(name, joined)
    else:
        whole = [tantivy.Token(one, place, 0, 0) for place, one in enumerate(terms)]
        document.add_pre_tokenized_text(name, tantivy.PreTokenizedString("", whole))


def _add_text(document: tantivy.Document, name: str, value: str | list[str]) -> str:
    """Add a text, or several with a gap between them; return the words separated by spaces."""
    if isinstance(value, str):
        found = tokenized(value)
        document.add_text(name, found)
        return found
    words: list[str] = []
    placed, position = [], 0
    for text in value:
        found_here = tokens(text)
        placed += [tantivy.Token(one, position + n, 0, 0) for n, one in enumerate(found_here)]
        position += len(found_here) + VALUES_APART
        words += found_here
    document.add_pre_tokenized_text(name, tantivy.PreTokenizedString("", placed))
    return " ".join(words)


@tantivy_errors()
def head_of(document: tantivy.Document) -> IndexEntry:
    """Return an entry without its content and links."""
    found: IndexEntry = msgspec.json.decode(document.get_first(_HEAD) or b"")
    return found


@tantivy_errors()
def content_of(document: tantivy.Document) -> str:
    """Return the content of an entry."""
    squeezed = document.get_first(_CONTENT)
    return "" if squeezed is None else zstd.decompress(squeezed).decode()


def texts_of(document: tantivy.Document, field: str) -> list[str]:
    """Return the texts of a field of an entry."""
    value = content_of(document) if field == "content" else head_of(document).get(field, [])
    return [value] if isinstance(value, str) else value


def entry_of(document: tantivy.Document) -> IndexEntry:
    """Return the whole entry of a document."""
    entry = head_of(document)
    if content := content_of(document):
        entry["content"] = content
    entry |= _links_of(document)
    return entry


@tantivy_errors()
def _links_of(document: tantivy.Document) -> IndexEntry:
    links = document.get_first(_LINKS)
    found: IndexEntry = {} if links is None else msgspec.json.decode(zstd.decompress(links))
    return found


class LinkingHead(msgspec.Struct):
    """Identifying fields of a document that has links."""

    id: str
    url: str
    urlkey: str


class StoredLinks(msgspec.Struct):
    """The links of a document as they are stored."""

    links: list[str] = []
    links_text: list[str] = []
    links_kind: list[str] = []


_read_head = msgspec.json.Decoder(LinkingHead).decode
_read_links = msgspec.json.Decoder(StoredLinks).decode


@tantivy_errors()
def links_of(document: tantivy.Document) -> tuple[LinkingHead, StoredLinks]:
    """Return the identifying fields of a document, and its links."""
    head = _read_head(document.get_first(_HEAD) or b"")
    squeezed = document.get_first(_LINKS)
    return head, StoredLinks() if squeezed is None else _read_links(zstd.decompress(squeezed))


def nums_query(nums: Collection[int]) -> tantivy.Query:
    """Return the query for documents by number."""
    if len(nums) > _FEW:
        return tantivy.Query.term_set_query(schema(), NUM, list(nums))
    each = [tantivy.Query.term_query(schema(), NUM, num, "basic") for num in nums]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, one) for one in each])


def addresses(searcher: DocumentSearcher, nums: Collection[int]) -> dict[int, tantivy.DocAddress]:
    """Return the addresses of documents by number, without missing ones."""
    if not nums:
        return {}
    found = searcher.search(
        nums_query(nums), len(nums), count=False, order_by_field=NUM, order=tantivy.Order.Asc
    )
    return {int(num): address for num, address in found.hits}


def nums_of(searcher: DocumentSearcher, places: list[tantivy.DocAddress]) -> list[int]:
    """Return the numbers of the documents at these addresses."""
    return [int(num or 0) for num in searcher.fast_field_values(NUM, places)]


def documents_by_num(
    searcher: DocumentSearcher, nums: Collection[int]
) -> Iterator[tuple[int, tantivy.Document]]:
    """Yield the existing documents of these numbers."""
    for num, address in addresses(searcher, nums).items():
        yield num, searcher.doc(address)


def date_number(text: str) -> int:
    """Return a date in the mapping's form as a number of 14 digits."""
    return int("".join(filter(str.isdigit, text)))
