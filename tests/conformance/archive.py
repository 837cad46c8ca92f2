"""Small archives from short literals."""

import hashlib
from base64 import b32encode
from collections.abc import Iterable

from nwx.engine.base import Engine
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.keys import document_id, document_key
from nwx.model import Batch, Capture, Dates, Document, Extract
from nwx.settings import Settings
from nwx.values.media_types import normal_type
from nwx.values.urlkeys import urlkey
from nwx.values.urls import url_parts

COLLECTION = "web"


def sha1(text: str) -> str:
    """Return the normalized SHA-1 digest of a text."""
    return (
        "sha1:" + b32encode(hashlib.sha1(text.encode("utf-8", "surrogatepass")).digest()).decode()
    )


def full(timestamp: str) -> str:
    """Pad a timestamp to 14 digits with the earliest values: `2010` is the beginning of 2010."""
    return timestamp + "00000101000000"[len(timestamp) :]


def capture(
    url: str,
    timestamp: str = "2010",
    *,
    body: str = "",
    digest: str | None = None,
    collection: str = COLLECTION,
    source_file: str = "a.warc.gz",
    offset: int | None = None,
    record_type: str = "response",
    status: int | None = 200,
    content_type: str = "text/html",
    length: int | None = 1000,
    redirect_to: str = "",
) -> Capture:
    """Return a capture; the digest is that of `body`, the offset is unique."""
    timestamp = full(timestamp)
    place = url_parts(url)
    if digest is None:
        digest = sha1(body or url)
    if offset is None:
        seed = f"{url} {timestamp} {digest} {collection}"
        offset = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")
    return Capture(
        collection=collection,
        source_file=source_file,
        source_file_offset=offset,
        record_length=None if length is None else length // 3,
        record_type=record_type,
        url=url,
        urlkey=urlkey(url),
        host=place.host,
        domain=place.domain,
        public_suffix=place.public_suffix,
        timestamp=timestamp,
        digest=digest,
        document_id=document_id(document_key(url, digest)) if digest else "",
        status_code=status,
        content_type=content_type,
        content_type_norm=normal_type(content_type, url),
        content_length=length,
        redirect_to=redirect_to,
    )


def document(held: Capture, title: str = "", content: str = "", **extract: object) -> Document:
    """Return the document of a capture."""
    return Document(held, Extract(title=title, content=content, **extract))  # type: ignore[arg-type]


def page(url: str, timestamp: str = "2010", content: str = "", **changes: object) -> Document:
    """Return a document with the digest of its content; `changes` apply to extract or capture."""
    extract = {
        name: changes.pop(name) for name in tuple(changes) if name in Extract.__dataclass_fields__
    }
    held = capture(url, timestamp, body=content, **changes)  # type: ignore[arg-type]
    return document(held, content=content, **extract)  # type: ignore[arg-type]


def dates_of(*captures: Capture) -> tuple[Dates, ...]:
    """Return the dates of documents that have these captures."""
    seen: dict[str, set[tuple[str, str]]] = {}
    for one in captures:
        key = document_key(one.url, one.digest)
        seen.setdefault(key, set()).add((one.timestamp, one.collection))
    return tuple(Dates(key, tuple(sorted(pairs))) for key, pairs in seen.items())


def also(shown: Document, *moments: str) -> Dates:
    """Return additional dates of a document: `2011`, or `2011 other` in another collection."""
    pairs = [moment.partition(" ") for moment in moments]
    held = shown.capture
    return Dates(
        document_key(held.url, held.digest),
        tuple(sorted((full(date), name or held.collection) for date, _, name in pairs)),
    )


def batch(documents: Iterable[Document] = (), dates: Iterable[Dates] = ()) -> Batch:
    """Return the batch that an import of these documents writes, with additional dates."""
    documents = tuple(documents)
    captures = tuple(one.capture for one in documents)
    return Batch(documents, captures, (*dates_of(*captures), *dates))


def settings_of(engine: Engine) -> Settings:
    """Return the settings by which other processes open an archive."""
    if isinstance(engine, SearchServerEngine):
        return Settings(engine.address, engine._settings)
    return Settings(engine.address)
