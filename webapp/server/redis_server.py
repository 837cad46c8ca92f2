"""A Redis server for crawlers that deduplicate against an archive, as Browsertrix does.

All commands read in one turn of the loop are one transaction, which is on disk before any of them
is answered. Keys that crawlers have not written are looked up among the captures, in a separate
thread.
"""

import asyncio
import hmac
import logging
import signal
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import uvloop

from nwx import Archive
from nwx.dedup.key_store import CommandError, Keyspace, KeyStore, dedup_file_path
from nwx.dedup.redis_commands import STATUS_OK, Status, integer, run_command, wrong_number
from nwx.errors import SettingsError
from webapp.server.connections import host_names, listen, port_of
from webapp.server.redis_connection import RedisConnection, RedisRequest
from webapp.server.redis_keys import ArchiveOffers, ArchiveQuestion, RedisSettings

_MOST_CLIENTS = 2_000
_AT_ONCE = 500
"""The most commands of a connection in a turn, and the most look-ups in a batch."""

_INFO = b"# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\nloading:0\r\n"
_BEFORE_LOGIN = (b"auth", b"hello", b"quit")
"""HELLO, which requests RESP3, is an unknown command: clients then continue with AUTH."""


_Lookup = tuple[RedisConnection, ArchiveQuestion]


class RedisServer:
    """Runs the commands of all connections in the loop's thread."""

    def __init__(self, settings: RedisSettings, store: KeyStore, archive: Archive) -> None:
        self._settings, self._store, self._archive = settings, store, archive
        self._offers, self._has_rules = ArchiveOffers(archive, settings.separate(archive)), False
        self._spaces = {0: "", **dict(settings.databases)}
        self._connections: set[RedisConnection] = set()
        self._awake: dict[RedisConnection, None] = {}
        self._lookups: list[_Lookup] = []
        self._is_asking = self._is_scheduled = False
        self._thread = ThreadPoolExecutor(1, "lookups")
        self._own: dict[bytes, Callable[[RedisConnection, RedisRequest], Any]] = {
            b"auth": self._log_in,
            b"select": self._select,
            b"client": self._client,
            b"ping": _ping,
            b"echo": _echo,
            b"info": lambda *_: _INFO,
            b"quit": lambda *_: STATUS_OK,
        }

    async def run(self, listening: socket.socket, stop: asyncio.Event) -> None:
        """Answer until `stop` is set."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: RedisConnection(self), sock=listening)
        while not stop.is_set():
            for one in list(self._connections):
                one.check_time()
            try:
                await asyncio.wait_for(stop.wait(), 1.0)
            except TimeoutError:
                continue
        server.close()
        for one in list(self._connections):
            one.transport.abort()
        self._thread.shutdown(cancel_futures=True)

    def opened(self, connection: RedisConnection) -> bool:
        """Register a new connection; return whether there is room for it."""
        connection.may_ask = not self._settings.token
        if len(self._connections) >= _MOST_CLIENTS:
            return False
        self._connections.add(connection)
        return True

    def closed(self, connection: RedisConnection) -> None:
        """Unregister a closed connection."""
        self._connections.discard(connection)

    def wake(self, connection: RedisConnection) -> None:
        """Schedule the commands of a connection after all reads of this turn."""
        self._awake[connection] = None
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._is_scheduled = False
        awake, self._awake = self._awake, {}
        try:
            self._has_rules = self._archive.has_rules()
            done = [(one, self._run(one)) for one in awake]
            self._store.commit()
        except sqlite3.Error as error:
            self._lookups = [one for one in self._lookups if one[0] not in awake]
            self._not_written(awake, error)
            return
        for connection, (answers, is_over) in done:
            if answers:
                connection.send(answers)
            if is_over:
                connection.end()
            elif connection.is_ready:
                self.wake(connection)
        self._ask()

    def _not_written(self, connections: Iterable[RedisConnection], error: Exception) -> None:
        logging.getLogger(__name__).error("dedup: cannot write: %s", error)
        self._store.rollback()
        for connection in connections:
            connection.end("ERR the keys cannot be written; nothing of this is stored")

    def _run(self, connection: RedisConnection) -> tuple[list[Any], bool]:
        """Run some commands; return their answers, and whether the connection ends after them."""
        answers: list[Any] = []
        while connection.is_ready and len(answers) < _AT_ONCE:
            request = connection.requests.popleft()
            try:
                answer = self._answer(connection, request)
            except CommandError as error:
                answer = error
            if connection.is_waiting:
                break
            answers.append(answer)
            if request[0].lower() == b"quit":
                return answers, True
        return answers, False

    def _answer(self, connection: RedisConnection, request: RedisRequest) -> Any:
        name = request[0].lower()
        if not connection.may_ask and name not in _BEFORE_LOGIN:
            raise CommandError("NOAUTH Authentication required.")
        own = self._own.get(name)
        if own is not None:
            return own(connection, request)
        keys = Keyspace(self._store, connection.space)
        answer = run_command(keys, request[0], request[1:])
        question = self._offers.question(keys, request, answer, has_rules=self._has_rules)
        if question is not None:
            connection.is_waiting = True
            self._lookups.append((connection, question))
        return answer

    def _ask(self) -> None:
        if self._lookups and not self._is_asking:
            batch, self._lookups = self._lookups[:_AT_ONCE], self._lookups[_AT_ONCE:]
            self._is_asking = True
            asked = asyncio.get_running_loop().run_in_executor(self._thread, _asked, batch)
            asked.add_done_callback(lambda done: self._tell(batch, done))

    def _tell(self, batch: list[_Lookup], done: "asyncio.Future[list[Any]]") -> None:
        self._is_asking = False
        if done.cancelled():
            return
        connections = [connection for connection, _ in batch]
        try:
            answers = [
                found if isinstance(found, CommandError) else question.answer(found)
                for (_, question), found in zip(batch, done.result(), strict=True)
            ]
            self._store.commit()
        except sqlite3.Error as error:
            self._not_written(connections, error)
            answers, connections = [], []
        for connection, answer in zip(connections, answers, strict=True):
            connection.is_waiting = False
            connection.send([answer])
            if connection.is_ready:
                self.wake(connection)
        self._ask()

    def _log_in(self, connection: RedisConnection, request: RedisRequest) -> Status:
        if not 2 <= len(request) <= 3:
            raise wrong_number(b"auth")
        token = self._settings.token.encode()
        if not token:
            raise CommandError("ERR AUTH <password> called without any password configured")
        if not hmac.compare_digest(request[-1], token):
            raise CommandError("WRONGPASS invalid username-password pair or user is disabled.")
        connection.may_ask = True
        return STATUS_OK

    def _select(self, connection: RedisConnection, request: RedisRequest) -> Status:
        if len(request) != 2:
            raise wrong_number(b"select")
        space = self._spaces.get(integer(request[1]))
        if space is None:
            raise CommandError("ERR DB index is out of range")
        connection.space = space
        return STATUS_OK

    def _client(self, connection: RedisConnection, request: RedisRequest) -> Any:
        answers = {b"setname": STATUS_OK, b"setinfo": STATUS_OK, b"getname": None, b"id": 1}
        asked = request[1].lower() if len(request) > 1 else b""
        if asked not in answers:
            raise CommandError("ERR unknown subcommand of 'client'")
        return answers[asked]


def _asked(batch: list[_Lookup]) -> list[Any]:
    return [question.asked() for _, question in batch]


def _ping(_: RedisConnection, request: RedisRequest) -> Any:
    if len(request) > 2:
        raise wrong_number(b"ping")
    return request[1] if len(request) == 2 else Status(b"PONG")


def _echo(_: RedisConnection, request: RedisRequest) -> bytes:
    if len(request) != 2:
        raise wrong_number(b"echo")
    return request[1]


def serve_redis(settings: RedisSettings | None, ready: Callable[[str], object]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called with the address."""
    # A signal mask is not enough: threads started by libraries before would take the signal.
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with serving_redis(settings) as address:
        ready(address)
        ended.wait()


@contextmanager
def serving_redis(settings: RedisSettings | None) -> Iterator[str]:
    """Serve crawlers in a thread of this process; yield the address, "" without settings.

    Raises SettingsError if the address is taken, and errors of opening the archive.
    """
    if settings is None:
        yield ""
        return
    with ExitStack() as stack:
        listening = stack.enter_context(listen(settings.host, settings.port))
        if host_names(listening, settings.host, ()) is None and not settings.token:
            raise SettingsError(
                "anybody who reaches this port may write; set a token (--cdx-token)"
            )
        archive = stack.enter_context(Archive(settings.archive))
        path = dedup_file_path(settings.archive.engine, settings.file)
        archive.has_rules()  # raises if there is no archive
        loop = uvloop.new_event_loop()
        stack.callback(loop.close)
        store = KeyStore(path)
        stack.callback(store.close)
        stop = asyncio.Event()
        running = RedisServer(settings, store, archive).run(listening, stop)
        thread = threading.Thread(target=loop.run_until_complete, args=(running,), daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(loop.call_soon_threadsafe, stop.set)
        yield f"redis://{settings.host}:{port_of(listening)}"
