"""Linked URLs by the number of pages that need them."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.table import SELF, InlinkTable, TargetRange
from nwx.links.link_frames import targets_of_links
from nwx.links.needs.style_sheets import StyleSheets
from nwx.values.link_places import head_of_host


@dataclass(frozen=True, slots=True)
class NeededUrls:
    """Linked URLs, those that most pages need first, ties by urlkey; equally long columns.

    `kind` is the code of the kind of most links, `document` the number of a
    document that links to the URL; `part` and `place` are where its urlkey
    is, which is read when it is asked for.
    """

    table: InlinkTable
    part: Array
    place: Array
    pages: Array
    kind: Array
    document: Array

    def __len__(self) -> int:
        return len(self.pages)

    def keys(self) -> list[str]:
        """Return the urlkeys."""
        places = zip(self.part.tolist(), self.place.tolist(), strict=True)
        return [self.table.range(part).keys[place] for part, place in places]

    def only(self, chosen: Array | slice) -> "NeededUrls":
        """Return those at some places."""
        columns = (self.part, self.place, self.pages, self.kind, self.document)
        return NeededUrls(self.table, *(column[chosen] for column in columns))


def needed_urls(
    table: InlinkTable, kinds: Collection[str], documents: Array, site: str = ""
) -> NeededUrls:
    """Return the URLs that documents (`bool[documents]`) link to with some kinds of links.

    What a style sheet links to is needed by the pages that load it. Links of
    a URL to itself do not count. `site` is a host whose URLs are asked for,
    with those of the hosts below it.
    """
    codes = np.array([code for code, name in enumerate(table.notes.kinds) if name in kinds])
    sheets = StyleSheets(table, documents)
    schema = dict.fromkeys(("target", "pages", "kind", "document", "part"), pl.Int64)
    found = [pl.DataFrame(schema=schema)]
    for part in range(len(table.notes.ranges)):
        wanted = _wanted(table.range(part), site)
        if wanted.any():
            counted = _of_range(table, part, codes, sheets, wanted)
            found.append(counted.with_columns(part=pl.lit(part, dtype=pl.Int64)))
    frame = pl.concat(found).sort(["pages", "part", "target"], descending=[True, False, False])
    names = ("part", "target", "pages", "kind", "document")
    return NeededUrls(table, *(frame[name].to_numpy() for name in names))


def _wanted(found: TargetRange, site: str) -> Array:
    """Return which linked URLs of a range are of a site."""
    if not site:
        return np.ones(len(found.keys), dtype=bool)
    wanted = np.zeros(len(found.keys), dtype=bool)
    head = head_of_host(site.lower().removeprefix("www."))
    for sign in (")", ",", ":"):
        first = f"{head}{sign}"
        wanted[found.keys.place(first) : found.keys.place(f"{first}\U0010ffff")] = True
    return wanted


def _of_range(
    table: InlinkTable, part: int, codes: Array, sheets: StyleSheets, wanted: Array
) -> pl.DataFrame:
    """Return of one range: target, pages, kind and document."""
    found = table.range(part)
    arrays = found.arrays
    targets = targets_of_links(found)
    sources = table.documents["source"][arrays["document"]].astype(np.int64)
    of_sheet = np.isin(sources, sheets.sources)
    counting = np.isin(arrays["kind"], codes) & (arrays["flags"] & SELF == 0) & wanted[targets]
    counting &= sheets.documents[arrays["document"]] | of_sheet
    frame = pl.DataFrame(
        {
            "target": targets[counting],
            "source": sources[counting],
            "kind": arrays["kind"][counting].astype(np.int64),
            "document": arrays["document"][counting].astype(np.int64),
            "of_sheet": of_sheet[counting],
        }
    )
    named = (
        frame.group_by("target", "kind")
        .agg(uses=pl.col("source").n_unique(), document=pl.col("document").min())
        .sort("target", "uses", "kind", descending=[False, True, False])
        .group_by("target", maintain_order=True)
        .first()
    )
    pages = frame.filter(~pl.col("of_sheet")).group_by("target")
    counted = pl.concat(
        [
            pages.agg(pages=pl.col("source").n_unique().cast(pl.Int64)),
            _through_sheets(frame, sheets),
        ]
    )
    counted = counted.group_by("target").agg(pl.col("pages").max()).filter(pl.col("pages") > 0)
    return counted.join(named, on="target").select("target", "pages", "kind", "document")


def _through_sheets(frame: pl.DataFrame, sheets: StyleSheets) -> pl.DataFrame:
    """Return the pages that need what style sheets link to, directly or through these."""
    linked = frame.filter(pl.col("of_sheet"))["target"].unique()
    some = frame.filter(pl.col("target").is_in(linked.implode()))
    rows = [
        (target[0], len(sheets.pages_of(group["source"].to_numpy())))
        for target, group in some.group_by("target")
    ]
    schema = {"target": pl.Int64, "pages": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")
