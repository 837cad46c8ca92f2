"""Keys and ids of documents and captures, and valid names of collections."""

import hashlib
import re
from collections.abc import Iterable

from nwx.errors import UsageError
from nwx.model import Capture

_LATEST = 99991231235959
_SHOWN_CHARACTERS = 80
_COLLECTION = re.compile(r"[A-Za-z0-9._-]{1,64}")
_BROWSED = ("http:", "https:", "ftp:", "gopher:", "gemini:", "file:")


def check_collection(name: str) -> None:
    """Raise UsageError on a name that is not valid for a collection."""
    if not _COLLECTION.fullmatch(name):
        shown = name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"
        raise UsageError(
            f"{shown!r} is not a valid collection name;"
            " use 1 to 64 letters, digits, dots, dashes or underscores"
        )


def document_key(url: str, digest: str) -> str:
    """Return the key of a document, `<url> <digest>`."""
    return f"{url} {digest}"


def document_id(key: str) -> str:
    """Return the id of a document key in documents and dates: 32 hex digits."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def document_ids(keys: Iterable[str]) -> bytes:
    """Return the ids of document keys, 16 bytes each."""
    made = hashlib.blake2b
    return b"".join(
        [made(key.encode("utf-8", "surrogatepass"), digest_size=16).digest() for key in keys]
    )


def capture_id(collection: str, source_file: str, offset: int) -> str:
    """Return the id of a capture, `<collection>/<file name>@<offset>`.

    File names may contain a slash, collection names must not (`check_collection`), so that ids are
    unique.
    """
    return f"{collection}/{source_file}@{offset}"


def id_of_capture(capture: Capture) -> str:
    """Return the id of a capture from its collection, file and offset."""
    return capture_id(capture.collection, capture.source_file, capture.source_file_offset)


def capture_key(capture: Capture) -> str:
    """Return the key of a document that is not shared with other captures, `<key> <capture id>`."""
    return f"{document_key(capture.url, capture.digest)} {id_of_capture(capture)}"


def holds(capture: Capture, id: str) -> bool:
    """Return whether a capture belongs to the document with an id, shared or of its own."""
    return bool(capture.document_id) and (
        capture.document_id == id or document_id(capture_key(capture)) == id
    )


def precedence(capture: Capture) -> int:
    """Return the rank of a capture as its document's source, below 2**63.

    The earliest capture ranks highest, ties are broken by capture id: a document does not depend on
    the order in which captures arrive.
    """
    place = id_of_capture(capture).encode("utf-8", "surrogatepass")
    tie = hashlib.blake2b(place, digest_size=2).digest()
    return (_LATEST - int(capture.timestamp)) << 16 | int.from_bytes(tie, "big")


def makes_document(capture: Capture) -> bool:
    """Return whether a capture makes a document: it has a payload and a URL that people browse.

    Revisits have no payload; dns:, whois: and urn: URLs are not pages.
    """
    return bool(
        capture.document_id and capture.record_type != "revisit" and is_browsed(capture.url)
    )


def is_browsed(url: str) -> bool:
    """Return whether a URL has a scheme that people browse: http, https, ftp, gopher …"""
    return url[:8].lower().startswith(_BROWSED)
