"""Rows of captures as DataFrames: revisits resolved, texts numbered.

What many captures share (a payload, the number of a URL) is brought to each
task once, and joined with the captures of this task: a URL with very many
captures is spread over the tasks that it lies in.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nwx.facets.criteria import Criterion
from nwx.facets.definitions import UNKNOWN
from nwx.jobs.facets.coded_rows import NUMBERED_SCHEMA, numbered_texts

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_DIGEST = ("digest_first", "digest_second")
_URL = ("url_first", "url_second")
_SIZE_UNKNOWN = Criterion.SIZE.definition.values.index(UNKNOWN)
_OF_PAYLOAD = ("type", "size", "size_bytes")


def first_of_places(rows: "DataFrame") -> "DataFrame":
    """Return the rows without those whose record an earlier one named already."""
    from pyspark.sql import functions as f

    place = ("source", "offset")
    others = [name for name in rows.columns if name not in (*place, "task", "row")]
    ordered = f.struct("task", "row", *others)
    first = rows.groupBy(*place).agg(f.min(ordered).alias("first"))
    return first.select(*place, "first.*").select(*rows.columns)


def with_payloads(rows: "DataFrame") -> "DataFrame":
    """Return rows whose revisits have the type and size of the payload that they refer to.

    `own_type`, `own_size` and `own_size_bytes` are what revisits say
    themselves, null elsewhere; see `nwx.facets.revisits` for the rule.
    """
    from pyspark.sql import functions as f

    revisits = rows.filter("revisit")
    payloads = rows.filter("not revisit")
    asked = revisits.select("task", *_DIGEST, *_URL).distinct()
    best = payloads.groupBy(*_DIGEST, *_URL).agg(f.min(_payload()).alias("payload"))
    by_both = best.join(asked.select(*_DIGEST).distinct(), list(_DIGEST))
    by_digest = by_both.groupBy(*_DIGEST).agg(f.min("payload").alias("of_digest"))
    told = asked.join(by_digest, list(_DIGEST), "left")
    told = told.join(by_both, [*_DIGEST, *_URL], "left")
    found = revisits.join(told, ["task", *_DIGEST, *_URL], "left")
    resolved = found.select(*_resolved(rows.columns))
    return without_own(payloads).unionByName(resolved)


def without_own(rows: "DataFrame") -> "DataFrame":
    """Return rows none of which is a revisit with the columns that revisits have."""
    from pyspark.sql import functions as f

    own = [f.lit(None).cast("string").alias("own_type")]
    own += [f.lit(None).cast("long").alias(f"own_{name}") for name in _OF_PAYLOAD[1:]]
    return rows.select("*", *own)


def _payload() -> "Column":
    """Return what payloads are chosen by: the least of a key is the one that counts."""
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
            f.when(~f.col(f"{payload}.{unknown}"), f.col(f"{payload}.{name}"))
            for payload in ("payload", "of_digest")
        ]
        yield f.coalesce(*known, f.col(name)).alias(name)
    for name in _OF_PAYLOAD:
        yield f.col(name).alias(f"own_{name}")


def text_numbers(rows: "DataFrame", kind: str, partitions: int) -> "tuple[DataFrame, int]":
    """Return the texts of a kind (`url`, `digest`) with numbers from 0 on, and how many there are.

    They have NUMBERED_SCHEMA, and are kept on disk.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema

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
        start = None
        for batch in batches:
            if len(batch):
                part = batch.column("part")[0].as_py()
                start = starts[part] if start is None else start
                yield from numbered_texts([batch], start)
                start += len(batch)

    found = texts.sortWithinPartitions("first", "second").mapInArrow(
        number, from_arrow_schema(NUMBERED_SCHEMA)
    )
    return found.persist(StorageLevel.DISK_ONLY), total


def with_numbers(rows: "DataFrame", numbers: "DataFrame", kind: str) -> "DataFrame":
    """Return rows with the numbers of a kind of text in the place of its hashes."""
    hashes = [f"{kind}_first", f"{kind}_second"]
    named = numbers.toDF(*hashes, kind)
    told = rows.select("task", *hashes).distinct().join(named, hashes)
    return rows.join(told, ["task", *hashes]).drop(*hashes)
