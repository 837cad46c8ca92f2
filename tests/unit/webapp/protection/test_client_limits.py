"""What requests cost, and whose bucket pays."""

from contextlib import closing
from pathlib import Path

import pytest

from webapp.protection.client_limits import (
    LOOK_UP,
    SCAN,
    ClientLimits,
    payer_at,
    question_cost,
)
from webapp.protection.token_buckets import TokenBuckets


@pytest.mark.parametrize(
    ("asked", "cost"),
    [
        ("url=http://example.org/", LOOK_UP),
        ("url=http://example.org/&matchType=exact&limit=-1&output=json", LOOK_UP),
        ("q=type:urlquery+url:http%3A%2F%2Fexample.org%2F", LOOK_UP),
        ("q=type:prefixquery+url:http%3A%2F%2Fexample.org%2F", SCAN),
        ("url=example.org/*", SCAN),
        ("url=%2A.example.org", SCAN),
        ("url=example.org&matchType=domain", SCAN),
        ("", SCAN),
        ("limit=10", SCAN),
    ],
)
def test_questions_for_many_urls_cost_more(asked: str, cost: float) -> None:
    assert question_cost(asked) == cost


def test_networks_share_a_bucket() -> None:
    assert payer_at("2001:db8::1") == payer_at("2001:db8::2:3") != payer_at("2001:db8:0:1::1")
    assert payer_at("192.0.2.1") == payer_at("::ffff:192.0.2.1") != payer_at("192.0.2.2")
    assert payer_at("") == payer_at("nothing")


def test_a_page_of_many_resources_is_replayed_at_the_lowest_rate(tmp_path: Path) -> None:
    TokenBuckets.create(tmp_path / "buckets")
    with closing(TokenBuckets(tmp_path / "buckets")) as buckets:
        limits = ClientLimits(0.001, buckets)
        assert not any(limits.take("network 192.0.2.1", LOOK_UP) for _ in range(600))
        assert limits.take("network 192.0.2.1", LOOK_UP) > 900
