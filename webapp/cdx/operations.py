"""OpenAPI operations of the CDX server, Memento and crawl-time deduplication."""

from dataclasses import dataclass
from itertools import chain

from msgspec import UNSET, UnsetType

from nwx.cdxserver.query_model import DIALECTS
from nwx.searching.answers import Timestamp
from webapp.cdx.service import SPELLINGS
from webapp.site.openapi import COUNT, ERRORS, TEXT, Json, Operation, Parameter


@dataclass(frozen=True, slots=True)
class DedupAnswer:
    """Whether the archive has a payload: the original capture, or the reason why none counts."""

    found: bool
    digest: str
    reason: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    timestamp: Timestamp | UnsetType = UNSET
    date: str | UnsetType = UNSET
    mime: str | UnsetType = UNSET
    status: int | UnsetType | None = UNSET
    size: int | UnsetType | None = UNSET
    collection: str | UnsetType = UNSET
    filename: str | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    length: int | UnsetType | None = UNSET


_TEXTS: Json = {"type": "array", "items": TEXT}
_VARIANT = Parameter(
    "variant",
    "the dialect, or the spelling of digests",
    {"enum": [*DIALECTS, *SPELLINGS]},
    place="path",
)
_COLLECTION = Parameter("collection", "the name of a collection", place="path")
_QUESTION = (
    Parameter("url", "the URL; a final * matches all URLs that begin with it"),
    Parameter("urlkey", "the urlkey (SURT), instead of url"),
    Parameter("matchType", "exact, prefix, host, domain or range"),
    Parameter("from", "captured at or after this date"),
    Parameter("to", "captured at or before the end of this date"),
    Parameter("closest", "order by distance from this timestamp"),
    Parameter("sort", "default, reverse or closest"),
    Parameter("filter", "[!][=|~]FIELD:VALUE; may be repeated", _TEXTS),
    Parameter("collapse", "FIELD or FIELD:CHARACTERS: one of neighbours that agree", _TEXTS),
    Parameter("fl", "the fields to give, separated by commas"),
    Parameter("output", "text, json, cdxj or dict, as the dialect has them"),
    Parameter("limit", "the most captures; a negative number asks for the last ones"),
    Parameter("offset", "the captures to skip", COUNT),
    Parameter("page", "a page of the captures, counted from 0", COUNT),
    Parameter("pageSize", "the size of a page in blocks", COUNT),
    Parameter("showNumPages", "true: answer with the number of pages"),
    Parameter("showResumeKey", "true: end with a key to resume from"),
    Parameter("resumeKey", "the key to resume from"),
    Parameter("gzip", "false: never compress"),
)
_CDX_TYPES = sorted(
    set(chain.from_iterable(dialect.media_types.values() for dialect in DIALECTS.values()))
)
_CDX_ERRORS = {
    "400": "a parameter makes no sense",
    "404": "there is no such collection",
    "503": "the index cannot be reached, or too many long answers are under way",
}
_BAD_LINES = Parameter(
    "badLines", "what becomes of lines that cannot be read", {"enum": ["error", "skip"]}
)
_WRITE_ERRORS = {
    "400": "a line or a name is invalid; nothing was changed",
    "401": "the token is missing or wrong",
    "403": "writing is off",
    "415": "the body is compressed",
}
_MEMENTO_ERRORS = {**ERRORS, "404": "there are no captures of the URL, or nowhere to replay them"}

DEDUP_PARAMETERS = (
    Parameter("digest", "the digest of the payload: sha1:…, bare base32 or hex", required=True),
    Parameter("url", "the URL that was fetched"),
    Parameter("scope", "payloads of the same URL, or of any", {"enum": ["url", "any"]}),
    Parameter("size", "the bytes of the payload", COUNT),
    Parameter("mime", "the Content-Type of the response"),
    Parameter("at", "when it was fetched; now without it"),
    Parameter("min_size", "payloads of fewer bytes are never duplicates", COUNT),
    Parameter("types", "media types that may be duplicates, separated by commas"),
    Parameter("not_types", "media types that may not"),
    Parameter("max_age", "the days after which an original counts no longer", {"type": "number"}),
    Parameter("there", "1: the file of the original must be readable", {"enum": ["0", "1"]}),
    Parameter("collection", "the collections to look in, separated by commas"),
)


def _cdx(id: str, path: str, summary: str, *path_parameters: Parameter) -> Operation:
    parameters = (*path_parameters, *_QUESTION)
    return Operation(
        id,
        path,
        summary,
        parameters,
        media_types=_CDX_TYPES,
        errors=_CDX_ERRORS,
        plain_errors=True,
    )


def _memento(id: str, path: str, summary: str, *path_parameters: Parameter) -> Operation:
    gate = "timegate" in path
    asked = Parameter("url", "the URL, not encoded, with its query", place="path")
    when = Parameter("Accept-Datetime", "the requested time; by default now", place="header")
    forms = Parameter("form", "the format", {"enum": ["link", "json", "cdxj"]}, place="path")
    return Operation(
        id,
        path,
        summary,
        (*path_parameters, asked, when) if gate else (*path_parameters, forms, asked),
        media_types=() if gate else ("application/link-format", "text/x-ndjson", "text/x-cdxj"),
        errors=_MEMENTO_ERRORS,
        plain_errors=True,
        status="302" if gate else "200",
    )


def _write(id: str, path: str, summary: str) -> Operation:
    return Operation(
        id,
        path,
        summary,
        (_COLLECTION, _BAD_LINES),
        media_types=("text/plain",),
        errors=_WRITE_ERRORS,
        plain_errors=True,
        method="post",
    )


def _followed(id: str, summary: str, media_type: str, *parameters: Parameter) -> Operation:
    return Operation(
        id,
        f"/{{collection}}/{id}",
        summary,
        (_COLLECTION, *parameters),
        media_types=(media_type,),
        errors=_CDX_ERRORS | {"401": _WRITE_ERRORS["401"], "403": _WRITE_ERRORS["403"]},
        plain_errors=True,
    )


CDX_OPERATIONS = (
    _cdx("cdx", "/cdx", "The captures of a URL, of all collections"),
    _cdx("cdxVariant", "/cdx/{variant}", "The same in a dialect", _VARIANT),
    _cdx("collectionCdx", "/{collection}/cdx", "The captures of a collection", _COLLECTION),
    _cdx(
        "collectionCdxVariant",
        "/{collection}/cdx/{variant}",
        "The same in a dialect",
        _COLLECTION,
        _VARIANT,
    ),
    _cdx("cdxSearch", "/cdx/search/cdx", "The address that the Internet Archive has"),
    _cdx(
        "timemapCdx",
        "/{collection}/timemap/cdx",
        "The address that the Wayback Machine has for crawlers",
        _COLLECTION,
    ),
    _cdx("outback", "/{collection}", "The address that OutbackCDX has", _COLLECTION),
    _write("addCaptures", "/{collection}", "Store the captures of CDX lines"),
    _write("deleteCaptures", "/{collection}/delete", "Delete the captures of CDX lines"),
    _followed(
        "changes",
        "Changes after a sequence number, as RocksDB write batches",
        "application/json",
        Parameter("since", "the number", COUNT),
        Parameter("size", "the most bytes, about", COUNT),
        Parameter("version", "the index version of OutbackCDX", {"enum": ["3", "4"]}),
    ),
    _followed("sequence", "The number of the last change", "text/plain"),
    _followed(
        "aliases",
        "The aliases from a urlkey on",
        "application/json",
        Parameter("key", "the urlkey"),
        Parameter("limit", "the most aliases", COUNT),
    ),
    _memento("timemap", "/timemap/{form}/{url}", "The captures of a URL (Memento TimeMap)"),
    _memento(
        "collectionTimemap",
        "/{collection}/timemap/{form}/{url}",
        "The captures of a URL in a collection (Memento TimeMap)",
        _COLLECTION,
    ),
    _memento("timegate", "/timegate/{url}", "The capture closest to a time (Memento TimeGate)"),
    _memento(
        "collectionTimegate",
        "/{collection}/timegate/{url}",
        "The capture of a collection closest to a time (Memento TimeGate)",
        _COLLECTION,
    ),
    Operation(
        "dedup",
        "/dedup",
        "Whether a payload is held, and where",
        DEDUP_PARAMETERS,
        DedupAnswer,
        example="/dedup?digest=sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
    ),
)
