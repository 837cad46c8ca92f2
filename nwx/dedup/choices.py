"""What can be chosen for a deduplication: keys, what is kept, and what becomes of revisits."""

from enum import StrEnum


class Key(StrEnum):
    """What two captures must have in common for one to be a duplicate of the other."""

    URL_DIGEST = "url+digest"
    URLKEY_DIGEST = "urlkey+digest"
    DIGEST = "digest"


class Keep(StrEnum):
    """Which capture of a key is none of the duplicates."""

    OLDEST = "oldest"
    NEWEST = "newest"
    LARGEST = "largest"  # the longest record; the oldest of several
    ORIGINAL = "original"  # the oldest that is no revisit; the oldest if all are


class Revisits(StrEnum):
    """What becomes of revisit records."""

    IN = "in"
    OUT = "out"
    ONLY = "only"
