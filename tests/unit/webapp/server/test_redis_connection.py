"""Time limits of a crawler's connection, with a fixed clock."""

import asyncio

import pytest

from tests.crawling.redis_servers import command_bytes
from webapp.server import redis_connection
from webapp.server.redis_connection import COMMAND_SECONDS, RedisConnection

WHOLE = command_bytes((b"PING",))
HALF = WHOLE[:7]


class Wire(asyncio.Transport):
    """A transport that records whether it is reading, and whether it was aborted."""

    def __init__(self) -> None:
        super().__init__()
        self.reads, self.is_cut = True, False

    def is_reading(self) -> bool:
        return self.reads

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def write(self, data: object) -> None:
        del data

    def abort(self) -> None:
        self.is_cut = True


class Host:
    """A server that sends no answers itself."""

    def opened(self, connection: RedisConnection) -> bool:
        return bool(connection)

    def closed(self, connection: RedisConnection) -> None:
        connection.requests.clear()

    def wake(self, connection: RedisConnection) -> None:
        assert connection


class Connected:
    """A connection, its transport, and its clock."""

    def __init__(self) -> None:
        self.now, self.wire = 0.0, Wire()
        self.connection = RedisConnection(Host(), lambda: self.now)
        self.connection.connection_made(self.wire)

    def is_cut_after(self, seconds: float) -> bool:
        self.now += seconds
        self.connection.check_time()
        return self.wire.is_cut


@pytest.fixture
def client() -> Connected:
    return Connected()


def test_half_a_command_has_its_time_and_no_more(client: Connected) -> None:
    client.connection.data_received(HALF[:3])
    assert not client.is_cut_after(COMMAND_SECONDS)
    client.connection.data_received(HALF[3:])
    assert client.is_cut_after(0.1)


def test_an_idle_connection_stays(client: Connected) -> None:
    client.connection.data_received(HALF)
    client.connection.data_received(WHOLE[len(HALF) :])
    assert not client.is_cut_after(1e6)


def test_each_command_of_many_has_its_own_time(client: Connected) -> None:
    client.connection.data_received(HALF)
    for _ in range(9):
        assert not client.is_cut_after(COMMAND_SECONDS)
        client.connection.data_received(WHOLE[len(HALF) :] + HALF)
    assert client.is_cut_after(COMMAND_SECONDS + 1)


def test_unread_answers_have_their_time(client: Connected) -> None:
    client.connection.pause_writing()
    assert not client.is_cut_after(COMMAND_SECONDS)
    client.connection.data_received(WHOLE)
    assert client.is_cut_after(0.1)


def test_answers_that_are_taken_cut_nothing(client: Connected) -> None:
    client.connection.pause_writing()
    client.connection.resume_writing()
    assert not client.is_cut_after(1e6)


def test_the_rest_of_a_command_may_come_when_the_server_reads_again(
    client: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_connection, "_MOST_WAITING", 0)
    client.connection.data_received(WHOLE + HALF)
    assert not client.is_cut_after(1e6)  # a slow archive
    client.connection.requests.clear()
    client.connection.send([1])
    assert client.wire.reads
    assert not client.is_cut_after(COMMAND_SECONDS)
    assert client.is_cut_after(0.1)
