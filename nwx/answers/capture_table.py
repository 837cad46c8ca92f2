"""The captures of an archive as CDX rows: streamed, or converted to tables block by block."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nwx.answers.tables import ResultTable, bar_chart, rows_by_year
from nwx.cdx.layouts import CDX_FIELDS
from nwx.cdx.rows import CdxRow
from nwx.cdxserver.filters import field_value, field_values
from nwx.cdxserver.query_model import PYWB, OutputForm, Parameters
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import EngineSource
from nwx.errors import UsageError
from nwx.values.digests import DigestForm

if TYPE_CHECKING:
    import polars as pl

    from nwx.cdxserver.query_model import CdxQuery
    from nwx.engine.base import Engine

TABLE_COLUMNS = (
    "urlkey",
    "timestamp",
    "url",
    "mime",
    "status",
    "digest",
    "length",
    "offset",
    "filename",
)
"""The default columns of captures; any CDX field can be a column."""

_NUMBERS = frozenset(("status", "statuscode", "length", "offset"))
_REPEATED = frozenset(("mime", "mimetype", "filename", "collection", "redirect", "robotflags"))
_BLOCK_BYTES = 8 << 20


class Captures(ResultTable[CdxRow]):
    """Captures in the order of urlkey and timestamp, each a CDX row.

    Digests are spelled as in CDX files, without the name of the algorithm.
    """

    def __init__(
        self,
        engine: "Callable[[], Engine]",
        parameters: Sequence[tuple[str, str]],
        columns: Sequence[str] = TABLE_COLUMNS,
    ) -> None:
        self._asked = engine, tuple(parameters), tuple(columns)
        self._engine = engine
        self._has_rows = ("limit", "0") not in parameters  # a limit of 0 means all in a CDX query
        self._columns = tuple(columns)
        for name in self._columns:
            field_value(name, "columns")
        self._cells = field_values(self._columns, None)
        if len(set(self._columns)) < len(self._columns):
            raise UsageError(f"columns are {', '.join(self._columns)}; list each only once")
        self.query = self._question(parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        return Captures, self._asked

    def _question(self, parameters: Sequence[tuple[str, str]]) -> "CdxQuery":
        # A CDX server looks for a text without a field in whole lines: `status=200` is in none.
        for name, value in parameters:
            if name == "filter" and ":" not in value:
                raise UsageError(f"filter is {value!r}; write [!][=~]FIELD:TEXT")
        named = [*parameters, ("output", "cdx"), ("digest", "bare")]
        if not any(name == "url" for name, _ in parameters):
            named.append(("url", "*"))
        query = CdxServer(()).query(Parameters(named), PYWB)
        return replace(query, fields=self._columns, output=OutputForm.TEXT)

    @property
    def columns(self) -> tuple[str, ...]:
        return self._columns

    def _server(self) -> CdxServer:
        engine = self._engine()
        sources = [EngineSource(engine)] if self._has_rows else []
        return CdxServer(sources, engine.aliases, engine.digests)

    def __iter__(self) -> Iterator[CdxRow]:
        spelled = field_values(CDX_FIELDS, DigestForm.BARE)
        for row in self._server().rows(self.query):
            yield CdxRow._make((*spelled(row), row.collection, row.extra))

    @cached_property
    def _count(self) -> int:
        return sum(piece.count(b"\n") for piece in self.lines())

    def __len__(self) -> int:
        return self._count

    def lines(self) -> Iterator[bytes]:
        """Stream pieces of whole lines: the columns of each capture, separated by spaces."""
        return self._server().lines(self.query, PYWB)

    def cells(self, row: CdxRow) -> Sequence[object]:
        return [
            _number(cell) if name in _NUMBERS else cell
            for name, cell in zip(self._columns, self._cells(row), strict=True)
        ]

    def frames(self) -> Iterator["pl.DataFrame"]:
        blocks = _blocks(self.lines())
        with ThreadPoolExecutor(1) as pool:
            # A block is parsed while the next is read.
            before = pool.submit(_frame, next(blocks, b""), self._columns)
            for block in blocks:
                following = pool.submit(_frame, block, self._columns)
                yield before.result()
                before = following
            yield before.result()

    def chart(self) -> str:
        """Return a chart of captures by year as SVG."""
        return bar_chart(rows_by_year(row.timestamp for row in self))


def _blocks(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces joined to blocks of at least _BLOCK_BYTES, except the last."""
    held: list[bytes] = []
    size = 0
    for piece in lines:
        held.append(piece)
        size += len(piece)
        if size >= _BLOCK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _frame(block: bytes, columns: Sequence[str]) -> "pl.DataFrame":
    import polars as pl

    schema = {name: _column_type(name) for name in columns}
    if not block:
        return pl.DataFrame(schema=schema)
    return pl.read_csv(
        block,
        separator=" ",
        has_header=False,
        quote_char=None,
        new_columns=list(columns),
        schema=schema,
        null_values={name: "-" for name in columns if name in _NUMBERS},
        encoding="utf8-lossy",
    )


def _column_type(name: str) -> "pl.DataType":
    import polars as pl

    if name in _NUMBERS:
        return pl.Int64()
    return pl.Categorical() if name in _REPEATED else pl.String()


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
