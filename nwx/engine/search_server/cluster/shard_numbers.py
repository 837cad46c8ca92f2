"""How many shards an index gets, from the expected size of an archive in captures."""

from nwx.model import IndexName
from nwx.settings import ServerSettings

SHARD_BYTES = 40 << 30
"""How large a shard may grow: Elasticsearch advises 10 to 50 GB."""

SHARD_ENTRIES = 200_000_000
"""The most entries of a shard, as Elasticsearch advises; Lucene ends at 2^31 - 1."""

MOST_SHARDS = 1_024
"""The most shards of an index that Elasticsearch makes unless it is set up otherwise."""

_ENTRIES = {
    IndexName.DOCUMENTS: 0.5,
    IndexName.DATES: 0.6,
    IndexName.CAPTURES: 1.0,
    IndexName.PICTURES: 0.2,
}
"""The entries of an index for each capture; indices that are left out stay small."""

_BYTES = {
    IndexName.DOCUMENTS: 9_000,
    IndexName.DATES: 350,
    IndexName.CAPTURES: 400,
    IndexName.PICTURES: 500,
}
"""The bytes of an entry: of a capture about as measured (docs/scale.md), of others estimated."""


def number_of_shards(index: IndexName, settings: ServerSettings) -> int:
    """Return the shards of a new index: as set, and more where more captures are expected."""
    entries = settings.expected_captures * _ENTRIES.get(index, 0.0)
    needed = max(entries * _BYTES.get(index, 0) / SHARD_BYTES, entries / SHARD_ENTRIES)
    # A power of two can be split again and again, and evenly.
    expected = 1
    while expected < min(needed, MOST_SHARDS):
        expected *= 2
    return max(settings.shards, expected)
