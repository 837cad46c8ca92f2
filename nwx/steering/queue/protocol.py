"""The messages between crawlers and queues, read and written (docs/steering-protocol.md)."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

import msgspec

from nwx.engine.indices.crawl_queue import PutCounts, QueuedUrl, UrlUpdate
from nwx.errors import ProtocolError
from nwx.values.urls import url_parts

MOST_REQUEST_BYTES = 1 << 20
MOST_ITEMS = 10_000
MOST_URL_CHARACTERS = 8_000
MOST_LEASED = 1_000
MOST_LEASE_SECONDS = 86_400.0
MOST_ORDER = (1 << 63) - 1
_SHOWN_CHARACTERS = 80

_URL = re.compile(
    r"(?:https?|ftp)://(?:[^/?#@\s]*@)?(?:\[[0-9a-f:.]+\]|[^/?#:@\[\]\s]+)(?::([0-9]{0,5}))?"
    r"(?:[/?#][^\x00-\x20\x7f\ud800-\udfff]*)?",
    re.IGNORECASE,
)
_LARGEST_PORT = 65_535
_NAME = re.compile(r"[A-Za-z0-9._-]{0,100}")
_BLACKLISTED: Literal["blacklisted"] = "blacklisted"


class _PostedUpdate(msgspec.Struct, forbid_unknown_fields=True):
    """An item of `POST /urls`, as it is sent."""

    url: str
    priority: float | Literal["blacklisted"] | None = None
    via: str = ""
    crawl: str = ""
    lifted: bool = False
    again: bool = False
    order: int | None = None


class PostedUpdates(msgspec.Struct, frozen=True):
    """The updates of a request, and their orders if it has a sender."""

    updates: list[UrlUpdate]
    orders: list[int]


_UPDATES = msgspec.json.Decoder(list[_PostedUpdate])
_LEASES = msgspec.json.Decoder(list[str])
_RAW = msgspec.json.Decoder(list[msgspec.Raw])
_ONE_UPDATE = msgspec.json.Decoder(_PostedUpdate)
_ONE_LEASE = msgspec.json.Decoder(str)


def read_updates(body: bytes, sender: str = "") -> PostedUpdates:
    """Return the updates of a JSON body.

    Raises ProtocolError, which names the first invalid item.
    """
    check_queue_name("sender", sender)
    items: list[_PostedUpdate] = _decoded(_UPDATES, _ONE_UPDATE, body)
    updates = [_checked(item, number, sender) for number, item in enumerate(items)]
    return PostedUpdates(updates, [item.order or 0 for item in items] if sender else [])


def write_updates(updates: Sequence[UrlUpdate], orders: Sequence[int] = ()) -> bytes:
    """Return updates as the body of a request, numbered if `orders` are given."""
    items = [_posted(update) for update in updates]
    for item, order in zip(items, orders, strict=False):
        item["order"] = order
    return msgspec.json.encode(items)


def read_leases(body: bytes) -> list[str]:
    """Return the leases of a JSON body; raises ProtocolError as `read_updates` does."""
    leases: list[str] = _decoded(_LEASES, _ONE_LEASE, body)
    for number, lease in enumerate(leases):
        if not re.fullmatch(r"[0-9a-f]{32}-[A-Za-z0-9_-]{1,64}", lease):
            raise ProtocolError(f"item {number}: {_shown(lease)} is not a lease", number)
    return leases


def queue_url(url: str) -> str:
    """Return a URL without its fragment, "" if no queue accepts it."""
    return url.partition("#")[0] if len(url) <= MOST_URL_CHARACTERS and _is_address(url) else ""


def counts_to_json(counts: PutCounts) -> dict[str, int]:
    """Return the counts of put updates as JSON values."""
    return asdict(counts)


def queued_to_json(queued: QueuedUrl) -> dict[str, Any]:
    """Return a URL of a queue as JSON values."""
    return {
        "url": queued.url,
        "host": queued.host,
        "priority": _BLACKLISTED if queued.priority is None else queued.priority,
        "via": queued.via,
        "crawl": queued.crawl,
        "state": str(queued.state),
        **({"lease": queued.lease, "leased_until": queued.leased_until} if queued.lease else {}),
    }


def check_queue_name(what: str, name: str) -> None:
    """Raise ProtocolError if a name is invalid for a crawl or sender."""
    if not _NAME.fullmatch(name):
        raise ProtocolError(
            f"{what} {_shown(name)} is not a name; use up to 100 letters, digits and . _ -"
        )


def _decoded(all_items: Any, one_item: Any, body: bytes) -> Any:
    try:
        items = all_items.decode(body)
    except msgspec.ValidationError as error:
        raise _bad_item(one_item, body) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"the body is not JSON: {error}") from error
    if len(items) > MOST_ITEMS:
        raise ProtocolError(f"{len(items):,} items were sent; at most {MOST_ITEMS:,} are allowed")
    return items


def _bad_item(decoder: Any, body: bytes) -> ProtocolError:
    """Return the error of the first invalid item."""
    try:
        items = _RAW.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        return ProtocolError(f"the body is not a JSON array: {error}")
    for number, item in enumerate(items):
        try:
            decoder.decode(item)
        except msgspec.ValidationError as error:
            return ProtocolError(f"item {number}: {error}", number)
    return ProtocolError("the body is invalid")


def _checked(item: _PostedUpdate, number: int, sender: str) -> UrlUpdate:
    wrong = _what_is_wrong(item, sender)
    if wrong:
        raise ProtocolError(f"item {number}: {wrong}", number)
    priority = None if isinstance(item.priority, str) else item.priority
    # A fragment is never sent to a server.
    url = item.url.partition("#")[0]
    return UrlUpdate(url, priority, item.via, item.crawl, item.lifted, item.again)


def _what_is_wrong(item: _PostedUpdate, sender: str) -> str:
    """Return the error in an item, "" if it is valid."""
    if max(len(item.url), len(item.via)) > MOST_URL_CHARACTERS:
        return f"a URL has at most {MOST_URL_CHARACTERS:,} characters"
    if not _is_address(item.url):
        return f"url {_shown(item.url)} is not an http, https or ftp address"
    if not _NAME.fullmatch(item.crawl):
        return f"crawl {_shown(item.crawl)} is not the name of a crawl"
    if item.priority is None and not item.lifted:
        return 'priority is missing; give a number from 0 to 1, or "blacklisted"'
    if item.priority == _BLACKLISTED and (item.lifted or item.again):
        return "a blacklisted URL cannot be lifted or fetched again in the same update"
    if isinstance(item.priority, float) and not 0 <= item.priority <= 1:
        return f"priority {item.priority:g} is not from 0 to 1"
    if sender and item.order is None:
        return "order is missing; a sender numbers its updates"
    if item.order is not None and not 0 <= item.order <= MOST_ORDER:
        return "order is out of range; give a whole number from 0 to 2⁶³ − 1"
    return ""


def _is_address(url: str) -> bool:
    found = _URL.fullmatch(url)
    return bool(found and 0 < int(found[1] or 80) <= _LARGEST_PORT and url_parts(url).domain)


def _posted(update: UrlUpdate) -> dict[str, Any]:
    item: dict[str, Any] = {"url": update.url}
    if update.priority is not None:
        item["priority"] = update.priority
    elif not update.lifted:
        item["priority"] = _BLACKLISTED
    for name in ("via", "crawl", "lifted", "again"):
        if value := getattr(update, name):
            item[name] = value
    return item


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…")
