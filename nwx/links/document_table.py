"""The linking documents of a build: their numbers, sources, hosts, dates and cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.texts import packed_texts
from nwx.links.parts import LinkPart
from nwx.values.link_places import domain_of_host, host_of_urlkey

NO_DOCUMENT = -1
_YEAR = 10**10


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """The linking documents as arrays, and how those of parts are numbered.

    `numbers` has for each part the numbers of its documents, NO_DOCUMENT of
    those that do not count any more. `cells` are pairs of year and
    collection by their codes. Documents are numbered in the order of source
    (urlkey) and id, and so are sources, hosts and domains of their texts.
    """

    arrays: dict[str, Array]
    numbers: list[Array]
    cells: list[tuple[int | None, str]]
    sources: pl.Series
    hosts: pl.Series

    @property
    def size(self) -> int:
        """The number of documents."""
        return len(self.arrays["state"])


def document_table(parts: Sequence[LinkPart], states: pl.DataFrame) -> DocumentTable:
    """Return the table of those documents of parts that have the states of now.

    `states` has the columns id and state.
    """
    documents = _documents(parts, states)
    numbers = _numbers(parts, documents)
    sources = documents["source"].unique().sort()
    hosts, of_source = _coded([host_of_urlkey(key) for key in sources])
    domains, of_host = _coded(list(map(domain_of_host, hosts)))
    source = (documents["source"].rank("dense") - 1).to_numpy().astype(np.uint32)
    host = of_source[source] if len(source) else source
    dates, labels = _dates(parts, numbers)
    cells, cell_arrays = _cells(dates, labels, len(documents))
    arrays: dict[str, Array] = {
        "id": np.frombuffer(b"".join(documents["id"]), np.uint8),
        "state": documents["state"].to_numpy(),
        "refused": documents["refused"].to_numpy(),
        "source": source,
        "host": host,
        "domain": of_host[host] if len(source) else source,
        **packed_texts(documents["url"].to_list(), "url"),
        **packed_texts(sources.to_list(), "source"),
        **packed_texts(hosts, "host"),
        **packed_texts(domains, "domain"),
        **cell_arrays,
    }
    return DocumentTable(arrays, numbers, cells, sources, pl.Series(hosts, dtype=pl.String))


def _coded(texts: list[str]) -> tuple[list[str], Array]:
    """Return the different texts in order, and the place of each of all texts among them."""
    series = pl.Series(texts, dtype=pl.String)
    codes = (series.rank("dense") - 1).to_numpy() if texts else np.zeros(0)
    return series.unique().sort().to_list(), codes.astype(np.uint32)


def _documents(parts: Sequence[LinkPart], states: pl.DataFrame) -> pl.DataFrame:
    frames = [
        part.table("documents")
        .with_row_index("local")
        .with_columns(part=pl.lit(number, dtype=pl.UInt32))
        for number, part in enumerate(parts)
    ]
    if not frames:
        schema: dict[str, Any] = {"local": pl.UInt32, "id": pl.Binary, "state": pl.UInt64,
            "source": pl.String, "url": pl.String, "refused": pl.UInt32,
            "part": pl.UInt32}  # fmt: skip
        return pl.DataFrame(schema=schema)
    found = pl.concat(frames).join(states, on=["id", "state"], how="semi")
    return found.unique("id", keep="first").sort("source", "id")


def _numbers(parts: Sequence[LinkPart], documents: pl.DataFrame) -> list[Array]:
    numbers = [np.full(len(part.table("documents")), NO_DOCUMENT, np.int64) for part in parts]
    of_part, local = documents["part"].to_numpy(), documents["local"].to_numpy()
    order = np.argsort(of_part, kind="stable")
    bounds = np.searchsorted(of_part[order], np.arange(len(parts) + 1))
    for number, array in enumerate(numbers):
        found = order[bounds[number] : bounds[number + 1]]
        array[local[found]] = found
    return numbers


def _dates(parts: Sequence[LinkPart], numbers: Sequence[Array]) -> tuple[pl.DataFrame, list[str]]:
    """Return the dates of documents, and the names of collections by their codes."""
    schema: dict[str, Any] = {
        "document": pl.Int64,
        "timestamp": pl.Int64,
        "collection": pl.String,
    }
    frames = [pl.DataFrame(schema=schema)]
    for part, of_part in zip(parts, numbers, strict=True):
        found = part.table("dates")
        numbered = of_part[found["document"].to_numpy()]
        frames.append(found.with_columns(document=pl.Series(numbered, dtype=pl.Int64)))
    dates = pl.concat(frames).filter(pl.col("document") != NO_DOCUMENT)
    return dates, sorted(dates["collection"].unique().to_list())


def _cells(
    dates: pl.DataFrame, collections: list[str], documents: int
) -> tuple[list[tuple[int | None, str]], dict[str, Array]]:
    """Return the cells by their codes, and those of each document with first and last date."""
    dates = dates.with_columns(year=pl.col("timestamp") // _YEAR)
    years = sorted(dates["year"].unique().to_list())
    both = dates.select("year", "collection").unique().sort("year", "collection").rows()
    cells: list[tuple[int | None, str]] = [
        (None, ""),
        *((year, "") for year in years),
        *((None, name) for name in collections),
        *both,
    ]
    coded = pl.DataFrame(
        [(year, name, code) for code, (year, name) in enumerate(cells)],
        schema={"year": pl.Int64, "collection": pl.String, "cell": pl.UInt32},
        orient="row",
    )
    no_year, any_name = pl.lit(None, dtype=pl.Int64), pl.lit("", dtype=pl.String)
    every = pl.concat(
        [
            dates,
            dates.with_columns(collection=any_name),
            dates.with_columns(year=no_year),
            dates.with_columns(year=no_year, collection=any_name),
        ]
    )
    found = (
        every.group_by("document", "year", "collection")
        .agg(first=pl.col("timestamp").min(), last=pl.col("timestamp").max())
        .join(coded, on=["year", "collection"], nulls_equal=True)
        .sort("document", "cell")
    )
    starts = np.searchsorted(found["document"].to_numpy(), np.arange(documents + 1))
    return cells, {
        "cell_starts": starts,
        "cell_code": found["cell"].to_numpy(),
        "cell_first": found["first"].to_numpy(),
        "cell_last": found["last"].to_numpy(),
    }
