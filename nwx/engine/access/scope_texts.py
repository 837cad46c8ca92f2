"""Scopes as people write them."""

import re
from dataclasses import replace

from nwx.engine.access.rules import Scope
from nwx.errors import DigestError, NwxError, UsageError
from nwx.query.dates import date_span
from nwx.values.digests import normal_digest
from nwx.values.urlkeys import urlkey, with_scheme
from nwx.values.urls import clean_url, host_parts

EXACT_MARK = "###"
"""What stands behind an exact urlkey in the files of pywb."""

_EVERYTHING = ("*", "*,")
_DIGEST = re.compile(r"(?:urn:)?(?:md5|sha-?(?:1|224|256|384|512)):\S+|[A-Z2-7]{32}", re.I)
_FILE = re.compile(r"(?!\w+://).*\.(?:w?arc(?:\.gz|\.zst)?|wacz)", re.I)
_SURT = re.compile(r"(?:[^\s:/?#,)(]*,)+[^\s/?#)(]*(?:\).*)?|[0-9a-z.-]+(?::\d+)?\).*", re.I)
_WEB = ("http:", "https:")


def scope_of(text: str) -> Scope:
    """Return the scope that a text names.

    `http://example.com/a` is exactly this URL, `http://example.com/a*` all URLs with this prefix,
    `example.com` a host, `*.example.com` a domain with its hosts, `com,example)/a` a SURT prefix
    (followed by `###`: exactly this urlkey), `sha1:…` a digest, `crawl.warc.gz` an archive file
    (its folder is ignored), `*` all captures. Raises UsageError on anything else.
    """
    text = text.strip()
    if text in _EVERYTHING:
        return Scope(url=text)
    if _DIGEST.fullmatch(text):
        return digest_scope(text)
    if _FILE.fullmatch(text):
        return Scope(url=text, source_file=text.rpartition("/")[2])
    if _SURT.fullmatch(text):
        return surt_scope(text)
    if text.startswith("*."):
        return domain_scope(text[2:].rstrip("*").rstrip("/"))
    if "/" not in text and not re.match(r"[a-z]+:(?!\d)", text, re.I):
        return host_scope(text.rstrip("*"))
    return url_scope(text)


def url_scope(text: str) -> Scope:
    """Return the scope of exactly a URL, or, if it ends in `*`, of all URLs with its prefix."""
    url = with_scheme(text.rstrip("*"))
    key = _key(url)
    if not text.endswith("*"):
        return Scope(url=text, prefix=key, is_exact=True)
    # A urlkey has no slash and no question mark at its end; the prefix keeps them.
    sign = url[-1:] if url.endswith(("/", "?")) and not key.endswith(url[-1]) else ""
    return Scope(url=text, prefix=f"{key}{sign}")


def surt_scope(text: str) -> Scope:
    """Return the scope of a SURT prefix; that of a whole host is a domain (`com,example`)."""
    prefix = text.removesuffix(EXACT_MARK)
    return Scope(url=text, prefix=prefix.rstrip("*"), is_exact=prefix != text)


def host_scope(host: str) -> Scope:
    """Return the scope of a host, on any port where none is given."""
    return Scope(url=host, prefix=_key(f"http://{_ascii_host(host)}/"))


def domain_scope(domain: str) -> Scope:
    """Return the scope of a domain and all hosts below it."""
    key = _key(f"http://{_ascii_host(domain)}/")
    return Scope(url=f"*.{domain}", prefix=key.partition(")")[0])


def digest_scope(text: str) -> Scope:
    """Return the scope of all captures with a payload of this digest, in any spelling."""
    try:
        return Scope(url=text, digest=normal_digest(text))
    except DigestError as error:
        raise UsageError(error.text) from error


def between(scope: Scope, since: str, to: str) -> Scope:
    """Return a scope limited to dates, from the start of `since` to the end of `to`.

    Dates are 2014, 2014-03, 2014-03-05 and the like, "" for no bound.
    """
    try:
        return replace(
            scope,
            date_from=date_span(since)[0] if since else scope.date_from,
            date_to=date_span(to)[1] if to else scope.date_to,
        )
    except NwxError as error:
        raise UsageError(error.text) from error


def scope_words(scope: Scope) -> str:
    """Return a scope as people read it."""
    words = [f"URL {scope.prefix}{EXACT_MARK}" if scope.is_exact else f"prefix {scope.prefix}"]
    if not scope.prefix:
        words = []
    words += [
        f"{name} {value}"
        for name, value in (
            ("digest", scope.digest),
            ("file", scope.source_file),
            ("collection", scope.collection),
            ("from", scope.date_from),
            ("to", scope.date_to),
        )
        if value
    ]
    return ", ".join(words) or "all captures"


def _ascii_host(host: str) -> str:
    name, mark, port = host.strip().rpartition(":")
    if not (mark and port.isdigit()):
        name, mark, port = host.strip(), "", ""
    parts = host_parts(name)
    if not parts.domain:
        raise UsageError.translated(
            "%(host)s is no host; write example.com, or *.example.com", host=repr(host[:60])
        )
    return f"{parts.host}{mark}{port}"


def _key(url: str) -> str:
    try:
        key = urlkey(clean_url(url))
    except NwxError as error:
        raise UsageError(error.text) from error
    if ")" not in key and key.startswith(_WEB):
        raise UsageError.translated(
            "%(url)s is no URL; give an address, such as http://example.com/a", url=repr(url[:60])
        )
    return key
