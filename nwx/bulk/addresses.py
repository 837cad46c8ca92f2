"""Byte streams of addresses (`http://…`, `s3://…`), read with fsspec."""

import re
from typing import Any, BinaryIO, cast

from nwx.errors import SourceError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_address(path: str) -> bool:
    """Return whether a text is an address (http, s3), not a path."""
    return _ADDRESS.match(path) is not None


def address_stream(address: str) -> BinaryIO:
    """Return the byte stream of an address; the caller closes it.

    Raises SourceError or OSError if it cannot be read.
    """
    try:
        import fsspec
    except ImportError as error:
        raise SourceError(f"{address} needs fsspec; install nwx with the extra `remote`") from error
    with SourceError.instead_of(
        (ImportError, ValueError, RuntimeError), f"{address} cannot be opened"
    ):
        handle: Any = fsspec.open(address, "rb").open()
    return cast("BinaryIO", handle)
