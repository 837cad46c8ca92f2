"""What purging rules say of dates, which have no capture with them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nwx.engine.access.decisions import AccessRules
from nwx.errors import FormatError
from nwx.model import Dates
from nwx.values.urlkeys import urlkey


class DatedKey(NamedTuple):
    """What rules look at in a date: all that a capture has, but for its file."""

    urlkey: str
    url: str
    digest: str
    collection: str
    timestamp: str
    source_file: str = ""


def purged_seen(rules: AccessRules, dates: Dates) -> tuple[tuple[str, str], ...]:
    """Return the pairs of timestamp and collection of a key that rules purge."""
    url, _, digest = dates.key.rpartition(" ")
    try:
        key = urlkey(url)
    except FormatError:
        return ()
    return tuple(
        (timestamp, collection)
        for timestamp, collection in dates.seen
        if rules.purges(DatedKey(key, url, digest, collection, timestamp))
    )


def unpurged_dates(rules: AccessRules, every: Iterable[Dates]) -> Iterator[Dates]:
    """Yield dates not purged by rules; a key with no date left is omitted."""
    if not any(rule.purged for rule in rules.rules):
        yield from every
        return
    for dates in every:
        purged = purged_seen(rules, dates)
        if not purged:
            yield dates
        elif len(purged) < len(dates.seen):
            yield Dates(dates.key, tuple(pair for pair in dates.seen if pair not in purged))
