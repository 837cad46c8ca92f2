"""The cost of requests, and the bucket that is charged."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.server.protection import (
    LOOK_UP,
    SCAN,
    ClientLimits,
    TokenBuckets,
    payer_at,
    question_cost,
)


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


RATE, BURST = 2.0, 10.0
TAKER = """
import sys
from pathlib import Path
from webapp.server.protection import TokenBuckets
buckets = TokenBuckets(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
taken = sum(buckets.take("client", 1, 1e-9, 500) == 0 for _ in range(int(sys.argv[2])))
print(taken, flush=True)
"""


class Clock:
    """Seconds set by tests."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock set by tests."""
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of full buckets."""
    TokenBuckets.create(tmp_path / "buckets")
    return tmp_path / "buckets"


@pytest.fixture
def buckets(path: Path, clock: Clock) -> Iterator[TokenBuckets]:
    """The buckets of the file."""
    with closing(TokenBuckets(path, clock)) as buckets:
        yield buckets


@given(
    asked=st.lists(st.tuples(st.floats(0, 20), st.sampled_from((0.5, 1.0, 3.0, 10.0))), max_size=60)
)
def test_never_more_is_taken_than_the_burst_and_what_came_since(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[float, float]]
) -> None:
    path, clock = tmp_path_factory.mktemp("b") / "buckets", Clock()
    TokenBuckets.create(path)
    taken: list[tuple[float, float]] = []
    with closing(TokenBuckets(path, clock)) as buckets:
        for pause, cost in asked:
            clock.now += pause
            wait = buckets.take("client", cost, RATE, BURST)
            if wait > 1e-3:
                # The wait is exact.
                clock.now += wait * 0.99
                assert buckets.take("client", cost, RATE, BURST) > 0
                clock.now += wait * 0.01 + 1e-6
                assert buckets.take("client", cost, RATE, BURST) == 0
            taken.append((clock.now, cost))
    for first, (since, _) in enumerate(taken):
        for last in range(first, len(taken)):
            most = BURST + RATE * (taken[last][0] - since)
            assert sum(cost for _, cost in taken[first : last + 1]) <= most + 1e-5


def test_clients_have_buckets_of_their_own(buckets: TokenBuckets) -> None:
    assert buckets.take("one", BURST, RATE, BURST) == 0
    assert buckets.take("one", 1, RATE, BURST) == 0.5
    assert buckets.take("another \udcff", BURST, RATE, BURST) == 0


def test_many_clients_displace_those_whose_buckets_are_full_first(
    buckets: TokenBuckets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.server.protection._SETS", 1)
    assert buckets.take("busy", BURST, RATE, BURST) == 0
    for number in range(100):
        assert buckets.take(f"client {number}", 1, RATE, BURST) == 0
    assert buckets.take("busy", 1, RATE, BURST) == 0.5


def test_damage_costs_a_client_no_more_than_a_bucket(buckets: TokenBuckets, clock: Clock) -> None:
    clock.now = 1e12
    assert buckets.take("client", 1, RATE, BURST) == 0
    clock.now = 5.0
    assert buckets.take("client", 1, RATE, BURST) == 0.5


def test_processes_share_buckets_and_leave_them_whole_when_killed(
    path: Path, buckets: TokenBuckets
) -> None:
    def taker(number: int) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", TAKER, str(path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout and process.stdout.readline() == "ready\n"
        return process

    def begin(process: "subprocess.Popen[str]") -> None:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()

    killed, takers = taker(10**9), [taker(5_000) for _ in range(2)]
    begin(killed)
    next(_ for _ in count() if buckets.take("client", 1, 1e-9, 500))
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    # The bucket is empty and its lock released.
    assert buckets.take("client", 1, 1e-9, 500) > 0
    TokenBuckets.create(path)
    for one in takers:
        begin(one)
    assert sum(int(one.communicate()[0]) for one in takers) == 500
