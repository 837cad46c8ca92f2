"""Addresses of queues that other programs serve."""

from urllib.parse import urlsplit, urlunsplit

from nwx.errors import UsageError


def queue_address(address: str) -> str:
    """Return the address that updates are posted to; raises UsageError for what is none."""
    wrong = f"{address!r} is no address of a queue; write http://HOST:PORT"
    try:
        parts = urlsplit(address)
        is_known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise UsageError(wrong) from error
    if not is_known:
        raise UsageError(wrong)
    if parts.username or parts.password:
        raise UsageError("the address of a queue holds no password; give its token instead")
    path = parts.path.rstrip("/")
    path = path if path.endswith("/urls") else f"{path}/urls"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))
