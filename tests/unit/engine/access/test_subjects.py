"""What captures that tell of other URLs are about."""

import pytest

from nwx.engine.access.subjects import subject_key


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.com/a", ""),
        ("urn:view:https://www.Example.com/A", "com,example)/a"),
        ("urn:pageinfo:http://example.com:8080/", "com,example:8080)/"),
        ("urn:X-wpull:snapshot?url=http://example.com/a%3Fb=1", "com,example)/a?b=1"),
        ("dns:www.example.com", "com,example)/"),
        ("whois://example.com/", "com,example)/"),
        ("dns:", ""),
        ("urn:view:nothing", ""),
    ],
)
def test_the_key_of_what_a_capture_tells_of(url: str, key: str) -> None:
    assert subject_key(url.lower(), url) == subject_key(url.lower(), "") == key
