"""Prefixes looked up by texts that start with them."""

import random

import pytest

from nwx.engine.access.matches import PrefixSet, subject_key


@pytest.mark.parametrize("seed", range(20))
def test_prefixes_are_found_as_by_looking_at_each(seed: int) -> None:
    chance = random.Random(seed)
    texts = ["".join(chance.choices("ab,)", k=chance.randrange(7))) for _ in range(100)]
    prefixes = set(texts[: chance.randrange(14)])
    found = PrefixSet(prefixes)
    for text, other in zip(texts, reversed(texts), strict=True):
        held = [prefix for prefix in prefixes if text.startswith(prefix)]
        assert list(found.prefixes_of(text)) == sorted(held, key=len, reverse=True)
        assert found.holds(text) == bool(held)
        start, end = sorted((text, other))
        reached = any(start.startswith(prefix) or start <= prefix < end for prefix in prefixes)
        assert found.reaches(start, end) == (reached and start < end)


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
