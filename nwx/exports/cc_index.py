"""Rows of Common Crawl's columnar index (its flat schema) from CDX lines and from captures.

The columns, their types and content follow commoncrawl/cc-index-table.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import polars as pl

from nwx.bulk.sorted_file import LineBatch
from nwx.captures import CaptureColumns
from nwx.cdx.layouts import CDX_FIELDS, LAYOUTS, LETTERS, NO_VALUE, without_file_is_revisit
from nwx.cdx.rows import REVISIT, extra_fields, parse_cdxj
from nwx.errors import CdxError, UsageError
from nwx.model import DEFAULT_COLLECTION
from nwx.values.media_types import EMPTY_TYPES
from nwx.values.urls import host_parts

if TYPE_CHECKING:
    import pyarrow as pa

_HOST_COLUMNS = {
    "url_host_name": False,
    "url_host_tld": True,
    "url_host_2nd_last_part": True,
    "url_host_3rd_last_part": True,
    "url_host_4th_last_part": True,
    "url_host_5th_last_part": True,
    "url_host_registry_suffix": True,
    "url_host_registered_domain": True,
    "url_host_private_suffix": True,
    "url_host_private_domain": True,
    "url_host_name_reversed": True,
}
CC_INDEX_COLUMNS: dict[str, tuple[str, bool]] = {
    "url_surtkey": ("string", False),
    "url": ("string", False),
    **{name: ("string", may_be_null) for name, may_be_null in _HOST_COLUMNS.items()},
    "url_protocol": ("string", False),
    "url_port": ("int32", True),
    "url_path": ("string", False),
    "url_query": ("string", True),
    "fetch_time": ("timestamp", False),
    "fetch_status": ("int16", False),
    "fetch_redirect": ("string", True),
    "content_digest": ("string", True),
    "content_mime_type": ("string", True),
    "content_mime_detected": ("string", True),
    "content_charset": ("string", True),
    "content_languages": ("string", True),
    "content_truncated": ("string", True),
    "warc_filename": ("string", False),
    "warc_record_offset": ("int32", False),
    "warc_record_length": ("int32", False),
    "warc_segment": ("string", False),
    "crawl": ("string", False),
    "subset": ("string", False),
}
"""The columns in order: types, and whether values may be null."""

_UNKNOWN_NUMBER = -1
_MOST_OFFSET = 2**31 - 1
_URL = (
    r"^(?:(?i)(?P<url_protocol>https?|ftps?|wss?|dns|whois|gopher):/*(?:[^/?#@]*@)?"
    r"(?P<host>\[[^\]/?#]*\]|[^/?#:]*)(?::(?P<url_port>[0-9]*))?|(?P<scheme>[^:]*):?)"
    r"(?P<url_path>[^?#]*)(?:\?(?P<url_query>[^#]*))?"
)
_CC_FILE = r"^crawl-data/(?P<crawl>[^/]+)/segments/(?P<warc_segment>[^/]+)/(?P<subset>[^/]+)/"
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}", re.ASCII)
_FURTHER = {
    "content_mime_detected": ("mime-detected",),
    "content_charset": ("charset",),
    "content_languages": ("languages",),
    "content_truncated": ("truncated", "warc-truncated"),
}
"""The columns that only CDXJ has, with their names in CDXJ."""

_FAMILY_TYPES = {"html": "text/html", "pdf": "application/pdf", "text": "text/plain"}
_NOT_IN_ISO_639_3 = frozenset(
    code
    for codes in (
        "alb arm baq bur chi cze dut fre geo ger gre ice",
        "mac mao may per prp rum slo tib twi wel",
    )
    for code in codes.split()
)
"""Three-letter codes other than the ISO 639-3 code of a language with a two-letter code."""

_TEXT_FIELDS = (*CDX_FIELDS, *_FURTHER, "crawl")
"""The text fields of a frame of captures, before conversion to the columns of the index."""


def cc_index_schema() -> "pa.Schema":
    """Return the schema of the table; raises UsageError without pyarrow."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise UsageError("this export needs pyarrow; pip install pyarrow") from error
    types = {"timestamp": pa.timestamp("ms", "UTC")}
    return pa.schema(
        [
            pa.field(name, types.get(kind) or pa.type_for_alias(kind), nullable)
            for name, (kind, nullable) in CC_INDEX_COLUMNS.items()
        ]
    )


def cc_index_rows(found: pl.DataFrame, crawl: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of the index for captures, and the captures that the index cannot represent.

    The latter have no URL or an invalid timestamp, or an offset past 2 GiB, which does not fit the
    schema.
    """
    url, file = pl.col("url").str.extract_groups(_URL), pl.col("filename")
    made = found.with_columns(
        pl.col("timestamp").str.pad_end(4, "0").pipe(_time).alias("fetch_time"),
        pl.col("offset").cast(pl.Int64, strict=False).fill_null(_UNKNOWN_NUMBER),
        pl.col("length").cast(pl.Int32, strict=False).fill_null(_UNKNOWN_NUMBER),
        pl.col("status").cast(pl.Int16, strict=False).fill_null(_UNKNOWN_NUMBER),
        url.alias("_url"),
        file.fill_null("")
        .str.extract_groups(_CC_FILE)
        .struct.rename_fields(["_crawl", "_segment", "_subset"])
        .alias("_file"),
    ).unnest("_url", "_file")
    fits = pl.all_horizontal(pl.col("urlkey", "url", "fetch_time").is_not_null())
    fits &= pl.col("offset") <= _MOST_OFFSET
    left_out = made.filter(~fits)
    rows = (made.filter(fits) if len(left_out) else made).with_columns(
        pl.col("url_protocol", "scheme").str.to_lowercase(),
        pl.col("host").fill_null(""),
        pl.coalesce("_crawl", pl.lit(crawl or None), "crawl", pl.lit(DEFAULT_COLLECTION)).alias(
            "crawl"
        ),
        pl.col("_subset").fill_null(_subset()).alias("subset"),
    )
    rows = rows.join(_hosts(rows["host"]), on="host", how="left", maintain_order="left")
    return rows.select(_outputs()), left_out.select(found.columns)


def _time(digits: pl.Expr) -> pl.Expr:
    """Return the instants of timestamps, which may be truncated."""
    whole = digits + pl.lit("00000101000000").str.slice(digits.str.len_bytes())
    time = whole.str.to_datetime("%Y%m%d%H%M%S", time_unit="ms", strict=False)
    return time.dt.replace_time_zone("UTC")


def _subset() -> pl.Expr:
    """Return Common Crawl's subset of captures: robots.txt, successful ones, all others."""
    is_robots = pl.col("url_path") == "/robots.txt"
    is_page = pl.col("status").is_between(200, 299) & (pl.col("mime") != REVISIT).fill_null(True)
    rest = pl.when(is_page).then(pl.lit("warc")).otherwise(pl.lit("crawldiagnostics"))
    return pl.when(is_robots).then(pl.lit("robotstxt")).otherwise(rest)


def _outputs() -> list[pl.Expr]:
    own = {
        "url_surtkey": pl.col("urlkey"),
        "url_protocol": pl.coalesce("url_protocol", "scheme"),
        "url_port": pl.col("url_port").cast(pl.Int32, strict=False),
        "fetch_status": pl.col("status"),
        "fetch_redirect": pl.col("redirect"),
        "content_digest": pl.col("digest").str.strip_prefix("sha1:"),
        "content_mime_type": pl.col("mime"),
        "warc_filename": pl.col("filename").fill_null(""),
        "warc_record_offset": pl.col("offset").cast(pl.Int32),
        "warc_record_length": pl.col("length"),
        "warc_segment": pl.col("_segment").fill_null(""),
    }
    return [own.get(name, pl.col(name)).alias(name) for name in CC_INDEX_COLUMNS]


def _hosts(hosts: pl.Series) -> pl.DataFrame:
    names = hosts.unique().to_list()
    rows = [(name, *host_columns(name)) for name in names]
    return pl.DataFrame(rows, dict.fromkeys(("host", *_HOST_COLUMNS), pl.String), orient="row")


@lru_cache(maxsize=65_536)
def host_columns(host: str) -> tuple[str | None, ...]:
    """Return the columns `url_host_…` of a host; all but the name are null for IP addresses."""
    name = unquote(host.lower()).removesuffix(".")
    if name.startswith("[") or _IPV4.fullmatch(name) or not name:
        return (name, *([None] * 10))
    name = host_parts(name).host or name
    parts = name.split(".")[::-1]
    public, private = _suffixes(only_icann=True), _suffixes(only_icann=False)
    return (
        name,
        *(parts[at] if at < len(parts) else None for at in range(5)),
        *(public.publicsuffix(name), public.privatesuffix(name)),
        *(private.publicsuffix(name), private.privatesuffix(name)),
        ".".join(parts),
    )


@cache
def _suffixes(*, only_icann: bool) -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_unknown=False, only_icann=only_icann)


CAPTURE_COLUMNS = (
    *("urlkey", "timestamp", "url", "record_type", "content_type", "content_type_norm"),
    *("status_code", "digest", "redirect_to", "record_length", "source_file_offset"),
    *("source_file", "truncated", "collection"),
)
"""The fields of captures needed for rows of the index."""


def captures_frame(columns: CaptureColumns, languages: Sequence[str | None]) -> pl.DataFrame:
    """Return captures (CAPTURE_COLUMNS) with their documents' languages as a frame of texts."""
    types = zip(columns["content_type"], columns["content_type_norm"], strict=True)
    revisits = zip(columns["record_type"], columns["content_type"], strict=True)
    found: dict[str, Iterable[Any]] = {
        "mime": [REVISIT if kind == "revisit" else mime for kind, mime in revisits],
        "status": columns["status_code"],
        "redirect": columns["redirect_to"],
        "length": columns["record_length"],
        "offset": columns["source_file_offset"],
        "filename": columns["source_file"],
        "content_mime_detected": [
            _FAMILY_TYPES.get(family) if served in EMPTY_TYPES else served
            for served, family in types
        ],
        "content_languages": [code and iso639_3(code) for code in languages],
        "content_truncated": columns["truncated"],
        "crawl": columns["collection"],
    }
    known = columns | found
    return _frame({name: known[name] for name in _TEXT_FIELDS if name in known})


@cache
def iso639_3(code: str) -> str:
    """Return the three-letter code of a language, "" if unknown."""
    return _alpha3().get(code, code if len(code) == 3 else "")


@cache
def _alpha3() -> dict[str, str]:
    from babel.core import get_global

    known = get_global("language_aliases").items()
    # Of several codes the last is the macrolanguage, as in `arb`, `ara`.
    return {two: code for code, two in known if len(code) == 3 and code not in _NOT_IN_ISO_639_3}


def lines_frame(lines: LineBatch, on_error: Callable[[CdxError], None]) -> pl.DataFrame:
    """Return lines of CDX and CDXJ as a frame of texts, ordered by urlkey."""
    groups: defaultdict[int, LineBatch] = defaultdict(list)
    for line in lines:
        groups[0 if b" {" in line else line.count(b" ") + 1].append(line)
    frames = []
    for fields, some in groups.items():
        if fields in LAYOUTS:
            frames.append(_plain_frame(some, fields))
        else:
            frames.append(_json_frame(some, on_error))
    return frames[0] if len(frames) == 1 else pl.concat(frames).sort("urlkey", "timestamp")


def _plain_frame(lines: LineBatch, fields: int) -> pl.DataFrame:
    layout = LAYOUTS[fields]
    names = [f"_{at}" for at in range(fields)]
    frame = pl.read_csv(
        b"\n".join(lines),
        separator=" ",
        has_header=False,
        quote_char=None,
        schema=dict.fromkeys(names, pl.String),
        null_values=NO_VALUE,
        encoding="utf8-lossy",
    )
    places = {
        name: layout.place(letters) for name, letters in zip(CDX_FIELDS, LETTERS, strict=True)
    }
    found = {name: frame[names[at]] for name, at in places.items() if at >= 0}
    if without_file_is_revisit(layout):
        found["mime"] = found["mime"].set(found["filename"].is_null(), REVISIT)
    return _completed(pl.DataFrame([values.alias(name) for name, values in found.items()]))


def _json_frame(lines: LineBatch, on_error: Callable[[CdxError], None]) -> pl.DataFrame:
    rows = []
    for line in lines:
        try:
            row = parse_cdxj(line)
        except CdxError as error:
            on_error(CdxError(f"{error}: {line[:80]!r}"))
            continue
        further = extra_fields(row)
        named = (next(filter(None, map(further.get, names)), "") for names in _FURTHER.values())
        rows.append((*row[: len(CDX_FIELDS)], *named))
    names = (*CDX_FIELDS, *_FURTHER)
    if not rows:
        return pl.DataFrame(schema=dict.fromkeys(_TEXT_FIELDS, pl.String))
    return _frame(dict(zip(names, zip(*rows, strict=True), strict=True)))


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    """Return a frame with all text fields; missing values are null."""
    texts = [pl.Series(name, values, pl.String) for name, values in columns.items()]
    is_known = (pl.all() != "") & (pl.all() != NO_VALUE)
    return _completed(pl.DataFrame(texts).with_columns(pl.when(is_known).then(pl.all())))


def _completed(frame: pl.DataFrame) -> pl.DataFrame:
    missing = [name for name in _TEXT_FIELDS if name not in frame.columns]
    return frame.with_columns(pl.lit(None, pl.String).alias(name) for name in missing).select(
        _TEXT_FIELDS
    )
