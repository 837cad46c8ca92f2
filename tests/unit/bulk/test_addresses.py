"""Bytes behind addresses."""

import fsspec
import pytest

from nwx.bulk.addresses import address_stream, is_address
from nwx.errors import SourceError


def test_addresses_are_told_from_paths() -> None:
    assert all(map(is_address, ("http://a/", "s3://bucket/x", "memory://x")))
    assert not any(map(is_address, ("/a/b", "a:/b", "c://x", "", "-")))


def test_streams_and_what_has_none() -> None:
    with fsspec.open("memory://addresses/x", "wb") as stream:
        stream.write(b"bytes")
    with address_stream("memory://addresses/x") as found:
        assert found.read() == b"bytes"
    with pytest.raises(FileNotFoundError):
        address_stream("memory://addresses/none")
    with pytest.raises(SourceError, match=r"nosuch://x cannot be opened"):
        address_stream("nosuch://x")
