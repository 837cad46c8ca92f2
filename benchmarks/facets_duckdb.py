"""The same facet questions, answered by DuckDB from Parquet files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from nwx.facets.criteria import Criterion
from nwx.facets.question import FacetCondition, FacetQuestion

COUNTED_FEATURES = ("captures", "unique_documents", "unique_urls", "bytes")

_COUNTED = "count(*) AS captures, count(DISTINCT document), count(DISTINCT url), sum(size_bytes)"
_ORDERS = {one: one.definition.values for one in (Criterion.SIZE, Criterion.DEPTH)}
"""Criteria that are numbers in DuckDB: the positions of their values."""
_SIZE_ENDS = (1, 1229, 15_360, 153_600, 1_468_007, 15_728_640, 125_829_120)

_VIEW = """
SELECT CASE WHEN fetch_status BETWEEN 200 AND 599
         THEN ['ok', 'redirection', 'request_error', 'server_error'][fetch_status // 100 - 1]
         ELSE 'ignored' END AS status,
    substr(timestamp, 1, 4) || '-' || substr(timestamp, 5, 2) AS month,
    url_host_private_domain AS site, content_type_norm AS type,
    split_part(url_host_private_suffix, '.', -1) AS tld, {size} AS size,
    CASE WHEN coalesce(hops, '') = '' THEN {unknown}
         ELSE least(length(hops) - length(replace(hops, 'L', '')), 50) END AS depth,
    content_digest AS document, url, content_length AS size_bytes
FROM read_parquet('{files}', hive_partitioning = false)
"""


class Peer:
    """DuckDB with two threads, and Parquet files with criteria as columns."""

    def __init__(self, export: Path, folder: Path, memory: str) -> None:
        settings = {"memory_limit": memory, "temp_directory": str(folder / "spill"), "threads": 2}
        self._connection = duckdb.connect(config=settings)
        bounds = " ".join(
            f"WHEN content_length < {end} THEN {place}" for place, end in enumerate(_SIZE_ENDS)
        )
        size = f"CASE {bounds} ELSE {len(_SIZE_ENDS)} END"
        view = _VIEW.format(
            size=size, unknown=len(_ORDERS[Criterion.DEPTH]) - 1, files=f"{export}/*/*.parquet"
        )
        self._connection.execute(
            f"COPY ({view}) TO '{folder}/parquet' (FORMAT parquet, PARTITION_BY (month))"
        )
        self._connection.execute(
            "CREATE VIEW captures AS SELECT * FROM"
            f" read_parquet('{folder}/parquet/*/*.parquet', hive_partitioning = true,"
            " hive_types = {'month': VARCHAR})"
        )

    def answer(self, question: FacetQuestion) -> list[tuple[Any, ...]]:
        """Return the features of a question, or the rows of its list: values, then features."""
        by = ", ".join(question.by)
        query = f"SELECT {by + ', ' if by else ''}{_COUNTED} FROM captures"
        where = [_condition(one) for one in question.where]
        if where:
            query += f" WHERE {' AND '.join(where)}"
        if by:
            query += f" GROUP BY {by} ORDER BY captures DESC LIMIT {question.limit}"
        rows = self._connection.execute(query).fetchall()
        return [_named(row, question.by) for row in rows]

    def close(self) -> None:
        """Close the files."""
        self._connection.close()


def _condition(condition: FacetCondition) -> str:
    name = condition.criterion.value
    order = _ORDERS.get(condition.criterion)
    if condition.is_span:
        ends = [condition.low, condition.high]
        low, high = (str(order.index(end)) if order else _text(end) for end in ends)
        found = f"{name} BETWEEN {low} AND {high}"
    else:
        values = (str(order.index(one)) if order else _text(one) for one in condition.values)
        found = f"{name} IN ({', '.join(values)})"
    return f"NOT ({found})" if condition.negated else found


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _named(row: Sequence[Any], by: Sequence[Criterion]) -> tuple[Any, ...]:
    named = [
        _ORDERS[name][value] if name in _ORDERS else value
        for name, value in zip(by, row, strict=False)
    ]
    return (*named, *(int(number or 0) for number in row[len(by) :]))
