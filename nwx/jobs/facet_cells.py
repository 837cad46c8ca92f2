"""Executor steps that count combinations: captures, documents and URLs by cell.

A cell is a combination of a grouping; its number stores the code of each criterion in separate
bits (`CellLayout`), and zeros for criteria that the grouping does not name. The cells of all
groupings are therefore the cells of the finest one with bits masked. All functions take and
yield batches of signed numbers; the caller adds up rows of the same cell.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl
import pyarrow as pa

from nwx.bulk.arrays import Array
from nwx.facets.codes import check_bits
from nwx.facets.criteria import CUBE, Criterion
from nwx.facets.definitions import UNKNOWN
from nwx.jobs.pieces import mapped

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_Batches = Iterator[pa.RecordBatch]

CRITERIA = (Criterion.STATUS, *CUBE)
"""The criteria whose codes a cell has."""

GROUPINGS = tuple(some for size in range(len(CUBE) + 1) for some in combinations(CUBE, size))
"""The criteria of each grouping, by its number, without the status, which all have."""

_LONG = pa.int64()
COUNT_SCHEMA = pa.schema(
    [("grouping", _LONG), ("cell", _LONG), ("captures", _LONG), ("bytes", _LONG)]
)
"""The captures of a cell and their bytes, or its distinct documents or URLs and their bytes."""

_TEXT = ("first", "second")


@dataclass(frozen=True, slots=True)
class CellLayout:
    """Layout of criterion codes in cell numbers: the lowest bit and mask of each."""

    places: Mapping[Criterion, tuple[int, int]]

    @classmethod
    def of_sizes(cls, sizes: Mapping[Criterion, int]) -> Self:
        """Return the layout for a number of codes per criterion.

        Raises EngineError if the codes do not fit into 63 bits.
        """
        places, bit = {}, 0
        for name in CRITERIA:
            bits = max(1, (sizes[name] - 1).bit_length())
            places[name] = bit, ((1 << bits) - 1) << bit
            bit += bits
        check_bits(bit)
        return cls(places)

    def cells(self, codes: Mapping[Criterion, Array]) -> Array:
        """Return the numbers (int64) of the finest cells of captures."""
        found: Array = np.zeros(len(codes[Criterion.STATUS]), np.int64)
        for name, (bit, _) in self.places.items():
            found |= codes[name].astype(np.int64) << bit
        return found

    def codes(self, cells: Array, criterion: Criterion) -> Array:
        """Return the codes of a criterion in the numbers of cells."""
        bit, mask = self.places[criterion]
        return (cells & mask) >> bit

    def mask(self, grouping: int) -> int:
        """Return the bits of the cells of a grouping."""
        named = (Criterion.STATUS, *GROUPINGS[grouping])
        return sum(self.places[name][1] for name in named)


Frequent = Sequence[Array]
"""The cells to count of each grouping, in order (int64)."""


def projected_counts(batches: Iterable[pa.RecordBatch], layout: CellLayout) -> _Batches:
    """Yield captures and bytes of the cells of all groupings.

    The batches have columns `cell`, `captures` and `bytes`, for the finest cells.
    """
    for batch in batches:
        finest = pl.DataFrame(batch)
        for grouping in range(len(GROUPINGS)):
            yield from _counts(grouping, _masked(finest, layout, grouping))


def _masked(finest: pl.DataFrame, layout: CellLayout, grouping: int) -> pl.DataFrame:
    """Return rows of the finest cells with the cells of a grouping."""
    return finest.with_columns(pl.col("cell") & layout.mask(grouping))


def _counts(grouping: int, rows: pl.DataFrame) -> _Batches:
    """Yield the sums of captures and bytes by cell."""
    added = rows.group_by("cell").agg(pl.col("captures", "bytes").sum())
    numbered = added.select(pl.lit(grouping, pl.Int64).alias("grouping"), pl.all())
    yield from numbered.to_arrow().cast(COUNT_SCHEMA).to_batches()


def counted_once(
    batches: Iterable[pa.RecordBatch], layout: CellLayout, frequent: Frequent
) -> _Batches:
    """Yield the number of documents or URLs in the frequent cells, and their bytes.

    The batches have columns `first` and `second` (the hashes of a text), a `cell` of the finest
    grouping, and `size_bytes`: all rows of some texts, each cell once per text. The largest size of
    a text in a cell counts.
    """
    pieces = list(batches)
    if not pieces:
        return
    rows = pl.DataFrame(pa.Table.from_batches(pieces)).rename({"size_bytes": "bytes"})
    rows = rows.with_columns(captures=pl.lit(1, pl.Int64), alone=pl.len().over(_TEXT) == 1)
    # A text with a single row, as most have, counts once in each cell of that row.
    alone = rows.filter("alone").group_by("cell").agg(pl.col("captures", "bytes").sum())
    rows = rows.filter(~pl.col("alone"))
    for grouping, known in enumerate(frequent):
        if not len(known):
            continue
        of_one, of_several = (
            _masked(some, layout, grouping).filter(pl.col("cell").is_in(pl.Series(known)))
            for some in (alone, rows)
        )
        largest = of_several.group_by(*_TEXT, "cell").agg(pl.col("captures", "bytes").max())
        yield from _counts(grouping, pl.concat([of_one, largest.select(of_one.columns)]))


_DIGEST = ("digest_first", "digest_second")
_URL = ("url_first", "url_second")
_SIZE_UNKNOWN = Criterion.SIZE.definition.values.index(UNKNOWN)
_OF_PAYLOAD = ("type", "size", "size_bytes")


NUMBERED_SCHEMA = pa.schema([("first", pa.int64()), ("second", pa.int64()), ("number", pa.int64())])
"""A text by its hashes, and its number."""


def first_of_places(rows: "DataFrame") -> "DataFrame":
    """Return the rows without repeated records; the first row of a record is kept."""
    from pyspark.sql import functions as f

    place = ("source", "offset")
    others = [name for name in rows.columns if name not in (*place, "task", "row")]
    ordered = f.struct("task", "row", *others)
    first = rows.groupBy(*place).agg(f.min(ordered).alias("first"))
    return first.select(*place, "first.*").select(*rows.columns)


def with_payloads(rows: "DataFrame") -> "DataFrame":
    """Return rows in which revisits have the type and size of their payload.

    `own_type`, `own_size` and `own_size_bytes` are the revisit's own values, null elsewhere; see
    `nwx.facets.codes` for the rule.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    payload = f.when(~f.col("revisit"), _payload())
    by_digest = f.min(payload).over(Window.partitionBy(*_DIGEST))
    by_both = f.min(payload).over(Window.partitionBy(*_DIGEST, *_URL))
    found = rows.withColumn("of_digest", by_digest).withColumn("payload", by_both)
    return found.select(*_resolved(rows.columns))


def _payload() -> "Column":
    """Return the sort key of payloads; for each digest (and URL), the least payload counts."""
    from pyspark.sql import functions as f

    unknown_size = f.col("size") == _SIZE_UNKNOWN
    unknown_type = f.col("type") == UNKNOWN
    return f.struct(
        unknown_size.alias("unknown_size"),
        (-f.col("size_bytes")).alias("less"),
        unknown_type.alias("unknown_type"),
        *_OF_PAYLOAD,
    )


def _resolved(columns: list[str]) -> "Iterator[Column]":
    from pyspark.sql import functions as f

    for name in columns:
        if name not in _OF_PAYLOAD:
            yield f.col(name)
            continue
        unknown = "unknown_type" if name == "type" else "unknown_size"
        known = [
            f.when(f.col("revisit") & ~f.col(f"{payload}.{unknown}"), f.col(f"{payload}.{name}"))
            for payload in ("payload", "of_digest")
        ]
        yield f.coalesce(*known, f.col(name)).alias(name)
    for name in _OF_PAYLOAD:
        yield f.when(f.col("revisit"), f.col(name)).alias(f"own_{name}")


def text_numbers(rows: "DataFrame", kind: str, partitions: int) -> "tuple[DataFrame, int]":
    """Return the texts of a kind (`url`, `digest`), numbered from 0, and their count.

    They have NUMBERED_SCHEMA, and are kept on disk.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as f

    named = rows.select(
        f.col(f"{kind}_first").alias("first"), f.col(f"{kind}_second").alias("second")
    )
    texts = named.distinct().repartition(partitions, "first", "second")
    texts = texts.withColumn("part", f.spark_partition_id()).persist(StorageLevel.DISK_ONLY)
    counted = texts.groupBy("part").count().collect()
    starts, total = {}, 0
    for part, count in sorted((row["part"], row["count"]) for row in counted):
        starts[part], total = total, total + count

    def number(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        passed = 0
        for batch in batches:
            if len(batch):
                start = starts[batch.column("part")[0].as_py()] + passed
                numbers = pa.array(np.arange(start, start + len(batch)))
                columns = [batch.column("first"), batch.column("second"), numbers]
                yield pa.RecordBatch.from_arrays(columns, schema=NUMBERED_SCHEMA)
                passed += len(batch)

    found = mapped(texts.sortWithinPartitions("first", "second"), number, NUMBERED_SCHEMA)
    return found.persist(StorageLevel.DISK_ONLY), total


def with_numbers(rows: "DataFrame", numbers: "DataFrame", kind: str) -> "DataFrame":
    """Return rows with the hashes of a kind of text replaced by numbers."""
    hashes = [f"{kind}_first", f"{kind}_second"]
    named = numbers.toDF(*hashes, kind)
    told = rows.select("task", *hashes).distinct().join(named, hashes)
    return rows.join(told, ["task", *hashes]).drop(*hashes)
