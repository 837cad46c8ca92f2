"""Pictures and appearances as entries of the index pictures, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import unquote, urlsplit

from nwx.engine.entries import IndexEntry, clean_text
from nwx.engine.pictures.picture_index import Appearance, Picture
from nwx.keys import document_id
from nwx.query.picture_words import picture_words

APPEARANCE_TEXTS = ("alt", "title", "anchor", "around")
"""The fields of what a page says of an image."""

WORD_FIELDS = {
    "alt_words": 3.0,
    "title_words": 2.0,
    "anchor_words": 2.0,
    "name_words": 2.0,
    "around_words": 1.0,
}
"""The fields that words are looked up in, with their weights."""

_LONGEST_NAME = 200
_SIGN_BIT = 1 << 63


def appearance_id(appearance: Appearance) -> str:
    """Return the id of an appearance: that of its page and the urlkey of the image."""
    return document_id(f"{appearance.page} {appearance.urlkey}")


def picture_entry(picture: Picture) -> IndexEntry:
    """Return the entry of a picture."""
    entry: IndexEntry = {
        "kind": "picture",
        "picture": picture.id,
        **asdict(picture),
        "colours": list(picture.colours),
        "hash": None if picture.hash is None else signed(picture.hash),
        "long_side": max(picture.width, picture.height),
        "area": picture.width * picture.height,
        "name_words": words_of_name(picture.url),
    }
    return {name: value for name, value in entry.items() if value not in (None, "", [])}


def picture_from_entry(entry: Mapping[str, Any]) -> Picture:
    """Return the picture of an entry."""
    hash = entry.get("hash")
    return Picture(
        **{name: entry.get(name, "") for name in _PICTURE_TEXTS},
        width=entry["width"],
        height=entry["height"],
        content_length=entry.get("content_length", 0),
        hash=None if hash is None else unsigned(hash),
        colours=tuple(entry.get("colours", ())),
    )


_PICTURE_TEXTS = (
    *("id", "url", "urlkey", "host", "domain"),
    *("collection", "timestamp", "digest", "content_type"),
)
_APPEARANCE_FIELDS = (
    *("page", "page_url", "page_title", "page_timestamp", "page_collection", "urlkey", "picture"),
    *APPEARANCE_TEXTS,
)


def appearance_entry(appearance: Appearance) -> IndexEntry:
    """Return the entry of an appearance, without the words that are looked up."""
    entry: IndexEntry = {
        "id": appearance_id(appearance),
        "kind": "appearance",
        **{name: clean_text(getattr(appearance, name)) for name in _APPEARANCE_FIELDS},
    }
    return {name: value for name, value in entry.items() if value != ""}


def appearance_from_entry(entry: Mapping[str, Any]) -> Appearance:
    """Return the appearance of an entry."""
    return Appearance(**{name: entry.get(name, "") for name in _APPEARANCE_FIELDS})


def words_of_appearance(appearance: Appearance) -> dict[str, str]:
    """Return the words of an appearance by the fields of WORD_FIELDS, without the name."""
    texts = ((f"{name}_words", getattr(appearance, name)) for name in APPEARANCE_TEXTS)
    return {name: " ".join(picture_words(text)) for name, text in texts}


def words_of_name(url: str) -> str:
    """Return the words of the file name of an image, apart by blanks, without its suffix."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return ""
    name = unquote(path.rstrip("/").rpartition("/")[2])[-_LONGEST_NAME:]
    stem, dot, _ = name.rpartition(".")
    return " ".join(picture_words(stem if dot else name))


def signed(hash: int) -> int:
    """Return a hash of 64 bits as the number that databases keep."""
    return (hash ^ _SIGN_BIT) - _SIGN_BIT


def unsigned(number: int) -> int:
    """Return the hash of a number that databases keep."""
    return number & ((1 << 64) - 1)
