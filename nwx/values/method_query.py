"""The urlkey of requests with a body, as cdxj-indexer and pywb make it.

Two POSTs of one URL are two captures: the method and the body are written
behind the URL as a query (`?__wb_method=POST&name=value`) before the key
is made of it.
"""

import base64
import json
from typing import Any
from urllib.parse import unquote_plus, urlencode

MAX_QUERY_CHARACTERS = 4096
_METHOD = "__wb_method="
METHODS_WITH_QUERY = frozenset(("POST", "PUT"))


def with_method_query(url: str, method: str, content_type: str, body: bytes) -> str:
    """Return a URL with the method and the body of a request as its query."""
    query = body_query(content_type, body) if method in METHODS_WITH_QUERY else ""
    joint = "&" if "?" in url else "?"
    return f"{url}{joint}__wb_method={method}" + (f"&{query}" if query else "")


def method_prefix(urlkey: str) -> str:
    """Return the beginning of the urlkeys of a URL's requests with a body, by the URL's own urlkey.

    Parameters are sorted in a urlkey: those of the URL that come before the
    method stand in the prefix. Bodies with parameters that come before it
    (their names begin with a digit) are not covered.
    """
    address, _, query = urlkey.partition("?")
    before = [parameter for parameter in query.split("&") if parameter and parameter < _METHOD]
    return f"{address}?{'&'.join((*before, _METHOD))}"


def body_query(content_type: str, body: bytes) -> str:
    """Return the body of a request in the form of a query, cut at 4096 characters."""
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
    # takes 5 ms to load, and is rarely needed
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
    """Return the leaves of a JSON text, or of one a line, as a query; None if it is none."""
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
