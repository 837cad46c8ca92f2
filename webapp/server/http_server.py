"""A server that slow and silent clients do not hold up, and whose short answers take no thread."""

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import uvloop

from webapp.hosts import Application
from webapp.server import connections
from webapp.server.answers import ShortAnswers, WsgiAnswer
from webapp.server.http_connection import HEALTH_PATH, HttpConnection
from webapp.server.task_threads import TaskThreads

LOOK_SECONDS = 1.0
"""How often it is looked which connections have had their time."""

FIRST_REQUEST_SECONDS = 0.5
"""At the end, so long is waited for the first request of a connection."""

LAST_ANSWERS_SECONDS = 5.0
"""So long answers that are under way are waited for at the end."""

SLOW_SECONDS = 0.03
SLOW_PAUSE_SECONDS = 1.0
"""After an answer at once took SLOW_SECONDS, threads give all answers for so long."""

RESERVE = 100
"""Connections beyond the most there should be, where all are being answered."""


class HttpServer:
    """A WSGI application at the connections it is given.

    `at_once`, where there is one, is an application that gives short
    answers only, and None for all others; it is asked first, by the
    thread of the loop, and what it leaves in the environment of a request
    goes on to `application`.
    """

    def __init__(
        self,
        application: Application,
        place: tuple[str, int],
        threads: int,
        token: str = "",
        at_once: ShortAnswers | None = None,
    ) -> None:
        self.application = application
        self.token = token
        self.place = place
        self.ending = False
        self.on_closed: Callable[[], None] = _do_nothing
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._at_once = at_once
        self._slow_until = 0.0
        self._listening: socket.socket | None = None
        self._threads = TaskThreads(threads, "answer")
        self._health = TaskThreads(1, "health")
        self._connections: set[HttpConnection] = set()
        self._tasks: set[asyncio.Task[object]] = set()
        self._stop_accepting: list[Callable[[], object]] = []
        self._ended = threading.Event()

    def listen(self, listening: socket.socket) -> None:
        """Accept the connections of a listening socket, which is closed at the end."""
        listening.setblocking(False)
        self._listening = listening

    def adopt(self, accepted: socket.socket) -> None:
        """Serve a connection that was accepted elsewhere; called by the thread of the loop."""
        accepted.setblocking(False)
        made = self.loop.connect_accepted_socket(lambda: HttpConnection(self), accepted)
        task = self.loop.create_task(made)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def run(self) -> None:
        """Serve until `close` is called, in the main thread also until SIGINT or SIGTERM."""
        asyncio.set_event_loop(self.loop)
        try:
            if threading.current_thread() is threading.main_thread():
                for number in (signal.SIGINT, signal.SIGTERM):
                    self.loop.add_signal_handler(number, self._stop)
            if self._listening is not None:
                made = self.loop.create_server(lambda: HttpConnection(self), sock=self._listening)
                self._stop_accepting.append(self.loop.run_until_complete(made).close)
            self._look()
            self.loop.run_forever()
            self.loop.run_until_complete(self._wind_up())
        finally:
            asyncio.set_event_loop(None)
            self._threads.end()
            self._health.end()
            self._ended.set()
            self.loop.close()

    def close(self) -> None:
        """End: accept nothing more, and finish the answers that are under way."""
        self.soon(self._stop)

    def _stop(self) -> None:
        if not self.ending:
            self.ending = True
            self.loop.stop()

    def soon(self, call: Callable[..., None], *arguments: Any) -> None:
        """Have a function called by the thread of the loop, unless that has ended."""
        try:
            self.loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            if not self._ended.is_set():
                raise

    async def _wind_up(self) -> None:
        for stop in self._stop_accepting:
            stop()
        began = now = time.monotonic()
        while self._connections and now < began + LAST_ANSWERS_SECONDS:
            for connection in tuple(self._connections):
                connection.close_if_idle(new_too=now > began + FIRST_REQUEST_SECONDS)
            await asyncio.sleep(0.02)
            now = time.monotonic()
        for connection in tuple(self._connections):
            connection.abort()
        await asyncio.sleep(0)

    def opened(self, connection: HttpConnection) -> None:
        """Note a new connection, and close another where there are too many."""
        self._connections.add(connection)
        if len(self._connections) <= connections.MOST_CONNECTIONS:
            return
        found = connections.one_to_close(self._connections, time.monotonic())
        if found is not None:
            found.abort()
        elif len(self._connections) > connections.MOST_CONNECTIONS + RESERVE:
            connection.abort()

    def closed(self, connection: HttpConnection) -> None:
        """Note the end of a connection."""
        self._connections.discard(connection)
        self.on_closed()

    def answer_at_once(self, answer: WsgiAnswer) -> bytes | None:
        """Return the whole answer where that takes no time, else None.

        A disk or a processor that is busy can make a short answer slow;
        then threads give the answers for a while, several at a time.
        """
        started = time.monotonic()
        if self._at_once is None or started < self._slow_until:
            return None
        found = answer.at_once(self._at_once)
        now = time.monotonic()
        if now - started > SLOW_SECONDS:
            self._slow_until = now + SLOW_PAUSE_SECONDS
        return found

    def tasks(self, path: str) -> TaskThreads:
        """Return the threads in which a request is answered.

        Whether all is well is told though all threads are busy.
        """
        return self._health if path == HEALTH_PATH else self._threads

    def _look(self) -> None:
        """Close the connections that have had their time."""
        now = time.monotonic()
        for connection in tuple(self._connections):
            if not connection.doomed and connections.is_overdue(connection, now):
                connection.abort()
        self.loop.call_later(LOOK_SECONDS, self._look)


def _do_nothing() -> None:
    """Do nothing when a connection is closed."""


def make_server(
    application: Application,
    listening: socket.socket,
    threads: int,
    token: str = "",
    at_once: ShortAnswers | None = None,
) -> HttpServer:
    """Return a server at a listening socket, ready to run in any thread."""
    host, port = listening.getsockname()[:2]
    server = HttpServer(application, (host, port), threads, token, at_once)
    server.listen(listening)
    return server
