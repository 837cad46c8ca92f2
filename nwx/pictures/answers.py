"""Answers about pictures as programs read them."""

from collections.abc import Sequence
from typing import Any

from nwx.engine.pictures.picture_index import (
    Appearance,
    FoundPicture,
    Picture,
    PictureResult,
    SimilarPicture,
)

_HASH_DIGITS = 16


def result_json(result: PictureResult) -> dict[str, Any]:
    """Return pictures found, each with the appearance whose words match best."""
    return {
        "total": result.total.value,
        "total_relation": result.total.relation,
        "pictures": [_found_json(one) for one in result.pictures],
    }


def similar_json(found: Sequence[SimilarPicture]) -> dict[str, Any]:
    """Return similar pictures, each with the number of bits of the hash that differ."""
    return {"pictures": [picture_json(one.picture) | {"distance": one.distance} for one in found]}


def _found_json(found: FoundPicture) -> dict[str, Any]:
    page = {"shown_on": appearance_json(found.appearance)} if found.appearance else {}
    return picture_json(found.picture) | page


def picture_json(picture: Picture) -> dict[str, Any]:
    """Return a picture; `id` is that of its document, `hash` are 16 hex digits."""
    return {
        "id": picture.id,
        "url": picture.url,
        "host": picture.host,
        "collection": picture.collection,
        "timestamp": picture.timestamp,
        "digest": picture.digest,
        "content_type": picture.content_type,
        "content_length": picture.content_length,
        "width": picture.width,
        "height": picture.height,
        "colours": list(picture.colours),
        "hash": "" if picture.hash is None else f"{picture.hash:0{_HASH_DIGITS}x}",
    }


def appearance_json(appearance: Appearance) -> dict[str, Any]:
    """Return a page that shows a picture, and its words about it."""
    return {
        "page": appearance.page,
        "url": appearance.page_url,
        "page_title": appearance.page_title,
        "timestamp": appearance.page_timestamp,
        "alt": appearance.alt,
        "title": appearance.title,
        "anchor": appearance.anchor,
        "around": appearance.around,
    }
