"""The token that allows writing."""

import hmac


def has_token(header: str, token: str) -> bool:
    """Return whether an Authorization header holds a token; there must be one to be held."""
    scheme, _, given = header.partition(" ")
    same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode())
    return bool(token) and scheme.lower() == "bearer" and same
