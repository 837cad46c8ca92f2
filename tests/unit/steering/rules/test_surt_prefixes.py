"""SURT prefixes as people write them, and what they cover."""

import random

import pytest

from nwx.steering.rules.surt_prefixes import SurtPrefixes, covering_hosts, normal_surt


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("org,example)/a", "org,example)/a"),
        ("http://(org,example,)/A", "org,example)/a"),
        ("http://(org,example,", "org,example"),
        ("https://(org,example,www,)/", "org,example)/"),
        ("org,example,", "org,example"),
        ("org,example,www", "org,example"),
        ("com,www", "com,www"),
        ("com,www,shop)/a", "com,www,shop)/a"),
        ("org,example)", "org,example)/"),
        ("(org,example,:8080)/x", "org,example:8080)/x"),
    ],
)
def test_prefixes_of_heritrix_and_of_urlkeys_are_the_same(written: str, normal: str) -> None:
    assert normal_surt(written) == normal


def test_a_prefix_without_path_covers_subdomains_at_whole_labels() -> None:
    known = SurtPrefixes(["org,example"])
    assert known.covering("org,example)/") == "org,example"
    assert known.covering("org,example,a)/b") == "org,example"
    assert known.covering("org,example:8080)/") == "org,example"
    assert known.covering("org,examples)/") == ""
    assert known.covering("") == ""


def test_a_prefix_with_path_covers_one_host() -> None:
    known = SurtPrefixes(["org,example)/a", "org,example)/a/b", "org,example)/c"])
    assert known.covering("org,example)/a/b/c") == "org,example)/a"
    assert known.covering("org,example)/c") == "org,example)/c"
    assert known.covering("org,example)/b") == ""
    assert known.covering("org,example,a)/a") == ""


def test_the_search_finds_what_looking_at_each_prefix_finds() -> None:
    chance = random.Random(7)
    paths = ["".join(chance.choices("ab/", k=chance.randint(0, 5))) for _ in range(200)]
    known = SurtPrefixes(f"org,example)/{path}" for path in paths[:40])
    for path in paths:
        covered = any(path.startswith(prefix) for prefix in paths[:40])
        assert bool(known.covering(f"org,example)/{path}")) is covered


def test_none_is_false() -> None:
    assert not SurtPrefixes([])
    assert list(covering_hosts("a.example.org")) == ["a.example.org", "example.org", "org"]
