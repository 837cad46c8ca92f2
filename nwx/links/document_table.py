"""The linking documents of a build, and its links as tables by range."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.counts import Texts, cell_rows, joined_texts, packed_texts
from nwx.engine.inlinks.inlink_index import ID_BYTES
from nwx.engine.inlinks.table import SELF, InlinkTable, TargetRange
from nwx.links.parts import LinkPart, places_in
from nwx.model import LinkCell
from nwx.values.urls import domain_of_host, host_of_urlkey

NO_DOCUMENT = -1
_YEAR = 10**10
_ID = pl.Binary
_NARROW_CELLS = 1 << 16

Cell = tuple[int | None, str]
ALL_CELL: Cell = (None, "")


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """The linking documents as arrays, and the numbers of the parts' documents.

    `numbers` has for each part the numbers of its documents, NO_DOCUMENT for documents that do not
    count. `removed` flags among all documents the ones removed by this build. `cells` are pairs of
    year and collection by their codes.
    """

    arrays: dict[str, Array]
    numbers: list[Array]
    cells: list[Cell]
    removed: npt.NDArray[np.bool_]

    @property
    def size(self) -> int:
        """The number of existing documents."""
        return int(np.count_nonzero(self.arrays["alive"]))


def no_documents() -> dict[str, Array]:
    """Return the arrays of a table without documents."""
    numbers = {name: np.zeros(0, np.uint32) for name in ("source", "host", "domain", "refused")}
    texts = [packed_texts((), name) for name in ("url", "source", "host", "domain")]
    return {
        "id": np.zeros(0, np.uint8),
        "state": np.zeros(0, np.uint64),
        "alive": np.zeros(0, bool),
        **numbers,
        **{name: array for one in texts for name, array in one.items()},
        "cell_starts": np.zeros(1, np.int64),
        "cell_code": np.zeros(0, np.uint16),
        "cell_first": np.zeros(0, np.int64),
        "cell_last": np.zeros(0, np.int64),
    }


def living(arrays: Mapping[str, Array]) -> pl.DataFrame:
    """Return the existing documents: number, id and state."""
    numbers = np.flatnonzero(arrays["alive"])
    whole = arrays["id"].tobytes()
    ids = [whole[at * ID_BYTES : (at + 1) * ID_BYTES] for at in numbers.tolist()]
    return pl.DataFrame(
        {"number": numbers, "id": pl.Series(ids, dtype=_ID), "state": arrays["state"][numbers]}
    )


def document_table(
    base: Mapping[str, Array],
    cells: Sequence[Cell],
    parts: Sequence[LinkPart],
    states: pl.DataFrame,
) -> DocumentTable:
    """Return the documents of a base and of parts whose states are current.

    `base` has the arrays of the previous build, `cells` its cells; `states` the columns id and
    state.
    """
    known = living(base)
    kept = known.join(states, on=["id", "state"], how="semi")
    documents = _new_documents(parts, states.join(kept, on="id", how="anti"))
    first = len(base["state"])
    removed = np.zeros(first + len(documents), dtype=bool)
    removed[known["number"].to_numpy()] = True
    removed[kept["number"].to_numpy()] = False
    numbers = _numbers(parts, documents, first)
    alive = np.concatenate([base["alive"] & ~removed[:first], np.ones(len(documents), bool)])
    all_cells, cell_arrays = _cells(_dates(parts, numbers), cells, first, len(documents))
    arrays: dict[str, Array] = {
        "id": np.append(base["id"], np.frombuffer(b"".join(documents["id"]), np.uint8)),
        "state": np.append(base["state"], documents["state"].to_numpy()),
        "refused": np.append(base["refused"], documents["refused"].to_numpy()),
        "alive": alive,
        **joined_texts([base, packed_texts(documents["url"].to_list(), "url")], "url"),
        **_places(base, documents["source"]),
        **_joined_cells(base, cell_arrays, len(all_cells)),
    }
    arrays["order"] = _ranks(np.lexsort([arrays[name] for name in ("source", "host", "domain")]))
    return DocumentTable(arrays, numbers, all_cells, removed)


def _places(base: Mapping[str, Array], sources: pl.Series) -> dict[str, Array]:
    """Return the numbers of sources, hosts and domains, and their texts, new ones last."""
    known = {name: Texts(base, name) for name in ("source", "host", "domain")}
    source_texts, source = _coded(base, known["source"], sources)
    fresh = source_texts[len(known["source"]) :]
    host_of_fresh = pl.Series(list(map(host_of_urlkey, fresh)), dtype=pl.String)
    host_texts, host = _coded(base, known["host"], host_of_fresh)
    fresh_hosts = host_texts[len(known["host"]) :]
    domain_of_fresh = pl.Series(list(map(domain_of_host, fresh_hosts)), dtype=pl.String)
    domain_texts, domain = _coded(base, known["domain"], domain_of_fresh)
    of_source = np.zeros(len(source_texts), np.uint32)
    of_source[base["source"]] = base["host"]
    of_source[len(known["source"]) :] = host
    of_host = np.zeros(len(host_texts), np.uint32)
    of_host[base["host"]] = base["domain"]
    of_host[len(known["host"]) :] = domain
    numbers = np.append(base["source"], source)
    hosts = of_source[numbers]
    return {
        "source": numbers,
        "host": hosts,
        "domain": of_host[hosts],
        "source_rank": _ranks(source_texts.arg_sort().to_numpy()),
        **packed_texts(source_texts.to_list(), "source"),
        **packed_texts(host_texts.to_list(), "host"),
        **packed_texts(domain_texts.to_list(), "domain"),
    }


def _coded(base: Mapping[str, Array], known: Texts, texts: pl.Series) -> tuple[pl.Series, Array]:
    """Return all texts, sorted new ones after known ones, and the numbers of `texts`."""
    before = pl.Series(known.all(), dtype=pl.String)
    fresh = texts.unique().sort()
    fresh = fresh.filter(~fresh.is_in(before.implode())) if len(before) else fresh
    together = pl.concat([before, fresh])
    return together, places_in(texts, together).astype(np.uint32)


def _ranks(order: Array) -> Array:
    ranks = np.zeros(len(order), dtype=np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    return ranks


def _new_documents(parts: Sequence[LinkPart], states: pl.DataFrame) -> pl.DataFrame:
    """Return the documents of parts with these states, ordered by source and id."""
    schema: dict[str, Any] = {
        "local": pl.UInt32, "id": _ID, "state": pl.UInt64, "source": pl.String,
        "url": pl.String, "refused": pl.UInt32, "part": pl.UInt32,
    }  # fmt: skip
    frames = [pl.DataFrame(schema=schema)]
    for number, part in enumerate(parts):
        found = part.table("documents").with_row_index("local")
        frames.append(found.with_columns(part=pl.lit(number, dtype=pl.UInt32)))
    found = pl.concat(frames).join(states, on=["id", "state"], how="semi")
    return found.unique("id", keep="first").sort("source", "id")


def _numbers(parts: Sequence[LinkPart], documents: pl.DataFrame, first: int) -> list[Array]:
    numbers = [np.full(len(part.table("documents")), NO_DOCUMENT, np.int64) for part in parts]
    of_part, local = documents["part"].to_numpy(), documents["local"].to_numpy()
    order = np.argsort(of_part, kind="stable")
    bounds = np.searchsorted(of_part[order], np.arange(len(parts) + 1))
    for number, array in enumerate(numbers):
        found = order[bounds[number] : bounds[number + 1]]
        array[local[found]] = found + first
    return numbers


def _dates(parts: Sequence[LinkPart], numbers: Sequence[Array]) -> pl.DataFrame:
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
    return pl.concat(frames).filter(pl.col("document") != NO_DOCUMENT)


def _cells(
    dates: pl.DataFrame, known: Sequence[Cell], first: int, documents: int
) -> tuple[list[Cell], dict[str, Array]]:
    """Return the cells by code, and the cells of each new document with its dates in them."""
    dates = dates.with_columns(year=pl.col("timestamp") // _YEAR)
    no_year, any_name = pl.lit(None, dtype=pl.Int64), pl.lit("", dtype=pl.String)
    variants: list[Callable[[pl.DataFrame], pl.DataFrame]] = [
        lambda one: one,
        lambda one: one.with_columns(collection=any_name),
        lambda one: one.with_columns(year=no_year),
        lambda one: one.with_columns(year=no_year, collection=any_name),
    ]
    every = pl.concat([change(dates) for change in variants])
    found = every.group_by("document", "year", "collection").agg(
        first=pl.col("timestamp").min(), last=pl.col("timestamp").max()
    )
    there = found.select("year", "collection").unique().sort("year", "collection").rows()
    cells = list(dict.fromkeys([ALL_CELL, *known, *there]))
    codes = pl.DataFrame(
        [(year, name, code) for code, (year, name) in enumerate(cells)],
        schema={"year": pl.Int64, "collection": pl.String, "cell": pl.UInt32},
        orient="row",
    )
    found = found.join(codes, on=["year", "collection"], nulls_equal=True).sort("document", "cell")
    bounds = np.arange(first, first + documents + 1)
    return cells, {
        "cell_starts": np.searchsorted(found["document"].to_numpy(), bounds),
        "cell_code": found["cell"].to_numpy(),
        "cell_first": found["first"].to_numpy(),
        "cell_last": found["last"].to_numpy(),
    }


def _joined_cells(
    base: Mapping[str, Array], new: Mapping[str, Array], cells: int
) -> dict[str, Array]:
    kind = np.uint16 if cells <= _NARROW_CELLS else np.uint32
    last = base["cell_starts"][-1]
    return {
        "cell_starts": np.append(base["cell_starts"], new["cell_starts"][1:] + last),
        "cell_code": np.append(base["cell_code"], new["cell_code"]).astype(kind),
        "cell_first": np.append(base["cell_first"], new["cell_first"]),
        "cell_last": np.append(base["cell_last"], new["cell_last"]),
    }


NEVER = 0
"""The first date of a document that was not captured in a cell."""


def first_dates(table: InlinkTable, cell: LinkCell) -> Array:
    """Return for each linking document its first capture in a cell as a number, NEVER if none."""
    arrays = table.documents
    first = np.zeros(len(arrays["cell_starts"]) - 1, dtype=np.int64)
    code = table.cell_codes.get(cell)
    if code is not None:
        places = np.flatnonzero(arrays["cell_code"] == code)
        documents = np.searchsorted(arrays["cell_starts"], places, side="right") - 1
        first[documents] = arrays["cell_first"][places]
    return first


def link_frames(table: InlinkTable, cell: LinkCell) -> Iterator[pl.DataFrame]:
    """Yield the links of a cell: urlkeys of source and target, timestamp, kind, anchor.

    Ordered by target, source, kind and anchor; about a million at a time. The same link in several
    versions of a page is one row, with the first date.
    """
    first = first_dates(table, cell)
    sources = pl.Series("source", table.sources.all(), dtype=pl.String)
    names = pl.Series("kind", list(table.notes.kinds), dtype=pl.String)
    for number in range(len(table.notes.ranges)):
        found = table.range(number)
        links = _links(table, found, first, names)
        yield pl.DataFrame(
            [
                sources.gather(links["source"]),
                pl.Series("target", found.keys.all(), dtype=pl.String).gather(links["target"]),
                links["first"].cast(pl.String).str.zfill(14).alias("timestamp"),
                links["kind"],
                pl.Series("anchor", found.anchors.all(), dtype=pl.String).gather(links["anchor"]),
            ]
        )


def _links(table: InlinkTable, found: TargetRange, first: Array, names: pl.Series) -> pl.DataFrame:
    document = found.arrays["document"]
    there = np.flatnonzero(first[document] != NEVER)
    document = document[there]
    links = pl.DataFrame(
        {
            "target": found.targets()[there],
            "source": table.documents["source"][document],
            "rank": table.documents["source_rank"][table.documents["source"][document]],
            "kind": names.gather(found.arrays["kind"][there]),
            "anchor": found.arrays["anchor"][there],
            "first": first[document],
        }
    )
    columns = ["target", "rank", "source", "kind", "anchor"]
    return links.group_by(columns).agg(pl.col("first").min()).sort(columns)


_SCHEMA = {"source": pl.UInt32, "target": pl.String, "year": pl.Int64, "links": pl.Int64}


class HostLinks(NamedTuple):
    """The number of pairs of linking and linked URL of two hosts, in a year or in total (None)."""

    source: str
    target: str
    year: int | None
    links: int


def host_links(table: InlinkTable) -> Iterator[HostLinks]:
    """Yield the number of links between hosts, own links included, in total and by year.

    A link is a pair of linking and linked URL (by urlkey). Ordered by source, target and year, the
    total first.
    """
    ranges = map(table.range, range(len(table.notes.ranges)))
    frames = [_of_range(table, found) for found in ranges]
    together = (
        pl.concat([pl.DataFrame(schema=_SCHEMA), *frames])
        .group_by("source", "target", "year")
        .agg(pl.col("links").sum())
    )
    names = pl.Series(table.hosts.all(), dtype=pl.String)
    together = together.with_columns(source=names.gather(together["source"]))
    for row in together.sort("source", "target", "year", nulls_last=False).iter_rows():
        yield HostLinks(*row)


def _of_range(table: InlinkTable, found: TargetRange) -> pl.DataFrame:
    arrays = found.arrays
    links = np.flatnonzero((arrays["flags"] & SELF) == 0)
    document: Array = arrays["document"][links]
    rows = cell_rows(document, table.documents)
    years = [code for code, cell in enumerate(table.cells) if not cell.collection]
    wanted = np.isin(rows.cell, years)
    places = rows.link[wanted]
    hosts = [host_of_urlkey(key) for key in found.keys.all()]
    frame = pl.DataFrame(
        {
            "page": table.documents["source"][document[places]],
            "place": found.targets()[links][places],
            "cell": rows.cell[wanted],
        }
    ).unique()
    frame = frame.with_columns(
        source=pl.Series(table.by_source("host")[frame["page"].to_numpy()], dtype=pl.UInt32),
        target=pl.Series(hosts, dtype=pl.String).gather(frame["place"]),
    )
    counted = frame.group_by("source", "target", "cell").agg(links=pl.len().cast(pl.Int64))
    cells = pl.Series([one.year for one in table.cells], dtype=pl.Int64)
    return counted.with_columns(year=cells.gather(counted["cell"])).select(list(_SCHEMA))
