"""Parses query parameters to a CDX query, by the rules of a dialect."""

import re
from dataclasses import replace
from functools import lru_cache
from urllib.parse import quote, unquote_plus

from nwx.cdxserver.filters import (
    CdxFilter,
    Collapsing,
    by_time_and_status,
    field_value,
    parse_collapse,
    parse_filter,
)
from nwx.cdxserver.query_model import (
    DIALECTS,
    LARGEST_LIMIT,
    CdxQuery,
    Dialect,
    MatchType,
    OutputForm,
    Paging,
    Parameters,
    Resume,
    RowOrder,
    check_names,
)
from nwx.engine.capture_index import CdxSpan, exactly
from nwx.errors import CdxQueryError, UrlError
from nwx.values.digests import DigestForm
from nwx.values.urlkeys import urlkey, with_scheme

_CONTROL = re.compile(r"[\x00- ]")
_RANGE_END = "~"
_NO_HOST = ("", "-", "http:", "https:")
_LAST, _SURROGATES = 0x10FFFF, range(0xD800, 0xE000)


def urlkey_of(url: str) -> str:
    """Return the urlkey of a URL; raises CdxQueryError if it has none."""
    with CdxQueryError.instead_of(UrlError, "url"):
        key = urlkey(with_scheme(url))
    if key.rstrip("/") in _NO_HOST or _CONTROL.search(key):
        raise CdxQueryError(f"url is {url[:60]!r}, which is not a URL; write an address")
    return key


def expanded(url: str, match: MatchType | None) -> tuple[str, MatchType]:
    """Return a URL without its wildcard (`*.host` or `path*`), and its match type."""
    if match is not None:
        return url, match
    if url.startswith("*."):
        return url[2:], MatchType.DOMAIN
    if url.endswith("*"):
        return url[:-1], MatchType.PREFIX
    return url, MatchType.EXACT


def span_of(url: str, match: MatchType, key: str) -> CdxSpan:
    """Return the span of an index with the matching captures; `key` is the urlkey of the URL.

    A prefix without a URL (`*`) matches everything.
    """
    if match is MatchType.EXACT:
        return exactly(key)
    if match is MatchType.PREFIX:
        if not url:
            return CdxSpan("", chr(_LAST))
        if url.endswith(("/", "?")) and not key.endswith(url[-1]):
            key += url[-1]
        return CdxSpan(key, key_after(key))
    if match is MatchType.RANGE:
        return CdxSpan(key, _RANGE_END)
    host = key.partition(")/")[0]
    if match is MatchType.HOST:
        return CdxSpan(f"{host})/", f"{host}*")
    # `*` to `,` sort after `)`: this includes subdomains, but not hosts with a longer name.
    return CdxSpan(f"{host})/", f"{host}-")


def key_after(prefix: str) -> str:
    """Return the first text that sorts after all texts with a prefix."""
    bare = prefix.rstrip(chr(_LAST))
    following = ord(bare[-1]) + 1
    if following in _SURROGATES:
        following = _SURROGATES.stop
    return bare[:-1] + chr(following)


MOST_HELD = 10_000
"""The maximum number of captures held in memory to reorder them."""

MOST_FILTERS = 50
MOST_FIELDS = 64
MOST_BLOCKS = 1_000
MOST_PAGES = 1_000_000_000
_DIGEST_FORMS = {
    "hex": DigestForm.BARE_HEX,
    "base32": DigestForm.BARE_BASE32,
    "bare": DigestForm.BARE,
    "normal": DigestForm.NORMAL,
}
_ORDERS = {"": RowOrder.DEFAULT, "default": RowOrder.DEFAULT, "regular": RowOrder.DEFAULT} | {
    order.value: order for order in RowOrder
}
_UNSUPPORTED = (
    "showDupeCount",
    "showSkipCount",
    "showGroupCount",
    "showUniqCount",
    "showPagedIndex",
    "lastSkipTimestamp",
    "omitSelfRedirects",
)
"""Switches of other CDX servers, refused as ignoring them would silently change an answer."""

_OF_PLACE = frozenset(("url", "urlkey", "matchType", "method", "requestBody"))
_KEPT_CHARACTERS = 1_000
_NOWHERE = CdxSpan("", "")


def parse_cdx_query(
    parameters: Parameters, dialect: Dialect, digest: DigestForm | None = None, collection: str = ""
) -> CdxQuery:
    """Parse a query; digests are spelled as `digest` unless a parameter sets another form.

    Without `collection`, a parameter may name one. Raises CdxQueryError with the wrong parameter
    and its valid values.
    """
    url = parameters.only("url").strip()
    if url and not url.startswith("*.") and not url.endswith("*"):
        key = urlkey_of(url)
        plain = _remembered((), dialect.name, digest, True)
        return plain.for_span(exactly(key, collection=collection), key)
    span, urlkey = _place(parameters, collection or parameters.text("collection"))
    others = parameters.others(_OF_PLACE)
    small = sum(len(name) + len(value) for name, value in others) < _KEPT_CHARACTERS
    understand = _remembered if small else _understood
    query = understand(others, dialect.name, digest, bool(urlkey))
    return query.for_span(span, urlkey)


def _understood(
    others: tuple[tuple[str, str], ...], dialect_name: str, digest: DigestForm | None, single: bool
) -> CdxQuery:
    """Parse a query except for its span; `single` means a query for one URL."""
    parameters, dialect = Parameters(others), DIALECTS[dialect_name]
    for name in _UNSUPPORTED:
        if name in parameters and parameters.truth(name):
            raise CdxQueryError(f"{name} is not supported; leave it out")
    check_names(name for name, _ in others if name not in _UNSUPPORTED)
    form = _digest_form(parameters, digest or dialect.digest)
    limit, newest = _limit(parameters, dialect)
    query = CdxQuery(
        span=_NOWHERE,
        urlkey="-" if single else "",
        date_from=parameters.date("from", "from_ts"),
        date_to=parameters.date("to"),
        filters=_filters(parameters, dialect, form),
        collapsing=_collapsing(parameters),
        limit=limit,
        newest=newest,
        offset=parameters.number("offset", 0, 0, LARGEST_LIMIT) or 0,
        fields=_fields(parameters),
        output=_output(parameters, dialect),
        digest=form,
        paging=_paging(parameters, dialect),
        with_originals=parameters.truth("withOriginals"),
        resolve_revisits=_resolves_revisits(parameters, dialect),
    )
    query = _resuming(_ordered(query, parameters, dialect), parameters, dialect)
    _check(query, dialect)
    return query


# Crawlers send the same parameters for one URL after another.
_remembered = lru_cache(maxsize=256)(_understood)


def _place(parameters: Parameters, collection: str) -> tuple[CdxSpan, str]:
    """Return the span of a query, and its urlkey if it is for one URL, else ""."""
    url, key = parameters.text("url").strip(), parameters.text("urlkey")
    if bool(url) == bool(key):
        raise CdxQueryError("url is missing; write url=ADDRESS" if not url else _ONE_PLACE)
    match = _match_type(parameters)
    if url:
        url, match = expanded(url, match)
        if url or match is not MatchType.PREFIX:
            key = urlkey_of(_with_request(url, parameters))
    elif any(sign <= " " for sign in key):
        raise CdxQueryError(f"urlkey is {key[:60]!r}, which cannot occur in an index")
    span = span_of(url or key, match or MatchType.EXACT, key)
    if collection:
        span = CdxSpan(span.start, span.end, collection=collection)
    return span, key if match in (None, MatchType.EXACT) else ""


_ONE_PLACE = "both url and urlkey are given; write only one"


def _match_type(parameters: Parameters) -> MatchType | None:
    text = parameters.text("matchType").lower()
    if text in ("", "default"):
        return None
    if text not in set(MatchType):
        raise CdxQueryError(f"matchType is {text[:40]!r}; choose one of {', '.join(MatchType)}")
    return MatchType(text)


def _with_request(url: str, parameters: Parameters) -> str:
    """Return a URL with request method and body appended, as in the urlkeys of POST requests."""
    method = parameters.text("method").upper()
    if method in ("", "GET"):
        return url
    body = parameters.text("requestBody")
    query = f"__wb_method={quote(method)}" + (f"&{body}" if body else "")
    return f"{url}{'&' if '?' in url else '?'}{query}"


def _resolves_revisits(parameters: Parameters, dialect: Dialect) -> bool:
    asked = parameters.truth("resolveRevisits")
    if asked and not dialect.resolves_revisits:
        raise CdxQueryError(f"the dialect {dialect.name} does not resolve revisits; add dialect=ia")
    return asked


def _digest_form(parameters: Parameters, default: DigestForm | None) -> DigestForm | None:
    text = parameters.text("digest").lower()
    if not text:
        return default
    if text not in _DIGEST_FORMS:
        known = ", ".join(_DIGEST_FORMS)
        raise CdxQueryError(f"digest is {text[:40]!r}; choose one of {known}")
    return _DIGEST_FORMS[text]


def _limit(parameters: Parameters, dialect: Dialect) -> tuple[int | None, bool]:
    number = parameters.number("limit", dialect.limit, -LARGEST_LIMIT, LARGEST_LIMIT)
    if number is not None and number < 0:
        return -number, True
    if number == 0 and dialect.zero_is_all:
        return None, False
    return number, False


def _filters(
    parameters: Parameters, dialect: Dialect, form: DigestForm | None
) -> tuple[CdxFilter, ...]:
    specs = parameters.all("filter")
    if len(specs) > MOST_FILTERS:
        raise CdxQueryError(
            f"filter is given {len(specs)} times; at most {MOST_FILTERS} are allowed"
        )
    return tuple(parse_filter(spec, dialect.grammar, form) for spec in specs)


def _collapsing(parameters: Parameters) -> tuple[Collapsing, ...]:
    found = []
    for name, last in (("collapse", False), ("collapseToFirst", False), ("collapseToLast", True)):
        specs = parameters.all(name)
        if len(specs) > MOST_FILTERS:
            raise CdxQueryError(
                f"{name} is given {len(specs)} times; at most {MOST_FILTERS} are allowed"
            )
        found += [parse_collapse(spec, name, last=last) for spec in specs]
    digits = parameters.number("collapseTime", 0, 0, 14)
    return (*found, by_time_and_status(digits)) if digits else tuple(found)


def _fields(parameters: Parameters) -> tuple[str, ...]:
    text = parameters.text("fields") or parameters.text("fl")
    names = tuple(name.strip() for name in text.split(",")) if text else ()
    if len(names) > MOST_FIELDS:
        raise CdxQueryError(f"fl has {len(names)} fields; at most {MOST_FIELDS} are allowed")
    for name in names:
        field_value(name, "fl")
    return names


def _output(parameters: Parameters, dialect: Dialect) -> OutputForm:
    text = parameters.text("output").lower()
    if not text:
        return dialect.output
    if text == "cdx":
        return OutputForm.TEXT
    if text not in {output.value for output in dialect.media_types}:
        known = ", ".join(dialect.media_types)
        raise CdxQueryError(f"output is {text[:40]!r}; choose one of {known}")
    return OutputForm(text)


def _paging(parameters: Parameters, dialect: Dialect) -> Paging | None:
    count = parameters.truth("showNumPages")
    if not (count or parameters.text("page")):
        return None
    if not dialect.page_blocks:
        raise CdxQueryError(f"the dialect {dialect.name} has no pages; add dialect=ia")
    page = parameters.number("page", 0, 0, MOST_PAGES) or 0
    size = parameters.number("pageSize", dialect.page_blocks, 1, MOST_BLOCKS)
    return Paging(page, size or dialect.page_blocks, count)


def _ordered(query: CdxQuery, parameters: Parameters, dialect: Dialect) -> CdxQuery:
    """Return the query with the requested order of captures."""
    text = parameters.text("sort").lower()
    if text not in _ORDERS:
        raise CdxQueryError(f"sort is {text[:40]!r}; choose one of {', '.join(RowOrder)}")
    order = _ORDERS[text]
    if parameters.truth("reverse"):
        order = RowOrder.REVERSE
    closest = parameters.moment("closest")
    if closest and not dialect.closest_needs_sort:
        order = RowOrder.CLOSEST
    # pywb sends sort=closest without a time.
    if order is RowOrder.CLOSEST and not closest:
        order = RowOrder.DEFAULT
    if order is RowOrder.REVERSE and parameters.text("collapseTime"):
        return replace(query, order=order, collapse_first=True, limit=_held(query, parameters))
    if order is not RowOrder.CLOSEST:
        return replace(query, order=order)
    return replace(query, order=order, closest=closest, limit=_held(query, parameters))


def _held(query: CdxQuery, parameters: Parameters) -> int | None:
    """Return the limit of a query whose captures are held in memory to reorder them."""
    if query.urlkey and not query.collapsing:
        return query.limit
    return query.limit if parameters.text("limit") else MOST_HELD


def _resuming(query: CdxQuery, parameters: Parameters, dialect: Dialect) -> CdxQuery:
    key, show = parameters.text("resumeKey"), parameters.truth("showResumeKey")
    if not (key or show):
        return query
    if not dialect.resumes:
        raise CdxQueryError(f"the dialect {dialect.name} has no resume keys; add dialect=ia")
    if query.newest and not key:
        return query  # nothing comes after the newest
    if query.order is not RowOrder.DEFAULT or query.newest or query.paging:
        raise CdxQueryError("resume keys cannot be combined with sort, page or a limit below 0")
    if any(collapsing.last for collapsing in query.collapsing):
        raise CdxQueryError("resume keys cannot be combined with collapseToLast")
    return replace(query, resume=_resume(key) if key else None, show_resume_key=show)


def _resume(text: str) -> Resume:
    """Parse a resume key: `urlkey timestamp [number]`.

    Keys that a client percent-encoded twice are accepted.
    """
    if " " not in text:
        text = unquote_plus(text, errors="surrogateescape")
    parts = text.split(" ")
    number = parts[2] if len(parts) == 3 else "0"
    known = len(parts) in (2, 3) and parts[0] and number.isascii() and number.isdigit()
    if not known or len(number) > 12:
        raise CdxQueryError(f"resumeKey is {text[:80]!r}; copy the key of an answer unchanged")
    return Resume(parts[0], parts[1], int(number))


def _check(query: CdxQuery, dialect: Dialect) -> None:
    """Raise CdxQueryError on parameters that cannot be combined."""
    held = (
        query.newest
        or query.collapse_first
        or query.with_originals
        or (query.order is RowOrder.CLOSEST and (not query.urlkey or bool(query.collapsing)))
    )
    if held and (query.limit is None or query.limit > MOST_HELD):
        raise CdxQueryError(f"this query needs a limit of at most {MOST_HELD}; add limit=NUMBER")
    if query.newest and query.order is RowOrder.CLOSEST:
        raise CdxQueryError("a limit below 0 cannot be combined with closest")
    if query.paging is not None and (query.order is not RowOrder.DEFAULT or query.newest):
        raise CdxQueryError("pages need captures in CDX order; leave out sort and -limit")
    if dialect.many_urls_in_order_only:
        _check_outback(query)


def _check_outback(query: CdxQuery) -> None:
    """Raise CdxQueryError on combinations that OutbackCDX refuses."""
    dated = bool(query.date_from or query.date_to)
    if not query.urlkey and query.order is not RowOrder.DEFAULT:
        raise CdxQueryError(f"sort={query.order} needs matchType=exact")
    if not query.urlkey and dated:
        raise CdxQueryError("from and to need matchType=exact")
    if dated and query.order is RowOrder.CLOSEST:
        raise CdxQueryError("from and to cannot be combined with sort=closest")
