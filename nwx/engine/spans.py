"""Stretches of captures in the order of a CDX, and captures by their nearness to a moment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nwx.cdx.rows import CdxRow
from nwx.model import Capture
from nwx.values.timestamps import seconds_between


@dataclass(frozen=True, slots=True)
class CdxSpan:
    """The captures from one place in the order of a CDX up to, but without, another.

    A place is the beginning of a line: `urlkey`, or `urlkey timestamp`,
    compared as UTF-8 bytes. `collection` "" means all of them, `revisits`
    None originals and revisits alike.
    """

    start: str
    end: str
    newest_first: bool = False
    collection: str = ""
    revisits: bool | None = None

    def bounds(self) -> tuple[str, str, str, str]:
        """Return urlkey and timestamp of the start, and of the end."""
        first, _, since = self.start.partition(" ")
        last, _, until = self.end.partition(" ")
        return first, since, last, until

    def beyond(self, row: CdxRow) -> bool:
        """Return whether a row comes after another's place, in the order of this span."""
        place = f"{row.urlkey} {row.timestamp} "
        return place < self.start if self.newest_first else place >= self.end


@dataclass(frozen=True, slots=True)
class CdxLineForm:
    """What lines are made of: the places of fields in a `CdxRow`, and how digests are spelled."""

    places: tuple[int, ...]
    bare_digests: bool


@dataclass(frozen=True, slots=True)
class CdxBlock:
    """Some captures of a span: so many lines as one text, or rows where these are not plain."""

    text: str = ""
    number: int = 0
    rows: Sequence[CdxRow] = ()


def exactly(urlkey: str, since: str = "", until: str = "") -> CdxSpan:
    """Return the span of one urlkey, from a timestamp on and up to, but without, another."""
    end = f"{urlkey} {until}" if until else f"{urlkey}!"
    return CdxSpan(f"{urlkey} {since}", end)


class KeysAtTime(NamedTuple):
    """Urlkeys, and the moment (14 digits) that the captures wanted of them are near to."""

    urlkeys: tuple[str, ...]
    timestamp: str


def nearest_captures(captures: Iterable[Capture], timestamp: str, most: int) -> list[Capture]:
    """Return the captures nearest to a moment, nearest first, the earlier of two as near."""

    def order(capture: Capture) -> tuple[float, str, str, str, int, str]:
        return (
            seconds_between(capture.timestamp, timestamp),
            capture.timestamp,
            capture.urlkey,
            capture.source_file,
            capture.source_file_offset,
            capture.collection,
        )

    return sorted(captures, key=order)[:most]
