"""What programs can ask of the crawler's queue."""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from nwx.engine.indices.crawl_queue import PutCounts, QueueCounts
from nwx.steering.queue.protocol import MOST_LEASE_SECONDS, MOST_LEASED
from webapp.site.openapi import Operation, Parameter


@dataclass(frozen=True, slots=True)
class LeasedUrlAnswer:
    """A URL that was leased; `leased_until` is in seconds since 1970."""

    url: str
    host: str
    priority: float
    via: str
    crawl: str
    state: str
    lease: str | UnsetType = UNSET
    leased_until: float | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class LeasedUrlsAnswer:
    """The URLs that were leased, the one to fetch first at the beginning."""

    urls: tuple[LeasedUrlAnswer, ...]


@dataclass(frozen=True, slots=True)
class FinishedAnswer:
    """How many leased URLs are noted as fetched by this request."""

    finished: int


@dataclass(frozen=True, slots=True)
class ReleasedAnswer:
    """How many leased URLs wait again by this request."""

    released: int


_CRAWL = Parameter("crawl", "the name of a crawl; all crawls without it")
_ERRORS: Mapping[str, str] = {
    "400": "a parameter or an item makes no sense; nothing was changed",
    "401": "the token is missing or wrong",
    "403": "the queue is off",
    "503": "the engine cannot be reached, or is busy",
}
_BODY_ERRORS: Mapping[str, str] = {
    **_ERRORS,
    "413": "the body is too large",
    "415": "the body is compressed",
}

QUEUE_OPERATIONS = (
    Operation(
        "putUrls",
        "/urls",
        "Send URLs with their priorities to the crawler's queue",
        (Parameter("sender", "the name of a sender that numbers its updates"),),
        PutCounts,
        errors={**_BODY_ERRORS, "507": "the queue is full"},
        method="post",
    ),
    Operation(
        "nextUrls",
        "/urls/next",
        "Lease the URLs that are to be fetched next",
        (
            Parameter(
                "n",
                "how many at most; 1 without it",
                {"type": "integer", "minimum": 1, "maximum": MOST_LEASED},
            ),
            Parameter("host", "only URLs of this host"),
            _CRAWL,
            Parameter(
                "seconds",
                "how long the leases last",
                {"type": "number", "minimum": 1, "maximum": MOST_LEASE_SECONDS},
            ),
        ),
        LeasedUrlsAnswer,
        errors=_ERRORS,
    ),
    Operation(
        "finishUrls",
        "/urls/finish",
        "Note that leased URLs were fetched",
        answer=FinishedAnswer,
        errors=_BODY_ERRORS,
        method="post",
    ),
    Operation(
        "releaseUrls",
        "/urls/release",
        "Let leased URLs wait again",
        answer=ReleasedAnswer,
        errors=_BODY_ERRORS,
        method="post",
    ),
    Operation(
        "countUrls",
        "/urls/counts",
        "Count the URLs of the queue by their state",
        (_CRAWL,),
        QueueCounts,
        example="/urls/counts",
    ),
)
