"""What an import says of its exclusion lists."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from nwx.engine.base import Engine
from nwx.errors import DigestError, UrlError
from nwx.keys import document_id, document_key
from nwx.values.digests import normal_digest
from nwx.values.timestamps import normal_timestamp
from nwx.values.urls import clean_url

if TYPE_CHECKING:
    from nwx.cdx.lines import CdxLine
    from nwx.dedup.exclusion_lists import ExclusionList

_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class ExclusionReport:
    """The lists of an import: lines read, different entries, those met and those never met.

    `met_before` of the entries met were met by earlier imports only.
    `problems_total` counts lines that could not be read.
    """

    lines: int
    entries: int
    met: int
    met_before: int
    unmet: int
    problems_total: int

    @property
    def as_json(self) -> dict[str, Any]:
        """The report as programs read it."""
        return asdict(self)


def report_exclusion(
    engine: Engine, excluded: "ExclusionList", collection: str, excluded_before: int
) -> ExclusionReport:
    """Return what became of the entries of lists.

    Where earlier imports left captures out of the same files, an entry may
    have been met then: in that case the archive has its date.
    """
    met = excluded.met
    if excluded_before:
        _note_met_before(engine, excluded, collection, excluded_before)
    in_all = excluded.met
    return ExclusionReport(
        lines=excluded.lines,
        entries=excluded.entries,
        met=in_all,
        met_before=in_all - met,
        unmet=excluded.entries - in_all,
        problems_total=excluded.problems_total,
    )


def _note_met_before(
    engine: Engine, excluded: "ExclusionList", collection: str, at_most: int
) -> None:
    begun, noted = excluded.met, 0
    lines = excluded.unmet()
    while noted < at_most and (some := list(islice(lines, _AT_ONCE))):
        for line, timestamp in _dated(engine, some, collection):
            noted += excluded.covers(line.url, line.digest, timestamp)
        if noted >= at_most:  # an entry may be in the lists twice
            noted = excluded.met - begun


def _dated(
    engine: Engine, lines: "Sequence[CdxLine]", collection: str
) -> "Iterator[tuple[CdxLine, str]]":
    """Yield those of the lines whose dates the archive has, with their full timestamps."""
    ids = [_id_of(line) for line in lines]
    found = engine.dates(list(set(ids) - {""}))
    seen = {id: set(dates.seen) for id, dates in found.items()}
    for line, id in zip(lines, ids, strict=True):
        timestamp = normal_timestamp(line.timestamp)
        if (timestamp, collection) in seen.get(id, ()):
            yield line, timestamp


def _id_of(line: "CdxLine") -> str:
    try:
        url = clean_url(line.url.encode("utf-8", "surrogateescape"))
        return document_id(document_key(url, normal_digest(line.digest)))
    except (DigestError, UrlError):
        return ""
