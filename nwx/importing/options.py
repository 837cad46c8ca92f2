"""The options of an import, and the report on its exclusion lists."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from nwx.bulk.resources import processors
from nwx.data_classes import dataclass
from nwx.engine.base import Engine
from nwx.errors import DigestError, UrlError, UsageError
from nwx.keys import check_collection, document_id, document_key
from nwx.model import DEFAULT_COLLECTION, PARSERS, Extract
from nwx.values.arguments import check_arguments
from nwx.values.digests import normal_digest
from nwx.values.timestamps import normal_timestamp
from nwx.values.urls import clean_url

if TYPE_CHECKING:
    from nwx.cdx.rows import CdxRow
    from nwx.dedup.exclusion_lists import ExclusionList
    from nwx.extract.extractors import Extractor  # loads the libraries that extract


KEPT_DIGESTS = ("sha256", "none")
"""The values of `--digests`: the additional digests to keep."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import.

    With `deduplicate`, a capture of a known document adds only a date; without, each capture has
    its own document. `item_seconds` and `item_bytes` limit the extraction of one document;
    `patience_seconds` is how long to wait for an unavailable engine. On a server, other importers
    take over the unfinished files of an importer that gave no sign of life for `lease_seconds`.
    `digests` "sha256" keeps an additional digest of each payload from now on, so that it has a
    SHA-1 and a SHA-256; "none" stops it, None leaves the archive's setting. `enrich` names the
    enrichers (`nwx.extract.enrichers`) to run from now on, "all" or "none"; () leaves the archive's
    setting. `extract` replaces `nwx.extract.extract`, and must be importable in other processes.
    Payloads stored in other files are read only within the `external` folders. `extractors` are run
    for payloads in which `extract` finds no text.
    """

    collection: str = DEFAULT_COLLECTION
    jobs: int = 0
    verify: bool = False
    digests: str | None = None
    enrich: tuple[str, ...] = ()
    deduplicate: bool = True
    parser: str = "fast"
    item_seconds: float = 20.0
    item_bytes: int = 2 << 30
    patience_seconds: float = 120.0
    lease_seconds: float = 60.0
    extract: Callable[..., Extract] | None = None
    external: tuple[str, ...] = ()
    extractors: "tuple[Extractor, ...]" = ()

    def __post_init__(self) -> None:
        check_collection(self.collection)
        if self.parser not in PARSERS:
            raise UsageError(f"there is no parser {self.parser!r}; use {' or '.join(PARSERS)}")
        if self.digests not in (None, *KEPT_DIGESTS):
            raise UsageError(f"digests is {self.digests!r}; choose {' or '.join(KEPT_DIGESTS)}")
        if self.jobs < 0 or min(self.item_seconds, self.lease_seconds) <= 0:
            raise UsageError("jobs and time limits must be greater than 0")

    @property
    def processes(self) -> int:
        """The number of files to read at once: `jobs`, or the cores available to this process."""
        return self.jobs or processors()


def import_options(collection: str, options: Mapping[str, Any]) -> ImportOptions:
    """Return the options of an import; raises UsageError on an unknown one, or a wrong type."""
    known = [one.name for one in fields(ImportOptions)]
    if unknown := set(options) - set(known):
        raise UsageError(f"there is no option {min(unknown)!r}; use {', '.join(known)}")
    return check_arguments(ImportOptions)(collection=collection, **options)


def kept_digests(engine: Engine, options: ImportOptions) -> ImportOptions:
    """Return options with the archive's setting of additional digests, unless they set it.

    If they set it, it becomes the archive's setting from now on.
    """
    if options.digests:
        engine.digests.keep(wanted=options.digests == KEPT_DIGESTS[0])
        return options
    return replace(options, digests=KEPT_DIGESTS[0] if engine.digests.is_kept() else None)


def kept_enrichers(engine: Engine, options: ImportOptions) -> ImportOptions:
    """Return options with the archive's setting of enrichers, unless they set it.

    If they set it, it becomes the archive's setting from now on.
    """
    asked = options.enrich or engine.digests.enrichers()
    if not asked:
        return options
    # Imported late: it loads the page parsers, and few archives have enrichers.
    from nwx.extract.enrichers import check_enrichers

    names = check_enrichers(asked)
    engine.digests.keep_enrichers(names)
    return replace(options, enrich=names)


_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class ExclusionReport:
    """Counts of an import's exclusion lists: lines read, distinct entries, entries met and unmet.

    `met_before` counts the entries that only earlier imports met, `problems_total` the lines that
    could not be read.
    """

    lines: int
    entries: int
    met: int
    met_before: int
    unmet: int
    problems_total: int

    @property
    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)


def report_exclusion(
    engine: Engine, excluded: "ExclusionList", collection: str, excluded_before: int
) -> ExclusionReport:
    """Return the report on the entries of exclusion lists.

    An entry met by an earlier import of the same files counts too: the archive has its date.
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
    engine: Engine, lines: "Sequence[CdxRow]", collection: str
) -> "Iterator[tuple[CdxRow, str]]":
    """Yield the lines whose dates are in the archive, with their full timestamps."""
    ids = [_id_of(line) for line in lines]
    found = engine.dates(list(set(ids) - {""}))
    seen = {id: set(dates.seen) for id, dates in found.items()}
    for line, id in zip(lines, ids, strict=True):
        timestamp = normal_timestamp(line.timestamp)
        if (timestamp, collection) in seen.get(id, ()):
            yield line, timestamp


def _id_of(line: "CdxRow") -> str:
    try:
        url = clean_url(line.url.encode("utf-8", "surrogateescape"))
        return document_id(document_key(url, normal_digest(line.digest)))
    except (DigestError, UrlError):
        return ""
