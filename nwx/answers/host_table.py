"""The hosts of an archive as a table."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from nwx.answers.tables import ResultTable
from nwx.engine.document_index import Work, working

if TYPE_CHECKING:
    import polars as pl

    from nwx.engine.base import Engine

_COUNTED = ("months", "statuses", "types", "languages")


class HostOrder(StrEnum):
    """Sort orders of hosts: names ascending, numbers descending."""

    CAPTURES = "captures"
    HOST = "host"
    DOCUMENTS = "documents"
    BYTES = "bytes"
    PAGERANK = "pagerank"


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value and the number of captures that have it."""

    value: str
    captures: int


@dataclass(frozen=True, slots=True)
class ArchivedHost:
    """The counts of a host; `pagerank` and `harmonic` are None if links were not inverted.

    `documents` counts distinct documents, `bytes` is the size of payloads. `months` are in order,
    other counts have the most frequent value first.
    """

    host: str
    domain: str
    captures: int
    documents: int
    bytes: int
    months: tuple[ValueCount, ...]
    statuses: tuple[ValueCount, ...]
    types: tuple[ValueCount, ...]
    languages: tuple[ValueCount, ...]
    robots: bool
    sitemap: bool
    pagerank: float | None
    harmonic: float | None


class HostTable(ResultTable[ArchivedHost]):
    """Hosts with their counts; in CSV, lists are written as `200:12 404:1`."""

    def __init__(self, frame: "pl.DataFrame") -> None:
        self._frame = frame

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._frame.columns)

    def __iter__(self) -> Iterator[ArchivedHost]:
        return map(_host, self._frame.iter_rows(named=True))

    def __len__(self) -> int:
        return len(self._frame)

    def rows_between(self, start: int, stop: int | None) -> list[ArchivedHost]:
        return list(HostTable(self._frame[start:stop]))

    def frames(self) -> Iterator["pl.DataFrame"]:
        """Yield all hosts as one frame; list columns contain structs."""
        yield self._frame

    def cells(self, row: ArchivedHost) -> Sequence[object]:
        values = (getattr(row, name) for name in self.columns)
        return [_joined(one) if isinstance(one, tuple) else one for one in values]

    def chosen(
        self, name: str = "", sort: str = HostOrder.CAPTURES, *, reverse: bool = False
    ) -> "HostTable":
        """Return the hosts whose names contain a text; `sort` is a value of HostOrder."""
        import polars as pl

        frame = self._frame
        if name:
            frame = frame.filter(pl.col("host").str.contains(name.lower(), literal=True))
        order = HostOrder(sort)
        down = (order is not HostOrder.HOST) ^ reverse
        frame = frame.sort(order, "host", descending=[down, False], nulls_last=True)
        return HostTable(frame)


def _host(row: Mapping[str, Any]) -> ArchivedHost:
    counts = {name: tuple(ValueCount(**one) for one in row[name]) for name in _COUNTED}
    return ArchivedHost(**{**row, **counts})


def _joined(counts: Sequence[ValueCount]) -> str:
    return " ".join(f"{one.value or '-'}:{one.captures}" for one in counts)


class KeptHosts:
    """The hosts of an engine, counted again after captures or links change."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._guard = threading.Lock()
        self._stamp = "", ""
        self._table: HostTable | None = None

    def table(self) -> HostTable:
        """Return the hosts, ordered by site."""
        from nwx.exports.hosts import hosts_frame

        stamp = self._engine.facet_store().stamp(), self._engine.inlink_index().version()
        with self._guard:
            if self._table is None or self._stamp != stamp:
                with working(Work()):  # not under one query's deadline: the result is shared
                    self._table = HostTable(hosts_frame(self._engine))
                self._stamp = stamp
            return self._table
