"""What a run over CDX files says when it is over."""

from dataclasses import dataclass, field

from nwx.dedup.capture_filter import Passed
from nwx.dedup.tasks import Savings
from nwx.errors import CdxError


@dataclass(slots=True)
class DedupReport:
    """What was read and found.

    `lines` counts captures that could be read, `not_captures` lines of
    requests, metadata and the like beside them, `keys` the different keys
    among those looked at and those held, `duplicates` the lines written,
    `spared` the captures that are not listed because their line would name
    the one that is kept, being of the same URL, digest and second.
    `problems` lists the first broken lines, `problems_total` counts all.
    """

    lines: int = 0
    not_captures: int = 0
    without_digest: int = 0
    filtered: int = 0
    keys: int = 0
    duplicates: int = 0
    spared: int = 0
    problems_total: int = 0
    problems: list[CdxError] = field(default_factory=list)
    savings: Savings = field(default_factory=Savings)

    def add(self, passed: Passed) -> None:
        """Add the counts of a part."""
        self.lines += passed.lines
        self.not_captures += passed.not_captures
        self.without_digest += passed.without_digest
        self.filtered += passed.filtered
