"""Addresses of pages, as templates name them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from flask import has_request_context, request, url_for

_KEPT = 4_096
_PLAIN = frozenset((str, int, type(None)))


def kept_addresses() -> Callable[..., str]:
    """Return what gives addresses as `url_for` does, for one application.

    Those that were asked for lately are kept: each page has the same ones
    at its top, and building one takes much longer than looking it up. What
    depends on more than the path that the service is found at is built
    anew: whole addresses, and those of the same blueprint.
    """

    @lru_cache(_KEPT)
    def kept(root: str, endpoint: str, values: tuple[tuple[str, Any], ...]) -> str:
        return url_for(endpoint, **dict(values))

    def address(endpoint: str, **values: Any) -> str:
        if _PLAIN.issuperset(map(type, values.values())) and _is_path(endpoint, values):
            return kept(request.script_root, endpoint, tuple(values.items()))
        return url_for(endpoint, **values)

    return address


def _is_path(endpoint: str, values: dict[str, Any]) -> bool:
    """Tell whether an address is a path that is the same on all pages."""
    return has_request_context() and not endpoint.startswith(".") and "_external" not in values
