"""Urlkeys (SURT) of URLs and POST requests, equal to those of the `surt` package.

pywb, cdxj-indexer and OutbackCDX look up captures by this key, so it must be equal byte for byte.
Plain URLs, nearly all, take a fast path, which is several times as fast; the others use the
package.

Two POST requests of one URL are different captures: method and body are appended to the URL as a
query (`?__wb_method=POST&name=value`) before the key is computed.
"""

import base64
import json
import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus, urlencode

# URLs for which the package's rules amount to: reverse the host without its
# www, lower case, single slashes and none at the end, undo needless escapes,
# sort the query. Excluded are URLs that it treats in any other way: with dot
# segments, session ids (in parentheses or after a semicolon), numeric hosts,
# blanks, fragments, and escapes of characters that would make one of these.
_ORIGIN = re.compile(
    r"(https?)://(?:[Ww]{3}[0-9]*+\.)?"
    r"((?:[A-Za-z0-9_-]++\.)*[A-Za-z][A-Za-z0-9-]*+)(?::([1-9][0-9]{0,3}))?"
)
_REST = re.compile(
    r"((?:/(?!\.)(?:[A-Za-z0-9_.~,!*'+:@=$&|-]++|%(?!2[58EFef]|3[BFbf])[0-9A-Fa-f]{2})*+)*+)"
    r"(?:\?((?:[!\"$&-~]++|%(?!25)[0-9A-Fa-f]{2})++))?"
)
_SLASHES = re.compile(r"//+")
_NEEDLESS_ESCAPE = re.compile(r"%(2[1246-9A-Fa-f]|[3-6][0-9A-Fa-f]|7[0-9A-Ea-e])")
_SHORTEST_ORIGIN = len("http://a")
_LONGEST_KNOWN = 256  # characters of a scheme, host and port
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_HOST_AND_PORT = re.compile(r"(?:(?:[\w-]+\.)+[\w-]+|localhost):\d{1,5}(?:[/?#]|$)", re.I)
_DNS = re.compile(r"dns:[A-Za-z][A-Za-z0-9.-]*+")


def urlkey(url: str) -> str:
    """Return the urlkey of a URL, equal to `surt.surt(url)`.

    Raises UrlError if that package rejects the URL.
    """
    slash = url.find("/", _SHORTEST_ORIGIN)
    if slash < 0:
        slash = url.find("?") if "?" in url else len(url)
    start = (_known_start if slash <= _LONGEST_KNOWN else _start)(url[:slash])
    rest = _REST.fullmatch(url, slash) if start else None
    if rest is None:
        return url.lower() if _DNS.fullmatch(url) else _by_package(url)
    path, query = rest.groups()
    if "//" in path:
        path = _SLASHES.sub("/", path)
    if "%" in path:
        path = _NEEDLESS_ESCAPE.sub(_unescaped, path)
    key = start + (path.rstrip("/").lower() or "/")
    if query is None:
        return key
    if "%" in query:
        query = _NEEDLESS_ESCAPE.sub(_unescaped, query)
    query = query.lower()
    # three times `in` takes a quarter of the time of `any` or a regular expression
    if "sid=" in query or "sessionid" in query or "cfid=" in query:
        return _by_package(url)
    return f"{key}?{_sorted(query) if '&' in query else query}"


def with_scheme(url: str) -> str:
    """Add the missing scheme to a typed URL, such as `example.org:80`.

    Without it, `surt` would take the host for the scheme.
    """
    return f"http://{url}" if _HOST_AND_PORT.match(url) else url


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


def _start(origin: str) -> str:
    """Return the start of the urlkeys of a scheme, host and port, "" if these are not plain."""
    plain = _ORIGIN.fullmatch(origin)
    if plain is None:
        return ""
    scheme, host, port = plain.groups()
    turned = ",".join(host.lower().split(".")[::-1])
    return f"{turned}:{port})" if port and port != _DEFAULT_PORTS[scheme] else f"{turned})"


_known_start = lru_cache(maxsize=65_536)(_start)


def _sorted(query: str) -> str:
    return "&".join(sorted(query.split("&"), key=_name_and_value))


def _name_and_value(parameter: str) -> list[str]:
    return parameter.split("=", 1)


def _by_package(url: str) -> str:
    # Imported late: the package takes longer to load than most files to index.
    from nwx.values.surt_package import package_urlkey

    return package_urlkey(url)


MAX_QUERY_CHARACTERS = 4096
_METHOD = "__wb_method="
METHODS_WITH_QUERY = frozenset(("POST", "PUT"))


def with_method_query(url: str, method: str, content_type: str, body: bytes) -> str:
    """Return a URL with method and body of a request appended to its query."""
    query = body_query(content_type, body) if method in METHODS_WITH_QUERY else ""
    joint = "&" if "?" in url else "?"
    return f"{url}{joint}__wb_method={method}" + (f"&{query}" if query else "")


def method_prefix(urlkey: str) -> str:
    """Return the urlkey prefix of a URL's requests with a body, from the URL's urlkey.

    Parameters are sorted in a urlkey, so the prefix includes the URL's parameters that sort before
    the method. Bodies with parameters that sort before it (names beginning with a digit) are not
    covered.
    """
    address, _, query = urlkey.partition("?")
    before = [parameter for parameter in query.split("&") if parameter and parameter < _METHOD]
    return f"{address}?{'&'.join((*before, _METHOD))}"


def body_query(content_type: str, body: bytes) -> str:
    """Return the body of a request as a query string, cut at 4096 characters."""
    if content_type.startswith("application/x-www-form-urlencoded"):
        query = _form(body)
    elif content_type.startswith("multipart/"):
        query = _multipart(content_type, body)
    elif content_type.startswith("application/json"):
        query = _json(body) or ""
    elif content_type.startswith("text/plain"):
        parsed = _json(body)
        query = _binary(body) if parsed is None else parsed
    else:
        query = _binary(body)
    return query[:MAX_QUERY_CHARACTERS]


def _binary(body: bytes) -> str:
    return "__wb_post_data=" + base64.b64encode(body).decode("ascii")


def _form(body: bytes) -> str:
    try:
        return unquote_plus(body.decode("utf-8"))
    except UnicodeDecodeError:
        return _binary(body)


def _multipart(content_type: str, body: bytes) -> str:
    if "boundary=" not in content_type:
        return _binary(body)
    # Imported late: it takes 5 ms to load, and is rarely needed.
    from email.parser import BytesParser
    from email.policy import HTTP

    head = b"Content-Type: " + content_type.encode("utf-8", "replace") + b"\r\n\r\n"
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if not message.is_multipart():
        return _binary(body)
    fields: list[tuple[str, bytes]] = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        payload = part.get_payload(decode=True)
        fields.append((str(name or ""), payload if isinstance(payload, bytes) else b""))
    return urlencode(fields)


def _json(body: bytes) -> str | None:
    """Return the leaves of JSON or JSON Lines as a query, None if the body is neither."""
    leaves: dict[str, str] = {}
    repeats: dict[str, int] = {}
    try:
        for value in _json_values(body):
            _collect(value, "", leaves, repeats)
    except (ValueError, RecursionError):
        return None
    return urlencode(leaves)


def _json_values(body: bytes) -> list[Any]:
    try:
        return [json.loads(body)]
    except json.JSONDecodeError:
        if b"\n" not in body:
            raise
        return [json.loads(line) for line in body.split(b"\n")]


def _collect(value: Any, name: str, leaves: dict[str, str], repeats: dict[str, int]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _collect(inner, key, leaves, repeats)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, name, leaves, repeats)
    elif name:
        leaves[_free_name(name, leaves, repeats)] = str(value)


def _free_name(name: str, leaves: dict[str, str], repeats: dict[str, int]) -> str:
    if name not in leaves:
        return name
    repeats[name] = repeats.get(name, 1) + 1
    return f"{name}.{repeats[name]}_"
